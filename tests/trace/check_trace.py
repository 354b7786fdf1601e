#!/usr/bin/env python3
"""Checks the structure of a trace that was written from a history.

It must be what viewers of Chrome's trace format take it for: one named track
for each rank; on each track what the rank did, one thing after the other; and
for each frame one arrow, from a "send" on one track to an "apply" on another.

Prints what it counted.  Exits with 1 and says why if something is wrong.  Needs
nothing but Python's standard library.
"""

import argparse
import bisect
import collections
import json
import math
import sys

# Times are written in microseconds with three digits; begin and length of one
# event and begin of the next are each rounded.
ROUNDING = 0.002

KINDS = ("compute", "apply", "send", "idle")


class Wrong(Exception):
    """The trace is not as it should be."""


def no_constant(name):
    raise ValueError(f"{name} is no number in JSON")


def read(path):
    """The list of events of a file."""
    try:
        with open(path, encoding="utf-8") as file:
            trace = json.load(file, parse_constant=no_constant)
    except OSError as error:
        raise Wrong(f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Wrong(f"not JSON: {error}") from error
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list):
        raise Wrong('no object with a list "traceEvents"')
    return events


def is_number(value):
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value))


def check_fields(event):
    """Does an event have what its phase needs?"""
    if not isinstance(event, dict):
        raise Wrong(f"an event is no object: {event!r}")
    phase = event.get("ph")
    if phase not in ("M", "X", "s", "f"):
        raise Wrong(f'"ph" is {phase!r}, not M, X, s or f: {event}')
    for field in ("pid", "tid"):
        if type(event.get(field)) is not int:
            raise Wrong(f'"{field}" is no whole number: {event}')
    if not isinstance(event.get("name"), str):
        raise Wrong(f'"name" is no string: {event}')
    if phase != "M" and not (is_number(event.get("ts")) and event["ts"] >= 0):
        raise Wrong(f'"ts" is no time: {event}')
    if phase == "X":
        if not (is_number(event.get("dur")) and event["dur"] >= 0):
            raise Wrong(f'"dur" is no length: {event}')
        if event["name"] not in KINDS:
            raise Wrong(f'"name" is none of {", ".join(KINDS)}: {event}')
    if phase in ("s", "f") and not isinstance(event.get("id"), str):
        raise Wrong(f'"id" is no string: {event}')
    if phase == "f" and event.get("bp") != "e":
        raise Wrong(f'"bp" is not "e", so the arrow would end elsewhere: '
                    f"{event}")


def track(event):
    return event["pid"], event["tid"]


def check_tracks(events, ranks):
    """One track for each rank, named after it, and events on no other."""
    names = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            if track(event) in names:
                raise Wrong(f"two names for one track: {event}")
            args = event.get("args")
            name = args.get("name") if isinstance(args, dict) else None
            names[track(event)] = name
    expected = sorted(f"rank {i}" for i in range(ranks))
    if sorted(map(str, names.values())) != expected:
        raise Wrong(f"tracks are called {sorted(map(str, names.values()))}, "
                    f"not {expected}")
    for event in events:
        if track(event) not in names:
            raise Wrong(f"an event is on a track without a name: {event}")
    return names


def check_overlaps(slices, names):
    """Nothing begins on a track before the last thing has ended."""
    for where, events in slices.items():
        events.sort(key=lambda event: (event["ts"], event["dur"]))
        for last, event in zip(events, events[1:]):
            end = last["ts"] + last["dur"]
            if event["ts"] < end - ROUNDING:
                raise Wrong(f"on the track of {names[where]}, {event} begins "
                            f"before {last} ends at {end:.3f}")


class Slices:
    """What a track shows of one kind, to be looked up by time."""

    def __init__(self, events):
        self.events = events
        self.begins = [event["ts"] for event in events]

    def cover(self, time):
        # They do not overlap, so only the last two that have begun can.
        last = bisect.bisect_right(self.begins, time + ROUNDING)
        return any(time <= event["ts"] + event["dur"] + ROUNDING
                   for event in self.events[max(0, last - 2):last])


def check_arrows(events, slices, names, tolerance):
    """Each arrow has a beginning and an end where a frame was sent, applied."""
    ends = {"s": {}, "f": {}}
    for event in events:
        if event["ph"] in ends:
            if event["id"] in ends[event["ph"]]:
                raise Wrong(f'arrow {event["id"]} has two events '
                            f'"{event["ph"]}": {event}')
            ends[event["ph"]][event["id"]] = event
    for there, missing in (("s", "f"), ("f", "s")):
        for arrow in ends[there]:
            if arrow not in ends[missing]:
                raise Wrong(f'arrow {arrow} has an event "{there}" but no '
                            f'"{missing}": {ends[there][arrow]}')

    for phase, kind in (("s", "send"), ("f", "apply")):
        found = {where: Slices([event for event in slices[where]
                                if event["name"] == kind]) for where in names}
        counts = collections.Counter(map(track, ends[phase].values()))
        for where, name in names.items():
            if counts[where] != len(found[where].events):
                raise Wrong(f'the track of {name} has '
                            f'{len(found[where].events)} "{kind}" but '
                            f'{counts[where]} "{phase}"')
        for event in ends[phase].values():
            if not found[track(event)].cover(event["ts"]):
                raise Wrong(f'no "{kind}" of {names[track(event)]} at the time '
                            f"of {event}")

    earliest = math.inf
    for arrow, begin in ends["s"].items():
        end = ends["f"][arrow]
        if track(begin) == track(end):
            raise Wrong(f"arrow {arrow} ends on the track it began on: {end}")
        earliest = min(earliest, end["ts"] - begin["ts"])
        if end["ts"] < begin["ts"] - tolerance:
            raise Wrong(f"arrow {arrow} ends {begin['ts'] - end['ts']:.3f} us "
                        f"before it begins, and only {tolerance:g} us are "
                        f"allowed: {begin}, {end}")
    return len(ends["s"]), earliest


def check(events, ranks, tolerance):
    """All of it; returns a line that says what there was."""
    for event in events:
        check_fields(event)
    names = check_tracks(events, ranks)
    slices = {where: [] for where in names}
    for event in events:
        if event["ph"] == "X":
            slices[track(event)].append(event)
    check_overlaps(slices, names)
    arrows, earliest = check_arrows(events, slices, names, tolerance)

    kinds = collections.Counter(event["name"] for event in events
                                if event["ph"] == "X")
    text = ", ".join([f"{len(names)} tracks"] +
                     [f"{kinds[kind]} {kind}" for kind in KINDS] +
                     [f"{arrows} arrows"])
    if arrows:
        text += f", the shortest of {earliest:.3f} us"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", metavar="TRACE.json")
    parser.add_argument("ranks", metavar="RANKS", type=int)
    parser.add_argument(
        "--tolerance", metavar="US", type=float, default=1000,
        help="how much earlier, in microseconds, a frame may be applied than "
        "it was sent, since ranks have clocks of their own (default 1000)")
    options = parser.parse_args()
    try:
        print(f"{options.trace}: "
              + check(read(options.trace), options.ranks, options.tolerance))
    except Wrong as error:
        print(f"{options.trace}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
