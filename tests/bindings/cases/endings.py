"""Cases of how programs end, and what they leave."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import termios
import time

from .harness import (
    Failed, HERE, Result, SOFTMAX, Setting, alive, applying, await_event,
    case, content, data, descendants, end_job, expect, given, mpi,
    on_terminal, our, plain, processes, refused, run, start, training, tree,
    well, write)
from .training import clear
from .accounts import PROGRESS
from .checkpoints import checkpointed, worker_of

# How programs end, and what they leave.
#

def told_once(folder):
    """One line on standard error, whoever notices, and none of mpirun's."""
    shards = dict(sharded=True, labels_file=data("shard_labels_{rank}.csv"))
    for words in (
            # Before ranks are started, by all of them, and by one.
            dict(batch_size=-5),
            dict(labels_file=data("three.csv"), number_of_classes=2),
            dict(training_file=data("three_points.csv"),
                 labels_file=data("three_labels.csv"), ranks=4,
                 number_of_classes=10, test_file=None, predictions_file=None),
            dict(training_file=data("lonely_{rank}.csv"), **shards),
            dict(training_file=data("narrow_{rank}.csv"), **shards),
            # With a checkpoint there are other ways to end.
            dict(labels_file=data("three.csv"), number_of_classes=2,
                 checkpoint_file="state", restarts=1)):
        command = [our(SOFTMAX)] + given(SOFTMAX, **dict({"ranks": 2}, **words))
        refused(folder, command, [])
        result = run(command, folder)
        lines = [line for line in plain(result.err).splitlines()
                 if line.strip()]
        expect(result.status == 1 and len(lines) == 1 and
               lines[0].startswith("[FATAL] ") and result.out == "",
               "status 1 and one line", result)


case("told_once", "with --ranks a mistake is one line, and nothing of mpirun's "
     "follows", told_once, light=True)


def before_ranks(folder):
    """Nobody starts ranks for what can be known without data."""
    stub = write(os.path.join(folder, "mpirun"), "#!/bin/sh\n"
                 "touch '%s/started'\nexit 9\n" % folder)
    os.chmod(stub, 0o755)

    def result_of(**words):
        return run(["env", "DASGD_MPIRUN=" + stub, our(SOFTMAX)] + given(
            SOFTMAX, **dict({"ranks": 2}, **words)), folder)

    for words, needles in (
            ({"lambda": -1}, ["'--lambda", "(-1)"]),
            ({"number_of_classes": 1}, ["'--number_of_classes", "(1)"]),
            ({"input_model_file": data("softmax.bin")},
             ["'--input_model_file (-m)'", "'--training_file (-t)'"]),
            ({"ranks": 5000}, ["'--ranks'", "(5000)", "%d core" %
                               len(os.sched_getaffinity(0)), "at most"]),
            ({"ranks": 70000}, ["'--ranks'", "(70000)", "1 to 65536"]),
            ({"topology": "star"}, ["'--topology", "(star)"])):
        result = result_of(**words)
        message = plain(result.err)
        expect(result.status == 1 and message.count("[FATAL]") == 1 and
               all(needle in message for needle in needles),
               "one message with %s" % needles, result)
        expect(not os.path.exists(os.path.join(folder, "started")),
               "that mpirun is not started", result)
    # Warnings are the ranks': they are not there twice.
    result = result_of(output_model_file=None)
    expect(os.path.exists(os.path.join(folder, "started")) and
           "[WARN ]" not in plain(result.err), "that mpirun is started, and "
           "nothing said before", result)
    expect(result.status == 9, "the status of mpirun", result)


case("before_ranks", "what needs no data is checked before ranks are started",
     before_ranks, light=True)


