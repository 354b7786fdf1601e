#!/usr/bin/env python3
"""Kills and stops ranks of trainings at random, and resumes them to the end.

Each round is one training over MPI with a checkpoint file.  A life of it either
comes to its end, however long some of its ranks stood still, or ends soon after
one of them was killed, or told by a signal to end; then the next life goes on
from the checkpoint, at the same or another number of ranks.  In the end the loss is that of a training
that nobody disturbed, all points are counted, and nothing is left behind: no
process, and no file but the checkpoint.

Whatever is drawn follows from a round's seed, except for what the machine does
meanwhile: --seed with the seed of a round and --rounds 1 repeats it.  Needs
nothing but the program and Python's own library.
"""

import argparse
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from job import Failure, Job, expect, segments, until

# Points that a training visits; no multiple of anything.
POINTS = 3000003
# How far the loss may be from that of an undisturbed training, relatively.
# Undisturbed ones differ by 0.0005.
LOSS_BOUND = 0.005
# How far replicas may be apart before the last copy, relatively: rounding only.
DEVIATION_BOUND = 1e-9
# Bytes that a checkpoint begins with; those from 16 on say how many follow.
HEADER = 32
# The status of a training that a signal has ended.
TO_BE_RESUMED = 75
# After so many lives of a training nobody is killed any more.
MAX_LIVES = 6
TOPOLOGIES = ["complete", "ring", "tree", "exponential"]


class Life:
    """One start of a training, until it has ended or was ended."""

    def __init__(self, chaos, ranks, words, folder):
        self.chaos = chaos
        self.path = words[1]
        # Those that killed writers have left.
        self.parts = set(os.listdir(folder))
        self.job = Job(chaos.mpiexec, ranks, chaos.program, words, folder,
                       chaos.environment)
        chaos.jobs.append(self.job)
        self.killed = None
        self.interrupted = False
        self.took = 0
        self.faults = []

    def run(self, plan):
        """plan: what plan() of Chaos returns."""
        job, chaos = self.job, self.chaos
        expect(until(lambda: job.under_way() or job.ended(), chaos.limit) and
               job.under_way(), "a training that gets under way")
        start = time.monotonic()
        for event in plan:
            until(self.ended, max(0, start + event[0] - time.monotonic()))
            if job.ended():
                break
            self.act(*event)
            if self.killed is not None:
                break
        if self.killed is not None:
            # Who stands still is not woken: others have to deal with it.
            over = until(lambda: self.ended() and job.gone(), chaos.patience)
            self.took = time.monotonic() - self.killed
            expect(over, f"an end {chaos.patience} s after a kill",
                   f"processes {sorted(job.left())} go on")
        else:
            expect(until(self.ended, chaos.limit), "an end, without a kill",
                   f"processes {sorted(job.left())} go on")
            expect(until(job.gone, chaos.patience), "no process left",
                   sorted(job.left()))
        job.close()
        status = job.process.returncode
        if self.killed is None:
            # A signal may come too late.
            expect(status == 0 or self.interrupted and status == TO_BE_RESUMED,
                   "status 0 without a kill", status)
        if status in (0, TO_BE_RESUMED):
            expect(job.result is not None, f"a result with status {status}")
            expect(job.result["interrupted"] == (status != 0),
                   "that it knows of the signal", job.result)
        return status == 0

    def ended(self):
        """Is it over?  Whoever looks meanwhile finds a whole checkpoint."""
        try:
            found = self.path.read_bytes()
        except FileNotFoundError:
            return self.job.ended()
        expect(len(found) >= HEADER and len(found) == HEADER +
               int.from_bytes(found[16:24], sys.byteorder), "a whole "
               "checkpoint at any time", f"{len(found)} bytes")
        return self.job.ended()

    def writes(self):
        """Is there a checkpoint that is not complete yet?"""
        return any(".part." in name for name in os.listdir(self.job.folder)
                   if name not in self.parts)

    def act(self, moment, action, ranks, duration=None):
        number = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP,
                  "go on": signal.SIGCONT,
                  "interrupt": signal.SIGUSR1}[action]
        if action == "kill" and duration:
            # Without a pause: it does not take long.
            deadline = time.monotonic() + duration
            while not self.ended() and not self.writes() and \
                    time.monotonic() < deadline:
                pass
        for rank in ranks:
            if not self.job.signal(rank, number):
                continue
            if action == "kill":
                self.killed = self.killed or time.monotonic()
                self.chaos.kills += 1
                self.faults.append(f"kill {rank} at {moment:.2f}")
            elif action == "interrupt":
                self.interrupted = True
                self.chaos.interrupts += 1
                self.faults.append(f"interrupt {rank} at {moment:.2f}")
            elif action == "stop":
                self.chaos.stops += 1
                self.faults.append(f"stop {rank} at {moment:.2f} for "
                                   f"{duration:.2f}")


