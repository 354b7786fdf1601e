#!/usr/bin/env python3
"""Checks the report page of a study in a real browser, Chromium without a window.

Without --page, the page is made from the template and the sample next to this
file, and pages with odd data are checked, too.  With --page, that page is.

Exits with 1 and says why if something is wrong, with 77 if there is no Chromium.
Needs nothing but Python's standard library.
"""

import argparse
import base64
import copy
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BINDINGS = HERE.parent.parent / "bindings"
SAMPLE = HERE / "sample.json"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SKIPPED = 77
# Seconds that one answer or event may take; only a browser that hangs needs so long.
PATIENCE = 15

DESKTOP = (1280, 900)
PHONE = (390, 844)

# Columns in which one algorithm is best: does less or more win, does serial SGD take part?
COLUMNS = {
    "gradients_to_target": (min, True),
    "throughput": (max, False),
    "bytes": (min, False),
    "accuracy": (max, True),
}


class Wrong(Exception):
    """The page is not as it should be."""


def check(condition, message):
    if not condition:
        raise Wrong(message)


class Browser:
    """Chromium, spoken to through two pipes: one JSON text after the other, each with a NUL."""

    def __init__(self, program, folder):
        commands, self.to_browser = os.pipe()
        self.from_browser, answers = os.pipe()

        def take_pipes():
            # Chromium expects commands at 3 and writes to 4.  Copies first: either pipe may
            # already be at the other's number.
            copies = os.dup(commands), os.dup(answers)
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        self.log = open(os.path.join(folder, "browser.log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--hide-scrollbars",
             "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile",
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=(3, 4), preexec_fn=take_pipes, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        os.close(commands)
        os.close(answers)
        self.buffer = b""
        self.events = []
        self.number = 0
        self.session = None

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(PATIENCE)
        except (Wrong, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.log.close()

    def read(self, deadline):
        """The next message of the browser."""
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_browser], [], [],
                                        max(0, deadline - time.monotonic()))
            check(ready, f"the browser did not answer within {PATIENCE} s")
            data = os.read(self.from_browser, 1 << 20)
            if not data:
                self.log.seek(0)
                raise Wrong("the browser ended:\n" + self.log.read()[-2000:])
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        """Sends a command and waits for its answer; events on the way are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self.read(deadline)
            if answer.get("id") == self.number:
                check("error" not in answer, f"{method}: {answer.get('error')}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def wait(self, method):
        """Waits until an event was reported; forgets it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            for i, event in enumerate(self.events):
                if event["method"] == method:
                    return self.events.pop(i)
            event = self.read(deadline)
            if "method" in event:
                self.events.append(event)


class Page:
    """A tab of the browser."""

    def __init__(self, browser):
        self.browser = browser
        browser.session = None
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        browser.session = browser.call("Target.attachToTarget", targetId=target,
                                       flatten=True)["sessionId"]
        self.call = browser.call
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def size(self, width, height, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if phone else 1, mobile=phone)

    def media(self, scheme="light", media=""):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self.browser.events.clear()
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.browser.wait("Page.loadEventFired")
        self.settle()

    def run(self, expression):
        """The value of an expression; awaits promises."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Wrong(f"{expression}: {details.get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def settle(self):
        """Some frames later, observers of sizes have been called and have drawn."""
        self.run("""(async () => {
          for (let i = 0; i < 3; i++)
            await new Promise((done) => requestAnimationFrame(done));
        })()""")

    def place(self, element):
        """Where the middle of an element is, after scrolling there."""
        return self.run(f"""(() => {{
          const element = {element};
          element.scrollIntoView({{block: 'center'}});
          const box = element.getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2];
        }})()""")

    def mouse(self, kind, place, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], **more)

    def click(self, element):
        place = self.place(element)
        self.mouse("mouseMoved", place)
        self.mouse("mousePressed", place, button="left", clickCount=1)
        self.mouse("mouseReleased", place, button="left", clickCount=1)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": self.run("innerWidth"),
            "height": self.run("document.documentElement.scrollHeight"), "scale": 1})["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False,
                                          paperWidth=8.27, paperHeight=11.69)["data"])


def problems(page):
    """What the browser complained about, and requests that left the page."""
    found = []
    for event in page.browser.events:
        method, what = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            found.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning"):
            found.append("console: " + " ".join(str(a.get("value")) for a in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            found.append(f"log: {what['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            url = what["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:")):
                found.append(f"request to {url}")
    return found


def check_quiet(page, where):
    found = problems(page)
    text = page.run("document.getElementById('page').textContent")
    found += re.findall(r".{0,20}(?:\[object|undefined|NaN|Infinity).{0,20}", text)
    check(not found, f"{where}: " + "; ".join(found))


def mean(row, key):
    return (row.get(key) or {}).get("mean")


def reached(row):
    """In how many runs the target was reached."""
    if mean(row, "time_to_target") is None:
        return 0
    count = row["time_to_target"].get("reached")
    return row["runs"] if count is None else count


def is_serial(row):
    return row["serial"]


def in_order(rows):
    """The fastest first; those that never reached the target last."""
    return sorted(rows, key=lambda row: float("inf") if mean(row, "time_to_target") is None
                  else mean(row, "time_to_target"))


def may_be_first(row):
    """No other algorithm is certainly faster."""
    return reached(row) > 0 and row["place"]["first"] == 1


def group_of(index):
    return f"document.querySelectorAll('section.group')[{index}]"


def charts(page, index):
    """What is in each chart of a group."""
    return page.run(f"""[...{group_of(index)}.querySelectorAll('figure')].map((figure) => {{
      const svg = figure.querySelector('svg');
      const size = (shape) => {{ const box = shape.getBBox(); return box.width + box.height; }};
      const count = (what) => [...svg.querySelectorAll(what)].filter((s) => size(s) > 0).length;
      return {{name: figure.dataset.chart, role: svg.getAttribute('role'),
        label: svg.getAttribute('aria-label'), curves: count('path.curve'),
        bands: count('path.band'), rects: count('rect[fill]'),
        target: count('line.target'), limit: count('line.limit'),
        whiskers: count('line.whisker'),
        // The highest number at the axis of losses.
        top: Math.max(...[...svg.querySelectorAll('text[text-anchor=end]')]
          .map((text) => Number(text.textContent)).filter(Number.isFinite)),
        // Text that leaves the drawing is cut off.
        outside: [...svg.querySelectorAll('text')].filter((text) => {{
          const box = text.getBBox();
          return box.x < -1 || box.x + box.width > svg.viewBox.baseVal.width + 1 ||
            box.y < -2 || box.y + box.height > svg.viewBox.baseVal.height + 2;
        }}).map((text) => text.textContent),
        bad: /NaN|Infinity|undefined/.test(svg.outerHTML)}};
    }})""")


def curves_end_near(group, values):
    """Do the curves begin far above the target, and end near it?"""
    known = [[point[0] for point in curve[values] if point and point[0] is not None]
             for curve in group["curves"]]
    target = group["target"]
    return target is not None and any(known) and \
        max(one[0] for one in known if one) > 2 * target and \
        min(min(one) for one in known if one) > target / 2


def check_charts(page, index, group, where):
    found = {chart["name"]: chart for chart in charts(page, index)}
    wanted = ["time_to_target", "loss-time", "loss-gradients", "throughput", "idle"]
    wanted += ["staleness"] if group["staleness"] else []
    check(sorted(found) == sorted(wanted), f"{where}: has the charts {sorted(found)}")
    for name, chart in found.items():
        check(not chart["bad"], f"{where}: {name} has a number that is none")
        check(not chart["outside"], f"{where}: {name}: text is cut off: {chart['outside']}")
        check(chart["role"] == "img" and chart["label"], f"{where}: {name} has no label")
        if name.startswith("loss"):
            values = "loss_by_time" if name == "loss-time" else "loss_by_gradients"
            count = sum(any(point and point[0] is not None for point in curve[values])
                        for curve in group["curves"])
            check(chart["curves"] == count, f"{where}: {name}: {chart['curves']} curves "
                  f"instead of {count}")
            check(chart["bands"] == count, f"{where}: {name}: {chart['bands']} bands")
            check(group["target"] is None or count == 0 or chart["target"] == 1,
                  f"{where}: {name}: no target")
            check(not curves_end_near(group, values) or chart["top"] <= 2 * group["target"],
                  f"{where}: {name}: the axis goes up to {chart['top']}, far above the target")
        elif name == "staleness":
            count = sum(any(one["buckets"]) for one in group["staleness"])
            check(chart["rects"] >= count, f"{where}: {name} lacks bars")
        else:
            count = sum(mean(row, name) is not None for row in group["rows"])
            check(chart["rects"] == count, f"{where}: {name}: {chart['rects']} bars instead of "
                  f"{count}")
            if name == "time_to_target":
                count = sum(row[name].get("low") is not None for row in group["rows"])
                check(chart["whiskers"] == count, f"{where}: {name}: {chart['whiskers']} intervals "
                      f"instead of {count}")
    check(not found["throughput"]["rects"] or found["throughput"]["limit"] == 1,
          f"{where}: no line at the limit of throughput")


def check_legend(page, index, group, where):
    """Each entry hides its algorithm in all charts of its group, and in no other group."""
    def drawn():
        groups = page.run("""[...document.querySelectorAll('section.group')].map((group) =>
          Object.fromEntries([...group.querySelectorAll('figure')].map((figure) =>
            [figure.dataset.chart, [...new Set([...figure.querySelectorAll('[data-algorithm]')]
              .map((shape) => shape.dataset.algorithm))]])))""")
        return groups.pop(index), groups

    before, beside = drawn()
    for row in group["rows"]:
        name = row["algorithm"]
        entry = f"{group_of(index)}.querySelector('[data-toggle={json.dumps(name)}]')"
        page.click(entry)
        hidden, elsewhere = drawn()
        for chart, names in before.items():
            check(hidden[chart] == [n for n in names if n != name],
                  f"{where}: {chart}: hiding {name} leaves {hidden[chart]}")
        check(elsewhere == beside, f"{where}: {name} was hidden elsewhere, too")
        check(page.run(f"{entry}.getAttribute('aria-pressed')") == "false",
              f"{where}: the entry of {name} does not say that it is off")
        page.click(entry)
        check(drawn() == (before, beside), f"{where}: {name} did not come back")


def fair_rows(rows, column):
    """Rows that may be the best of a column."""
    if not column.endswith("_to_target"):
        return rows
    shares = [reached(row) / max(1, row["runs"]) for row in rows]
    most = max(shares, default=0)
    return [row for row, share in zip(rows, shares) if share > 0 and share == most]


def check_table(page, index, group, where):
    shown_rows = f"{group_of(index)}.querySelectorAll('.results tbody tr')"
    rows = page.run(f"""[...{shown_rows}].map((row) => ({{
      name: row.dataset.algorithm, text: row.innerText,
      cells: Object.fromEntries([...row.querySelectorAll('td')].map((cell) => {{
        const strong = cell.querySelector('strong');
        return [cell.dataset.column, [cell.innerText,
          strong !== null && Number(getComputedStyle(strong).fontWeight) >= 600]];
      }}))}}))""")
    ordered = in_order(group["rows"])
    names = [row["algorithm"] for row in ordered]
    check([row["name"] for row in rows] == names, f"{where}: the table has other rows, or another "
          "order")
    first = [row["algorithm"] for row in ordered if may_be_first(row)]
    for column in ("time_to_target", "speedup"):
        bold = [row["name"] for row in rows if row["cells"].get(column, ["", False])[1]]
        wanted = first if len(first) < len(rows) and any(column in r["cells"] for r in rows) else []
        check(bold == wanted, f"{where}: {column}: {bold} are bold, not {wanted}")
    for column, (best_of, serial) in COLUMNS.items():
        known = [row for row in fair_rows(group["rows"], column) if mean(row, column) is not None
                 and (serial or not is_serial(row))]
        bold = [row["name"] for row in rows if row["cells"].get(column, ["", False])[1]]
        if len({f"{mean(row, column):.3g}" for row in known}) < 2:
            continue
        best = best_of(known, key=lambda row: mean(row, column))["algorithm"]
        check(best in bold, f"{where}: {best} is best in {column}, but bold is {bold}")
        alike = [row["algorithm"] for row in known if f"{mean(row, column):.3g}" ==
                 f"{best_of(mean(r, column) for r in known):.3g}"]
        check(set(bold) <= set(alike), f"{where}: {column}: {bold} are bold, best is {alike}")
    for row, shown in zip(ordered, rows):
        place = row["place"]
        wanted = "–".join(dict.fromkeys(str(place[end]) for end in ("first", "last"))) \
            if reached(row) > 0 else "–"
        check(shown["cells"]["place"][0] == wanted, f"{where}: {row['algorithm']}: the place is "
              f"{shown['cells']['place'][0]!r}, not {wanted!r}")
        text = shown["cells"]["time_to_target"][0]
        check(("≥" in text) == (0 < reached(row) < row["runs"]),
              f"{where}: {row['algorithm']}: {text!r} is, or is not, a bound")
        check((" to " in text) == (row["time_to_target"].get("low") is not None),
              f"{where}: {row['algorithm']}: {text!r} has, or has not, an interval")
        count, runs = reached(row), row["runs"]
        wanted = ("failed" if row["failed"] >= runs else "not reached") if count == 0 else \
            f"{count} of {runs}" if count < runs else " s"
        check(wanted in text, f"{where}: {row['algorithm']}: time is {text!r}, not {wanted!r}")
        if row["failed"]:
            check(row["failure"] in shown["text"], f"{where}: {row['algorithm']}: no reason")
        check(not re.search(r"NaN|undefined|null|Infinity", shown["text"]),
              f"{where}: {row['algorithm']}: {shown['text']!r}")
    explained = page.run(f"""(() => {{
      const group = {group_of(index)};
      const words = group.querySelector('ul.meanings').textContent;
      return [...group.querySelectorAll('.results thead th')].slice(1).map((head) =>
        [head.textContent, Boolean(head.querySelector('[title]')),
          words.includes(head.textContent)]);
    }})()""")
    check(all(tip and below for _, tip, below in explained),
          f"{where}: a column is not explained: {explained}")
    check(not group["oversubscribed"] or page.run(
        f"{group_of(index)}.querySelector('.badge') !== null"), f"{where}: not marked")


def check_summary(page, index, group, where):
    text = page.run(f"{group_of(index)}.querySelector('.summary').textContent")
    rows = [row for row in in_order(group["rows"]) if reached(row) > 0]
    if not rows:
        check(re.match("No (algorithm reached|target|run that counts)", text), f"{where}: {text!r}")
        return
    best = rows[0]
    check(text.lower().startswith(f"{best['algorithm']} reached ".lower()),
          f"{where}: {text!r}, not {best['algorithm']}")
    # Against the runner-up in any case, and against those that everybody knows.
    for row in rows[1:]:
        if row is not rows[1] and not is_serial(row) and row["algorithm"] != "AllreduceSGD":
            continue
        factor = mean(row, "time_to_target") / mean(best, "time_to_target")
        name = ("the runner-up, " if row is rows[1] else "") + row["algorithm"]
        said = re.search(rf"([\d.,]+) times(?: \([\d., to]+\))? as fast as {re.escape(name)}", text)
        check(said and abs(float(said.group(1).replace(",", "")) / factor - 1) < 0.006,
              f"{where}: {text!r} lacks the factor {factor:.3g} against {name}")
    # A step with which most tries missed the target may still reach it in a run.
    lost = [row["algorithm"] for row in group["rows"]
            if row.get("step_found") is False and reached(row) == 0]
    names = " and ".join([", ".join(lost[:-1])] * (len(lost) > 1) + lost[-1:])
    check((f"No step size was found with which {names} would." in text) if lost else
          ("No step size was found" not in text), f"{where}: {text!r}, but no step was found for "
          f"{lost}")
    doubts = [row["algorithm"] for row in rows[1:] if may_be_first(row)]
    check(bool(doubts) == ("distinguished" in text), f"{where}: {text!r}, but these cannot be "
          f"distinguished: {doubts}")
    if best["runs"] > 1:
        check(all(name in text.split("distinguished")[-1] for name in doubts), f"{where}: "
              f"{text!r} does not name {doubts}")


def check_controls(page, index, where):
    """Hovering shows values, the button changes the scale."""
    plot = f"{group_of(index)}.querySelector('figure[data-chart=loss-time] svg')"
    for name in ("loss-time", "time_to_target", "throughput", "staleness"):
        figure = f"{group_of(index)}.querySelector('figure[data-chart={name}]')"
        if page.run(f"{figure} === null || {figure}.querySelector('rect') === null"):
            continue
        place = page.place(f"{figure}.querySelector('svg')")
        if name != "loss-time":
            place = page.place(f"{figure}.querySelector('rect[fill]')")
        page.mouse("mouseMoved", place)
        tip = page.run(f"(() => {{ const tip = {figure}.querySelector('.tip');"
                       "return tip.hidden ? '' : tip.innerText; })()")
        check(re.search(r"\d", tip), f"{where}: {name}: hovering shows {tip!r}")
        page.mouse("mouseMoved", (1, 1))
        check(page.run(f"{figure}.querySelector('.tip').hidden"),
              f"{where}: {name}: the values stay when the mouse has left")
    strip = re.compile(r"clip\d+")
    before = strip.sub("", page.run(f"{plot}.innerHTML"))
    for choice in ("log", "whole"):
        button = f"{group_of(index)}.querySelector('button[data-choice={choice}]')"
        page.click(button)
        changed = strip.sub("", page.run(f"{plot}.innerHTML"))
        check(changed != before, f"{where}: {choice} changes nothing")
        check(("log scale" in page.run(f"{plot}.textContent")) == (choice == "log"),
              f"{where}: {choice}: the scale is not as it says")
        page.click(button)
        after = strip.sub("", page.run(f"{plot}.innerHTML"))
        check(before == after, f"{where}: {choice} cannot be undone")


def check_touch(page, where):
    """A finger shows values, and they stay until it touches something else."""
    page.call("Emulation.setTouchEmulationEnabled", enabled=True)
    tip = "document.querySelector('figure .tip')"
    for element, hidden in (("figure svg", False), ("h1", True)):
        place = page.place(f"document.querySelector('{element}')")
        # Until the page has scrolled and drawn, a touch meets what was there
        # before, or values that are shown are drawn anew without them.
        page.settle()
        page.call("Input.dispatchTouchEvent", type="touchStart",
                  touchPoints=[{"x": place[0], "y": place[1]}])
        page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        check(page.run(f"{tip}.hidden") == hidden, f"{where}: touching " +
              ("elsewhere does not hide the values" if hidden else "shows no values"))
        check_narrow(page, f"{where}, touched")
    page.call("Emulation.setTouchEmulationEnabled", enabled=False)


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def check_contrast(page, where):
    """Text stands out as WCAG AA asks (4.5:1), curves as it asks of drawings (3:1)."""
    colours = page.run("""(() => {
      const style = getComputedStyle(document.documentElement);
      const names = ['back', 'panel', 'text', 'muted', 'accent', 'warn-back', 'warn-text',
        's0', 's1', 's2', 's3', 's4', 's5', 's6', 's7'];
      return Object.fromEntries(names.map((n) => [n, style.getPropertyValue('--' + n).trim()]));
    })()""")
    pairs = [("text", "back", 4.5), ("text", "panel", 4.5), ("muted", "back", 4.5),
             ("muted", "panel", 4.5), ("accent", "back", 4.5), ("warn-text", "warn-back", 4.5),
             ("warn-text", "back", 4.5)] + [(f"s{i}", "back", 3) for i in range(8)]
    for one, other, least in pairs:
        ratio = contrast(colours[one], colours[other])
        check(ratio >= least, f"{where}: contrast of {one} and {other} is {ratio:.2f}")


def background(page):
    return page.run("getComputedStyle(document.body).backgroundColor")


def check_narrow(page, where):
    page.settle()
    wide = page.run("""(() => {
      const root = document.documentElement;
      const wide = [...document.body.querySelectorAll('*')].filter((e) => !e.closest('.scroll') &&
        e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + '.' + e.className);
      return [root.scrollWidth, root.clientWidth, innerWidth, wide.slice(0, 5)];
    })()""")
    check(wide[0] <= wide[1] and wide[2] == PHONE[0] and not wide[3],
          f"{where}: the page scrolls sideways: {wide}")


def check_print(page, folder, where):
    """On paper: light, without buttons; legends stay as a key to the colours."""
    page.media("dark", "print")
    page.settle()
    check(background(page) == "rgb(255, 255, 255)", f"{where}: the paper is dark")
    shown = page.run("[...document.querySelectorAll('button:not(.entry), nav, .tip, .hint')]"
                     ".filter((e) => e.getClientRects().length > 0).length")
    check(shown == 0, f"{where}: {shown} buttons or notes for screens are printed")
    check(page.run("getComputedStyle(document.querySelector('figure') || document.body)"
                   ".breakInside") == "avoid" or page.run("!document.querySelector('figure')"),
          f"{where}: charts may be cut by the end of a sheet")
    if folder:
        page.screenshot(folder / "print.png")
    page.media("light")
    pdf = page.pdf()
    check(pdf.startswith(b"%PDF") and len(pdf) > 5000, f"{where}: cannot be printed")
    if folder:
        (folder / "print.pdf").write_bytes(pdf)


def check_page(page, path, folder):
    """Everything, for one finished page.  Returns its data."""
    page.size(*DESKTOP)
    page.media("light")
    page.open(path)
    data = page.run("JSON.parse(document.getElementById('data').textContent)")
    groups = data["groups"]
    count = page.run("document.querySelectorAll('section.group').length")
    check(count == len(groups), f"{count} groups are shown instead of {len(groups)}")
    check(page.run("document.title") == data["title"], "the title is not that of the data")
    if folder:
        page.screenshot(folder / "desktop-light.png")
    for i, group in enumerate(groups):
        where = f"group {i + 1}"
        check_charts(page, i, group, where)
        check_table(page, i, group, where)
        check_summary(page, i, group, where)
        check_legend(page, i, group, where)
        check_controls(page, i, where)
    check_same_colours(page)
    check_answers(page, data, "page")
    check_warnings(page, data, "page")
    check_end(page, data)
    check_contrast(page, "light")
    light = background(page)
    page.media("dark")
    check(background(page) != light, "a dark scheme does not change the background")
    check_contrast(page, "dark")
    if folder:
        page.screenshot(folder / "desktop-dark.png")
    page.media("light")
    page.size(*PHONE, phone=True)
    check_narrow(page, "phone")
    for i, group in enumerate(groups):
        check_charts(page, i, group, f"phone, group {i + 1}")
    if folder:
        page.run("scrollTo(0, 0)")
        page.screenshot(folder / "phone.png")
    if any(group["curves"] for group in groups[:1]):
        check_touch(page, "phone")
    page.size(*DESKTOP)
    page.settle()
    check_print(page, folder, "print")
    check_quiet(page, "page")
    return data


def check_same_colours(page):
    """An algorithm has one colour, and no two of the first eight share one."""
    colours = page.run("""[...document.querySelectorAll('[data-toggle]')].map((entry) =>
      [entry.dataset.toggle, entry.querySelector('svg').getAttribute('style')])""")
    names = dict(colours)
    check(all(names[name] == colour for name, colour in colours), "a colour changes by group")
    check(len(set(names.values())) == min(8, len(names)), "algorithms share a colour")


def check_warnings(page, data, where):
    """What others did to the machine comes before the figures."""
    said = page.run("[...document.querySelectorAll('#page > header .problem')].map((one) => "
                    "one.textContent)")
    wanted = [study["warning"] for study in data.get("studies", [data]) if study.get("warning")]
    check(len(said) == len(wanted) and all(text in shown for text, shown in zip(wanted, said)),
          f"{where}: warns {said}, not {wanted}")


def check_end(page, data):
    text = page.run("document.getElementById('settings').innerText")
    for name, value in data["settings"] + data["versions"]:
        check(str(name) in text and str(value) in text, f"{name} is not at the end of the page")
    check(page.run("document.querySelector('pre.command').textContent") == data["command"],
          "the command is not as it was")
    page.click("document.querySelector('button.copy')")
    page.settle()
    check(page.run("document.querySelector('button.copy').textContent") == "Copied",
          "the command cannot be copied")


def check_answers(page, data, where):
    """With several groups the page begins with what each of them says."""
    answers = page.run("""[...document.querySelectorAll('nav li')].map((answer) =>
      [answer.querySelector('a').getAttribute('href'), answer.innerText])""")
    sentences = page.run("""[...document.querySelectorAll('section.group')].map((group) =>
      ['#' + group.id, group.querySelector('h2').innerText + ': ' +
       group.querySelector('.summary').innerText])""")
    check(answers == (sentences if len(data["groups"]) > 1 else []),
          f"{where}: the page does not begin with its answers")


def check_studies(page, path, studies, data):
    """One page of several studies: each is named where its groups are, and at the end."""
    page.open(path)
    check_answers(page, data, "two studies")
    names = page.run("[...document.querySelectorAll('section.group h2')].map((h) => h.innerText)")
    check(names == [f"{studies[group['study']]['title']}, {group['name']}"
                    for group in data["groups"]], "two studies: groups are not of their studies")
    ends = page.run("""[...document.querySelectorAll('section:not(.group)')].map((end) =>
      [end.querySelector('h2').innerText, end.querySelector('pre.command').textContent,
       end.innerText])""")
    check(len(ends) == len(studies) and all(
        study["title"] in head and study["command"] == command and study["machine"] in text
        for (head, command, text), study in zip(ends, studies)),
          "two studies: it is not said how each was made")
    check_quiet(page, "two studies")


def two_studies(sample):
    """As the program joins them."""
    studies, groups = [], []
    for i, title in enumerate(("Study: one", "Study: another")):
        study = copy.deepcopy(sample)
        study.update({"title": title, "command": f"{sample['command']} --seed {i}",
                      "machine": f"{i + 4} cores"})
        for group in study.pop("groups"):
            groups.append({**group, "study": i})
        studies.append(study)
    return studies, {"title": "2 studies", "created": "today", "studies": studies,
                     "groups": groups}


def check_without_scripts(page, path):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.browser.events.clear()
    page.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
    page.browser.wait("Page.loadEventFired")
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=root, selector="noscript > p")["nodeId"]
    check(node != 0, "there is no note for browsers without JavaScript")
    try:
        page.call("DOM.getBoxModel", nodeId=node)
    except Wrong as wrong:
        raise Wrong("the note for browsers without JavaScript is not shown") from wrong
    page.call("Emulation.setScriptExecutionDisabled", value=False)


def odd_pages(sample):
    """Data that a study may well write, but seldom does."""
    nobody = copy.deepcopy(sample)
    for group in nobody["groups"]:
        for row in group["rows"]:
            row["time_to_target"] = row["gradients_to_target"] = \
                {"mean": None, "low": None, "high": None, "reached": 0}
            row["speedup"] = {"mean": None, "low": None, "high": None}
            row["place"] = {"first": 1, "last": len(group["rows"])}
    yield "nobody reached the target", nobody

    one = copy.deepcopy(nobody)
    for group, known in zip(one["groups"], sample["groups"]):
        group["rows"][0] = copy.deepcopy(known["rows"][0])
    yield "one algorithm reached the target", one

    nothing = copy.deepcopy(sample)
    nothing["groups"] = nothing["groups"][:1]
    for row in nothing["groups"][0]["rows"]:
        row.update({"failed": row["runs"], "failure": "no rank answered"})
        for key, value in row.items():
            if isinstance(value, dict) and key != "place":
                row[key] = {"mean": None, "sd": None, "reached": 0}
    nothing["groups"][0].update({"curves": [], "staleness": []})
    yield "all runs failed", nothing

    # Interrupted before a run that counts, and made in parts.
    parts = copy.deepcopy(sample)
    parts["groups"] = parts["groups"][:2]
    parts["groups"][0].update({"rows": [], "curves": [], "staleness": []})
    for group in parts["groups"]:
        group["not_run_yet"] = ["DASGD", "AllreduceSGD"]
    yield "runs are missing", parts

    none = copy.deepcopy(sample)
    none["groups"] = []
    yield "no groups", none

    many = copy.deepcopy(sample)
    many["title"] = "Names with </script><b>marks</b> & \"quotes\""
    group = many["groups"][0]
    for part in ("rows", "curves", "staleness"):
        for one in copy.deepcopy(group[part]):
            one["algorithm"] += ", <i>top</i> 1% and a very long name of a variant"
            group[part].append(one)
    # Diverges, to where only the first points can be seen.
    group["curves"][1]["loss_by_time"] = [[3.0 * 10 ** k, 10 ** k, 4.0 * 10 ** k] for k in
                                          range(len(group["curves"][1]["seconds"]))]
    group["staleness"][0]["buckets"] = [1 << k for k in range(15)]
    yield "many long names", many

    serial = copy.deepcopy(sample)
    for group in serial["groups"]:
        for part in ("rows", "curves", "staleness"):
            group[part] = [one for one in group[part] if one["algorithm"] == "serial SGD"]
        for row in group["rows"]:
            row.update({"runs": 1, "accuracy": {"mean": None, "sd": None},
                        "place": {"first": 1, "last": 1}})
            for key, value in row.items():
                if isinstance(value, dict):
                    value.update({end: None for end in ("sd", "low", "high") if end in value})
            row["time_to_target"]["reached"] = row["gradients_to_target"]["reached"] = 1
        group["curves"][0]["loss_by_time"] = [None, [0, 0, 0]] + [[0.5, None, None]]
        group["curves"][0]["seconds"] = [0, 1, 2]
    yield "one serial run", serial


def check_odd(page, data, path, name):
    page.open(path)
    check(page.run("document.title") == data["title"], f"{name}: title")
    page.size(*PHONE, phone=True)
    check_narrow(page, name)
    page.size(*DESKTOP)
    page.settle()
    for i, group in enumerate(data["groups"]):
        said = page.run(f"document.querySelector('#group-{i + 1}').textContent")
        check(("runs of DASGD and AllreduceSGD are missing" in said) == ("not_run_yet" in group),
              f"{name}: says which runs are missing: {said[:300]}")
        check(("No run that counts" in said) == (not group["rows"]), f"{name}: {said[:300]}")
        for scale in ("plain", "log"):
            for chart in charts(page, i):
                check(not chart["bad"], f"{name}: {scale}: {chart['name']} has a bad number")
                check(not chart["outside"], f"{name}: {chart['name']}: text is cut off: "
                      f"{chart['outside']}")
            page.click(f"{group_of(i)}.querySelector('button.switch')")
        check_table(page, i, group, name)
        check_summary(page, i, group, name)
        check_legend(page, i, group, name)
    check_quiet(page, name)


def template(part):
    """The page of "study/report" or "plan/plan", as it is built into its program."""
    def text(*names):
        return "".join((BINDINGS / name).read_text(encoding="utf-8") for name in names)
    return (text("page/base.html").replace("@STYLE@", text("page/base.css", part + ".css"))
            .replace("@SCRIPT@", text("page/charts.js", part + ".js")))


def finished(data, path, part="study/report"):
    """Makes a page as the program does; without data where there is none."""
    page = template(part)
    check(page.count("@DATA@") == 1, "the template needs its placeholder once")
    if data is not None:
        page = page.replace("@DATA@", json.dumps(data).replace("</", "<\\/"))
    path.write_text(page, encoding="utf-8")
    return path


def test(program, arguments):
    folder = pathlib.Path(arguments.screenshots) if arguments.screenshots else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dasgd_page_", ignore_cleanup_errors=True) as work:
        browser = Browser(program, work)
        try:
            page = Page(browser)
            work = pathlib.Path(work)
            if arguments.page:
                path = arguments.page
                check(os.path.isfile(path), f"there is no file {path}")
                check_page(page, path, folder)
            else:
                sample = json.loads(SAMPLE.read_text(encoding="utf-8"))
                path = finished(sample, work / "page.html")
                check_page(page, path, folder)
                for i, (name, data) in enumerate(odd_pages(sample)):
                    check_odd(page, data, finished(data, work / f"odd{i}.html"), name)
                    if folder and i in (1, 3):
                        page.screenshot(folder / f"odd{i}.png")
                studies, data = two_studies(sample)
                check_studies(page, finished(data, work / "two.html"), studies, data)
                if folder:
                    page.screenshot(folder / "two.png")
                page.open(finished(None, work / "empty.html"))
                check(page.run("document.querySelector('main .problem') !== null"),
                      "a page without data does not say so")
            check_without_scripts(page, path)
        finally:
            browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--page", help="a finished page instead of one with the sample")
    parser.add_argument("--screenshots", metavar="DIR", help="write pictures of the page there")
    parser.add_argument("--browser", help="the program to use instead of the Chromium found")
    arguments = parser.parse_args()
    program = arguments.browser or next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None or shutil.which(program) is None:
        print("skipped: no Chromium is installed")
        return SKIPPED
    begin = time.monotonic()
    try:
        test(program, arguments)
    except Wrong as wrong:
        print(f"wrong: {wrong}", file=sys.stderr)
        return 1
    print(f"the page is as it should be ({time.monotonic() - begin:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