def narrow(folder):
    words = training(SOFTMAX, epochs=5) + ["--output_model_file", "model.bin",
                                      "--progress"]
    for columns, pattern in (
            (100, PROGRESS),
            (60, re.compile(r"epoch 5/5  loss \d+\.\d+  \d+ gradients/s  "
                            r"\d+:\d\d left")),
            (40, re.compile(r"epoch 5/5  loss \d+\.\d+  \d+:\d\d left")),
            (24, re.compile(r"epoch 5/5  \d+:\d\d left")),
            (12, re.compile(r"epoch 5/5"))):
        for command in ([our(SOFTMAX)] + words,
                        [our(SOFTMAX)] + words + ["--ranks", 2],
                        mpi(2) + [our(SOFTMAX)] + words,
                        ["env", "COLUMNS=%d" % columns, our(SOFTMAX)] + words):
            shown = on_terminal(command, folder, columns=0 if command[0] ==
                                "env" else columns)
            # There may be warnings as well.  They go to standard output, as
            # mlpack's do, and mpiexec may pass them on before the end of the
            # line of progress, which goes to standard error.
            lines = [line for line in re.split(r"[\r\n]+|\[WARN \]",
                                               plain(shown.err))
                     if line.startswith("epoch")]
            expect(shown.status == 0 and lines and
                   max(map(len, lines)) < columns,
                   "lines of less than %d characters" % columns, shown)
            expect(pattern.fullmatch(lines[-1].rstrip()), "a last line %s" %
                   pattern.pattern, shown)
    return lines[-1]


case("progress/narrow", "the line of progress fits the terminal", narrow)