class Chaos:
    def __init__(self, options):
        self.program = os.path.realpath(options.program)
        self.mpiexec = options.mpiexec
        self.work = pathlib.Path(options.work).resolve()
        self.patience = options.patience
        self.limit = options.limit
        self.environment = {}
        self.jobs = []
        self.interrupts = 0
        self.kills = self.stops = self.resumes = self.lives = self.parts = 0
        self.longest = self.farthest = 0
        # Set by the training that is not disturbed.
        self.loss = self.seconds = None

    def check(self, path):
        """What a checkpoint says of itself, or None if there is none."""
        if not path.exists():
            return None
        result = subprocess.run([self.program, "check", str(path)], text=True,
                                capture_output=True, timeout=self.limit)
        expect(result.returncode == 0, "a whole checkpoint", result.stderr)
        return json.loads(result.stdout)

    def plan(self, draw, ranks, left, may_kill):
        """Faults at random moments of what is left of a training, in order.

        Each is (seconds since it got under way, action, ranks), with how long
        they are to stand still; or, before rank 0 is killed, how long to wait
        until it writes a checkpoint.
        """
        events = []
        # A rank stands still for less than the training would take, so that
        # the others, who may not hear of each other meanwhile, are together
        # again for most of it.
        longest = min(0.5, 0.3 * self.seconds)
        for _ in range(draw.randint(0, 3)):
            moment = draw.uniform(0, 0.8 * left * self.seconds)
            if may_kill and draw.random() < 0.5:
                # One, or several at a time, as a machine would take with it.
                several = draw.randint(2, ranks) if draw.random() < 0.2 else 1
                victims = sorted(draw.sample(range(ranks), several))
                events.append((moment, "kill", victims,
                               0.3 if 0 in victims and draw.random() < 0.8
                               else 0))
            elif may_kill and draw.random() < 0.4:
                events.append((moment, "interrupt", [draw.randrange(ranks)]))
            else:
                victim = [draw.randrange(ranks)]
                duration = draw.uniform(0.01, longest)
                events.append((moment, "stop", victim, duration))
                events.append((moment + duration, "go on", victim))
        return sorted(events)

    def undisturbed(self):
        folder = self.fresh("undisturbed")
        path = folder / "model.checkpoint"
        life = Life(self, 2, self.words(path, 0.05, "complete", "static"),
                    folder)
        expect(life.run([]), "an end")
        self.loss = life.job.result["loss"]
        self.seconds = life.job.result["seconds"]
        self.finished(life.job.result, "static", None)
        shutil.rmtree(folder)
        print(f"undisturbed: loss {self.loss:.6f}, {self.seconds:.2f} s at 2 "
              f"ranks; bound {LOSS_BOUND:.1%}", flush=True)

    def fresh(self, name):
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def words(self, path, every, topology, sharing):
        return ["train", path, f"{every:.3f}", POINTS, topology, sharing]

    def finished(self, result, sharing, before):
        """Is this the end that the training was to come to?"""
        expect(result["same"], "the same model on all ranks", result)
        expect(result["complete"], "every gradient on every rank", result)
        expect(result["deviation"] <= DEVIATION_BOUND, "replicas that differ "
               "by rounding", result)
        expect(result["peak_vectors"] <= result["vector_bound"], "vectors "
               "within their bound", result)
        expect(not result["checkpoint_problem"], "checkpoints that can be "
               "written", result)
        off = abs(result["loss"] / self.loss - 1)
        self.farthest = max(self.farthest, off)
        expect(off <= LOSS_BOUND, f"a loss of {self.loss}", result)
        points = result["points"]
        expect(points == POINTS if sharing == "static" else points >= POINTS,
               f"{POINTS} points, {sharing} sharing", result)
        expect(result["points_before"] == (before["points"] if before else 0)
               and result["resumes"] == (before["resumes"] + 1 if before else 0)
               and result["ranks_before"] == (before["ranks"] if before else 0),
               f"a resumption of {before}", result)

    def files(self, folder, path, life, replaced):
        """Nothing but the checkpoint, and what a rank 0 that was killed has left:
        what it had begun to write, and its lock, which is void."""
        writer = f".{life.job.pids[0]}.part.{path.name}"
        for name in sorted(other.name for other in folder.iterdir()):
            part = name.startswith(".") and name.endswith(
                ".part." + path.name)
            # Once a life has written its own, those of lives before are gone.
            expect(name in (path.name, path.name + ".lock") or part and (name == writer or
                   not replaced), "no other file", name)
            self.parts += name == writer

    def round(self, seed):
        draw = random.Random(seed)
        topology = draw.choice(TOPOLOGIES)
        sharing = draw.choice(["static", "dynamic"])
        every = draw.uniform(0.02, 0.08)
        folder = self.fresh(f"round_{seed}")
        path = folder / "model.checkpoint"
        begin = time.monotonic()
        ranks, faults, before = [], [], []
        found = stamp = None
        for number in range(MAX_LIVES + 1):
            # What a life is like does not depend on how those before ended.
            draw = random.Random(f"{seed}/{number}")
            ranks.append(draw.randint(2, 4))
            left = max(0.05, 1 - (found["points"] if found else 0) / POINTS)
            plan = self.plan(draw, ranks[-1], left, number < MAX_LIVES)
            self.lives += 1
            if number > 0:
                before.append(found["points"] if found else 0)
                self.resumes += 1
            life = Life(self, ranks[-1],
                        self.words(path, every, topology, sharing), folder)
            over = life.run(plan)
            faults.append(", ".join(life.faults) or "none")
            self.longest = max(self.longest, life.took)
            if over:
                self.finished(life.job.result, sharing, found)
            # What there was is still there, or something that goes on from it.
            last, old = found, stamp
            found = self.check(path)
            if found:
                about = path.stat()
                stamp = (about.st_ino, about.st_mtime_ns)
            expect(not last or found and found["points"] >= last["points"],
                   f"a checkpoint no older than {last}", found)
            if life.job.result and not over and life.killed is None:
                expect(found and found["points"] == life.job.result["points"],
                       f"a checkpoint of all of {life.job.result}", found)
            self.files(folder, path, life, stamp != old)
            if over:
                expect(not path.with_name(path.name + ".lock").exists(),
                       "no lock after a good end")
                break
        expect(found and found["finished"] and
               found["points"] == life.job.result["points"],
               "a checkpoint of the end", found)
        expect([other.name for other in folder.iterdir()] == [path.name],
               "nothing but the checkpoint", list(folder.iterdir()))
        shutil.rmtree(folder)
        print(f"seed {seed}: ranks {','.join(map(str, ranks))}; {topology}, "
              f"{sharing}; faults {' | '.join(faults)}; lives {len(ranks)}; "
              f"resumed at {','.join(map(str, before)) or '-'}; points "
              f"{life.job.result['points']}; loss "
              f"{life.job.result['loss']:.6f}; "
              f"{time.monotonic() - begin:.1f} s", flush=True)

    def attempt(self, action, name, repeat):
        """Returns whether it went well; whatever happens, all is ended."""
        self.jobs = []
        try:
            action()
            return True
        except (Failure, OSError, subprocess.SubprocessError,
                ValueError) as error:
            print(f"FAILED: {name}: {error}\nto repeat: {repeat}", flush=True)
            for job in self.jobs:
                print(job.output(), flush=True)
            return False
        finally:
            for job in self.jobs:
                job.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True, help="a scratch folder")
    parser.add_argument("--mpiexec", default=os.environ.get("MPIEXEC",
                                                            "mpiexec"))
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0,
                        help="of the first round (0: drawn)")
    parser.add_argument("--patience", type=float, default=10,
                        help="seconds in which a job must end after a kill")
    parser.add_argument("--limit", type=float, default=60,
                        help="seconds that anything else may take")
    options = parser.parse_args()
    # An end by ctest or the user is not to leave anything behind, either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    seed = options.seed or random.SystemRandom().randrange(1, 10 ** 6)
    chaos = Chaos(options)
    chaos.work.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()

    def repeat(seed):
        return shlex.join([
            sys.executable, os.path.realpath(__file__), "--program",
            chaos.program, "--work", str(chaos.work), "--mpiexec",
            chaos.mpiexec, "--rounds", "1", "--seed", str(seed)])

    failures = []
    with segments() as chaos.environment:
        if not chaos.attempt(chaos.undisturbed, "undisturbed", repeat(seed)):
            sys.exit(1)
        for number in range(seed, seed + options.rounds):
            if not chaos.attempt(lambda: chaos.round(number),
                                 f"seed {number}", repeat(number)):
                failures.append(number)
    print(f"{options.rounds} rounds from seed {seed}, {chaos.lives} lives: "
          f"{chaos.kills} kills ({chaos.parts} of a rank that was writing), "
          f"{chaos.stops} stops, {chaos.interrupts} interrupts, "
          f"{chaos.resumes} resumes; "
          f"longest from a kill to the end of all processes "
          f"{chaos.longest:.2f} s; loss off by at most {chaos.farthest:.3%}; "
          f"{time.monotonic() - begin:.0f} s; {len(failures)} failures"
          + (f": seeds {failures}" if failures else ""))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