class Terminal:
    """A shell with job control on a terminal of its own, as users have it."""

    def __init__(self, folder):
        self.master, slave = pty.openpty()
        self.text = ""
        self.shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "--noediting", "-i"], cwd=folder,
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env=dict(os.environ, PS1="", PS2="", HISTFILE=""),
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern, seconds=30):
        """Wait for some text, and take all up to its end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.text)
            if found:
                before = self.text[:found.end()]
                self.text = self.text[found.end():]
                return before
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.master, 65536).decode(
                        errors="replace")
                except OSError:
                    break
        raise Failed("  expected: '%s' on the terminal, not '%s'" %
                     (pattern, self.text[-500:]))

    def close(self):
        if self.shell.poll() is None:
            end_job(self.shell)
        os.close(self.master)


def states(pid):
    """The states of all programs of ours below a process."""
    table = processes()
    found = []
    for number in descendants(pid):
        try:
            mine = os.readlink("/proc/%d/exe" % number) == \
                os.path.realpath(our(SOFTMAX))
        except OSError:
            continue
        if mine and number in table:
            found.append(table[number][2])
    return found


def job_control(folder):
    """Ctrl-Z, fg, Ctrl-C."""
    for ranks in (1, 2):
        terminal = Terminal(folder)
        try:
            terminal.type(" ".join(str(word) for word in [our(SOFTMAX)] + given(
                SOFTMAX, epochs=1000000, tolerance=-1, trace_file=None,
                progress=True, ranks=ranks)) + "\n")
            terminal.expect(r"loss \d")
            terminal.type("\x1a")
            terminal.expect("Stopped")
            # One more process has started those of several ranks.
            count = 1 if ranks == 1 else ranks + 1
            stopped = await_event(lambda: states(terminal.shell.pid) ==
                                  ["T"] * count, 10)
            expect(stopped, "%d programs that stand still, not %s" %
                   (count, states(terminal.shell.pid)))
            terminal.text = ""
            terminal.type("fg\n")
            terminal.expect(r"loss \d")
            terminal.expect(r"loss \d")
            expect("T" not in states(terminal.shell.pid), "that all go on")
            terminal.type("\x03")
            terminal.expect(r"\r\ndasgd: ")
            last = terminal.expect(r"\r\n")
            expect(last == "ended by signal 2, Interrupt\r\n",
                   "one line on the signal, not %r" % last)
            terminal.type("echo status=$?\n")
            rest = terminal.expect(r"status=\d+\r\n")
            expect(re.fullmatch(r"\s*(echo status=\$\?\s*)?status=130\r\n",
                                rest), "status 130, and not a word more "
                   "than one line, not %r" % rest)
            expect(await_event(lambda: not states(terminal.shell.pid), 10),
                   "that all have ended")
        finally:
            terminal.close()
    expect(tree(folder) == [], "no file, not %s" % tree(folder))
    # With a checkpoint, it is as SIGTERM.
    for ranks in (1, 2):
        terminal = Terminal(folder)
        try:
            terminal.type(" ".join(str(word) for word in checkpointed(
                1000000, "--progress", "--ranks", ranks)) + "\n")
            terminal.expect(r"loss \d")
            terminal.type("\x03")
            terminal.expect(r"\r\ndasgd: ")
            last = terminal.expect(r"\r\n")
            expect("ended by signal 2, Interrupt; the last checkpoint is "
                   "state.checkpoint" in re.sub(r" after \d+ points", "", last),
                   "where to go on, not %r" % last)
            terminal.type("echo status=$?\n")
            terminal.expect(r"status=75\r\n")
        finally:
            terminal.close()


case("job_control", "Ctrl-Z stops all ranks, fg goes on with them, Ctrl-C ends "
     "them with one line", job_control)


def one_line_on_death(folder):
    for number, words in ((signal.SIGKILL, "signal 9, Killed"),
                          (signal.SIGSEGV, "signal 11, Segmentation fault"),
                          (signal.SIGTERM, "signal 15, Terminated")):
        command = [str(word) for word in [our(SOFTMAX)] + given(
            SOFTMAX, epochs=1000000, tolerance=-1, ranks=2)]
        begin = time.monotonic()
        process = start(command, folder, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
        try:
            def at_work():
                victim = worker_of(process.pid, 1)
                return victim and processes().get(victim, (0, 0, "", 0))[3] \
                    > 0.5 and victim
            victim = await_event(at_work, 30)
            expect(victim, "a rank 1 at work")
            job = descendants(process.pid)
            os.kill(victim, number)
            out, err = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                end_job(process)
        result = Result(command, process.returncode, out.decode(),
                        err.decode(), time.monotonic() - begin)
        expect(result.status == 128 + number, "status %d" % (128 + number),
               result)
        # Open MPI prints where a program was that crashed.
        lines = result.err.splitlines()
        expect(lines[-1] == "dasgd: rank 1 died (%s), and the job with it" %
               words and (len(lines) == 1 or number == signal.SIGSEGV) and
               "mpirun" not in result.err and "mpiexec" not in result.err,
               "one line on it", result)
        await_event(lambda: not alive(job), 10)
        expect(not alive(job) and tree(folder) == [], "nothing left", result)


case("one_line_on_death", "which rank died, and of what, is one line",
     one_line_on_death)


def parts(folder):
    """What is half written goes when the program is told to end."""
    old = b"a model from before"
    path = write(os.path.join(folder, "model.json"), old)
    # So large that it takes a while to write.
    words = given(SOFTMAX, epochs=None, max_iterations=1, batch_size=1,
                  number_of_classes=8000, output_model_file="model.json",
                  test_file=None, predictions_file=None, report_file=None,
                  trace_file=None)

    def half():
        return [name for name in os.listdir(folder) if ".part." in name and
                os.path.getsize(os.path.join(folder, name)) > 0]

    for ranks, number in ((1, signal.SIGTERM), (1, signal.SIGINT),
                          (1, signal.SIGHUP), (2, signal.SIGTERM)):
        command = [str(word) for word in [our(SOFTMAX)] + words +
                   ["--ranks", ranks]]
        seen = False
        for _ in range(3):
            process = start(command, folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
            try:
                try:
                    seen = await_event(lambda: half() or
                                       process.poll() is not None, 60) and \
                        process.poll() is None
                except OSError:
                    seen = False  # It has become the model in between.
                writer = process.pid if ranks == 1 else \
                    worker_of(process.pid, 0)
                if seen and writer:
                    os.kill(writer, number)
                out, err = process.communicate(timeout=30)
            finally:
                if process.poll() is None:
                    end_job(process)
            if content(path) == old:
                break
            write(path, old)  # Too late: once more.
        result = Result(command, process.returncode, out.decode(),
                        err.decode(), 0)
        expect(seen and content(path) == old, "a signal while the model is "
               "written", result)
        expect(result.status == (-number if ranks == 1 else 128 + number),
               "to be ended by the signal", result)
        expect(await_event(lambda: tree(folder) == ["model.json"], 5),
               "nothing but the old model, not %s" % tree(folder), result)
        expect(result.err.count("\n") == 1 and "signal %d," % number in
               result.err, "one line on it", result)


case("parts", "a program that is told to end leaves nothing half written",
     parts)


def modes(folder):
    wanted = {"model.bin": 0o600, "predictions.csv": 0o640,
              "report.json": 0o664, "trace.json": 0o604}
    for ranks in (1, 2):
        for name, mode in wanted.items():
            os.chmod(write(os.path.join(folder, name), "old"), mode)
        result = well([our(SOFTMAX)] + given(SOFTMAX, ranks=ranks), folder)
        found = {name: os.stat(os.path.join(folder, name)).st_mode & 0o7777
                 for name in wanted}
        expect(found == wanted and b"old" not in [content(folder, name)
               for name in wanted], "new files with modes as before, not %s" %
               {name: oct(mode) for name, mode in found.items()}, result)


case("modes", "an output that is replaced keeps its permissions", modes,
     light=True)


def not_written(folder):
    """What cannot be written is told with the reason; the rest is there."""
    for ranks in (1, 2):
        for words, missing in (
                ({"report_file": "/dev/full"}, ["'--report_file'"]),
                ({"trace_file": "/dev/full"}, ["'--trace_file'"]),
                ({"output_model_file": "full.bin"},
                 ["'--output_model_file (-M)'"])):
            clear(folder)
            os.symlink("/dev/full", os.path.join(folder, "full.bin"))
            result = run([our(SOFTMAX)] + given(SOFTMAX, ranks=ranks, **words),
                         folder)
            message = plain(result.err)
            expect(result.status == 1, "status 1", result)
            expect(message.count("\n") == 1 and message.startswith("[FATAL] ")
                   and all("given with %s, cannot be written: No space left on "
                           "device;" % option in message for option in missing)
                   and "the other outputs are complete" in message,
                   "one message on %s" % missing, result)
            there = {"full.bin", "model.bin", "predictions.csv", "report.json",
                     "trace.json"}
            for option in words:
                there.discard({"report_file": "report.json", "trace_file":
                               "trace.json", "output_model_file":
                               "model.bin"}[option])
            expect(set(tree(folder)) == there, "the others, not %s" %
                   tree(folder), result)


case("not_written", "an output without room is told with its option and the "
     "reason, costs no other, and gives status 1", not_written, light=True)


def limited(limit, *command):
    """A command under a limit of the shell's ulimit."""
    return ["sh", "-c", "ulimit %s && exec \"$@\"" % limit, "sh"] + \
        [str(word) for word in command]


def too_large(folder):
    """Matrices are written by others, who do not tell why they fail."""
    for name in ("predictions_file", "probabilities_file"):
        for ending in ("csv", "bin"):
            # Of 512 or 1024 bytes: the shell decides.
            result = run(limited("-f 1", our(SOFTMAX), *applying(
                SOFTMAX, data("softmax.bin"), test_file=data("train.csv"),
                **dict({"predictions_file": None}, **{
                    name: "out." + ending}))), folder)
            message = plain(result.err)
            expect(result.status == 1 and message.count("[FATAL]") == 1 and
                   "'--%s (-" % name in message and
                   "cannot be written: File too large;" in message,
                   "one message that the file is too large", result)
            expect(tree(folder) == [], "no file, not %s" % tree(folder),
                   result)


case("too_large", "a matrix that cannot be written to its end is told with "
     "the reason", too_large, light=True)


def no_memory(folder):
    for ranks in (1, 2):
        command = limited("-v 4000000", "env", "OMP_NUM_THREADS=1",
                          "OPENBLAS_NUM_THREADS=1", our(SOFTMAX), *given(
            SOFTMAX, number_of_classes=100000000, ranks=ranks))
        result = run(command, folder)
        message = plain(result.err)
        expect(result.status == 1 and message.count("[FATAL]") == 1 and
               "out of memory; give fewer ranks or less data" in message and
               "bad_alloc" not in message, "one message that memory is short",
               result)
        expect(len([line for line in message.splitlines() if line.strip()]) ==
               1 and tree(folder) == [], "no more than that", result)


def no_memory_on_one(folder):
    """The others wait for that rank, and must not do so for ever."""
    stub = write(os.path.join(folder, "mpirun"), "#!/bin/sh\nshift 2\n"
                 "exec '%s' -n 1 \"$@\" : -n 1 sh -c 'ulimit -v 800000 && "
                 "exec \"$@\"' sh \"$@\"\n" % Setting.mpiexec)
    os.chmod(stub, 0o755)
    # Threads of their own need memory, too: as much as there are cores.
    result = run(["env", "DASGD_MPIRUN=" + stub, "OMP_NUM_THREADS=1",
                  "OPENBLAS_NUM_THREADS=1", our(SOFTMAX)] + given(
        SOFTMAX, number_of_classes=1500000, test_file=None,
        predictions_file=None, ranks=2), folder)
    expect(result.status == 1 and plain(result.err) == "[FATAL] rank 1: out of "
           "memory; give fewer ranks or less data\n", "status 1 and one line "
           "that names the rank", result)
    expect(tree(folder) == ["mpirun"], "no file, not %s" % tree(folder), result)


case("no_memory_on_one", "what is wrong with one rank alone ends all, with one "
     "line", no_memory_on_one)
case("no_memory", "a lack of memory is told in words, once", no_memory,
     light=True)


def history(folder):
    """dasgd_history: what it prints, and its statuses."""
    tool = our("dasgd_history")
    good = write(os.path.join(folder, "run.history"),
                 "dasgd-history 1\nranks 1\nrank 0\nend\n")
    write(os.path.join(folder, "cut.history"), content(good)[:-4])
    table = well([tool, "run.history"], folder)
    expect(table.out.startswith("1 rank, 0 gradients") and table.err == "",
           "a table", table)
    for option in ("--version", "-V"):
        shown = well([tool, option], folder)
        expect(re.fullmatch(r"dasgd_history: part of dasgd \d+\.\d+\.\d+\.\n",
                            shown.out), "the version", shown)
    shown = well([tool, "--help"], folder)
    expect("--version" in shown.out and shown.err == "", "help", shown)
    for status, words, needle in (
            (1, ["absent.history"], "No such file"),
            (1, ["."], "Is a directory"),
            (1, ["cut.history"], "cut.history"),
            (1, [data("train.csv")], "not a history"),
            (1, ["run.history", "--trace", "/dev/full"], "No space left"),
            (1, ["run.history", "--trace", "nowhere/t.json"], "No such file"),
            (1, ["run.history", "--trace", "run.history"], "choose another"),
            (2, [], "FILE is required"),
            (2, ["--bogus", "run.history"], "--bogus"),
            (2, ["run.history", "cut.history"], "cut.history"),
            (2, ["run.history", "--trace"], "--trace")):
        result = run([tool] + words, folder)
        expect(result.status == status, "status %d" % status, result)
        expect(result.out == "" and result.err.count("\n") == 1 and
               result.err.startswith("dasgd_history: ") and
               needle in result.err, "one line with '%s'" % needle, result)
        expect(tree(folder) == ["cut.history", "run.history"],
               "no file, not %s" % tree(folder), result)
    page = os.path.join(HERE, "../../bindings/dasgd_history.1")
    text = content(page).decode()
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS",
                    "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        expect(".SH %s\n" % section in text, ".SH %s in %s" % (section, page))
    for option in re.findall(r"(?<![\w-])--(\w+)", shown.out):
        expect("\\-\\-" + option in text, "--%s in %s" % (option, page))
    for status in "012":
        expect(".TP\n.B %s\n" % status in text, "status %s in %s" % (status,
                                                                    page))
    if shutil.which("man"):
        result = run(["env", "LC_ALL=C.UTF-8", "MANROFFSEQ=", "MANWIDTH=80",
                      "man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8",
                      "-Z", page], folder)
        result.out = ""
        expect(result.status == 0 and result.err == "", "no warning", result)


case("history", "dasgd_history tells its version, and by its status what was "
     "wrong; its manual page says so", history, light=True)
