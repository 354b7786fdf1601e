"""Cases of ranks that are killed, checkpoints, and jobs that change."""

import json
import os
import re
import signal
import subprocess
import time

from .harness import (
    FFN, Failed, Result, SOFTMAX, TRAIN, alive, await_event, case, content,
    data, descendants, end_job, expect, given, labels_of, mpi, numbers, our,
    plain, processes, run, start, text_of, training, tree, well, write)
from .mistakes import mistake

#
# Ranks that are killed.
#

def killed_case(name, promise, by_mpiexec, victim):
    """
    victim: the rank that is killed, or None to ask the launcher to end.
    """
    ranks = 3

    def action(folder):
        old = b"a model from before"
        write(os.path.join(folder, "model.bin"), old)
        command = (mpi(ranks) if by_mpiexec else []) + [our(SOFTMAX)] + \
            given(SOFTMAX, epochs=1000000, tolerance=-1, trace_file=None) + \
            ([] if by_mpiexec else ["--ranks", ranks])
        command = [str(word) for word in command]
        begin = time.monotonic()
        # To files: a pipe would be held open by whoever is left.
        with open(os.path.join(folder, "out"), "wb") as out, \
                open(os.path.join(folder, "err"), "wb") as err:
            process = start(command, folder, stdout=out, stderr=err)
        known = tree(folder)

        def result(status):
            return Result(command, status, content(folder, "out").decode(),
                          content(folder, "err").decode(),
                          time.monotonic() - begin)

        try:
            busy = await_event(lambda: workers(process.pid), 30)
            expect(busy and process.poll() is None, "three ranks at work",
                   result(process.poll()))
            job = descendants(process.pid)
            if victim is None:
                process.terminate()
            else:
                os.kill(busy[victim], signal.SIGKILL)
            try:
                status = process.wait(30)
            except subprocess.TimeoutExpired:
                raise Failed("  expected: an end within 30 s\n" +
                             result("none").text())
            expect(status != 0, "a status other than 0", result(status))
            # Whoever is reaped by another parent needs a moment.
            await_event(lambda: not alive(job), 10)
            expect(not alive(job), "no process of the job left, not %s" %
                   alive(job), result(status))
        finally:
            if process.poll() is None:
                end_job(process)
        expect(tree(folder) == known, "no new file, not %s" %
               sorted(set(tree(folder)) - set(known)), result(status))
        expect(content(folder, "model.bin") == old, "the old model",
               result(status))
        return "status %s" % status

    def workers(pid):
        """{rank: process}, if all have computed for a while."""
        table = processes()
        found = {}
        for number in descendants(pid):
            try:
                if os.readlink("/proc/%d/exe" % number) != \
                        os.path.realpath(our(SOFTMAX)):
                    continue
                environment = content("/proc/%d/environ" % number).decode(
                    errors="replace").split("\0")
            except OSError:
                continue
            for variable in environment:
                match = re.fullmatch(
                    r"(?:OMPI_COMM_WORLD_RANK|PMI_RANK|PMI_ID)=(\d+)",
                    variable)
                if match and number in table and table[number][3] > 0.5:
                    found[int(match.group(1))] = number
        return found if len(found) == ranks else None

    case("killed/" + name, promise, action)


killed_case("rank_2", "when a rank dies, the job ends and leaves what was "
            "there", False, 2)
killed_case("rank_0/mpiexec", "so it does when the rank dies that writes",
            True, 0)
killed_case("launcher", "a job that is told to end does so and leaves what was "
            "there", False, None)


#
# Checkpoints.
#

def checkpointed(epochs, *more):
    return [our(SOFTMAX)] + training(SOFTMAX, epochs) + [
        "--seed", 3, "--output_model_file", "model.bin", "--report_file",
        "report.json", "--checkpoint_file", "state.checkpoint",
        "--checkpoint_every", "0.05"] + list(more)


def worker_of(pid, rank):
    """The process of a rank below this one, or None."""
    for number in descendants(pid):
        try:
            if os.readlink("/proc/%d/exe" % number) != \
                    os.path.realpath(our(SOFTMAX)):
                continue
            environment = content("/proc/%d/environ" % number).decode(
                errors="replace").split("\0")
            if any("%s=%d" % (name, rank) in environment for name in
                   ("OMPI_COMM_WORLD_RANK", "PMI_RANK")):
                return number
        except OSError:
            continue
    return None


def resumed(folder):
    """What is done once is not done again."""
    well(checkpointed(2), folder)
    first = json.loads(content(folder, "report.json"))
    expect(not first["resumed"] and first["checkpoints"] >= 1,
           "a first training with checkpoints")
    model = content(folder, "model.bin")
    again = well(checkpointed(2), folder)
    expect("resuming from checkpoint state.checkpoint after %d points; "
           "training is already complete; raise --epochs, or use --restart" %
           (2 * TRAIN) in again.err,
           "to be told that nothing is left to do", again)
    expect(content(folder, "model.bin") == model, "the same model", again)
    longer = well(checkpointed(3, "--ranks", 2), folder)
    report = json.loads(content(folder, "report.json"))
    expect(report["resumed"] and report["ranks_before"] == 1 and
           report["points_before"] == 2 * TRAIN and
           report["points"] == 3 * TRAIN, "a report that counts on", longer)
    anew = well(checkpointed(1, "--restart"), folder)
    report = json.loads(content(folder, "report.json"))
    expect(not report["resumed"] and report["points"] == TRAIN,
           "a training that begins anew", anew)
    expect(sorted(os.listdir(folder)) == ["model.bin", "report.json",
                                          "state.checkpoint"],
           "no other file than these, not %s" % os.listdir(folder), anew)


def tied(folder):
    """A checkpoint is of one job."""
    well(checkpointed(2), folder)
    model = content(folder, "model.bin")
    files = tree(folder)
    changed = list(numbers(labels_of(SOFTMAX)))
    changed[TRAIN // 3] = (changed[TRAIN // 3] + 1) % 10
    write(os.path.join(folder, "labels.csv"),
          text_of([int(x)] for x in changed))
    files = tree(folder)
    for words, name, values in (
            (["--step_size", 0.5], "--step_size", ("0.002", "0.5")),
            (["--update", "momentum"], "--update", ("'sgd'", "'momentum'")),
            (["--batch_size", 16], "--batch_size", ("was 1,", "16")),
            (["--lambda", 0.5], "--lambda", ("0.01", "0.5")),
            (["--seed", 4], "--seed", ("3", "4")),
            (["--no_intercept"], "", ("",)),
            (["--labels_file", "labels.csv"], "check sum of the labels",
             ("",))):
        command = checkpointed(2)
        for word in words[::2]:
            if word in command:
                at = command.index(word)
                del command[at:at + 2]
        result = run([str(word) for word in command + words], folder)
        text = plain(result.err)
        expect(result.status == 1 and "cannot resume from checkpoint "
               "state.checkpoint: it is of" in text and name in text and
               all(value in text for value in values) and
               "use --restart to start over" in text,
               "a refusal that names %s" % name, result)
        expect(content(folder, "model.bin") == model and
               tree(folder) == files, "the model of before", result)
    # What is no checkpoint is nobody's to replace.
    write(os.path.join(folder, "state.checkpoint"), "precious\n")
    result = run([str(word) for word in checkpointed(1, "--restart")], folder)
    expect(result.status == 1 and "is not a checkpoint, and is not replaced" in
           result.err and content(folder, "state.checkpoint") == b"precious\n",
           "a file that is not replaced", result)


def diverged_checkpoint(folder):
    """What was good before is kept, and the advice is one that works."""
    well(checkpointed(1), folder)
    good = content(folder, "state.checkpoint")
    os.rename(os.path.join(folder, "state.checkpoint"),
              os.path.join(folder, "kept"))
    command = [our(FFN)] + given(FFN, step_size="1e300",
                                 checkpoint_file="state.checkpoint",
                                 checkpoint_every=0)
    result = run([str(word) for word in command], folder)
    there = os.path.exists(os.path.join(folder, "state.checkpoint"))
    expect(result.status == 1 and "try --step_size " in result.err and
           (not there or " and --restart; 'state.checkpoint' keeps the last "
            "state" in plain(result.err)), "advice with --restart", result)
    expect(good == content(folder, "kept"), "the other file as it was", result)


def two_jobs(folder):
    """Two jobs on one checkpoint: the second is refused."""
    command = [str(word) for word in checkpointed(100000)]
    first = start(command, folder, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE)
    try:
        expect(await_event(lambda: os.path.exists(os.path.join(
            folder, "state.checkpoint")), 30), "a checkpoint within 30 s")
        second = run(command, folder)
        expect(second.status == 1 and "is in use by process %d on " % first.pid
               in plain(second.err) and "name another file" in second.err,
               "a refusal that names the process", second)
    finally:
        first.kill()
        first.communicate()
    # The lock of a process that was killed is nobody's.
    third = run([str(word) for word in checkpointed(1)], folder)
    expect(third.status == 0, "a training that resumes it", third)


case("checkpoint/tied", "a checkpoint is resumed only by the job that it is of",
     tied, light=True)
case("checkpoint/diverged", "a divergence leaves what was good, and says what "
     "to do", diverged_checkpoint, light=True)
case("checkpoint/two_jobs", "two jobs do not share a checkpoint", two_jobs,
     light=True)
case("checkpoint/resumed", "a training goes on from its checkpoint, at any "
     "number of ranks", resumed, light=True)


def killed_when_saved(command, folder):
    """Run a job, and kill its rank 1 as soon as there is a checkpoint: what the
    job did, and the processes that it had then."""
    command = [str(word) for word in command]
    process = start(command, folder, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE)
    path = os.path.join(folder, "state.checkpoint")
    begin = time.monotonic()
    try:
        number = await_event(lambda: os.path.exists(path) and
                             worker_of(process.pid, 1), 30)
        expect(number, "a rank 1 and a checkpoint within 30 s")
        job = descendants(process.pid)
        os.kill(number, signal.SIGKILL)
        out, err = process.communicate(timeout=90)
    finally:
        if process.poll() is None:
            end_job(process)
    return Result(command, process.returncode, out.decode(), err.decode(),
                  time.monotonic() - begin), job


def restarted(folder):
    result, job = killed_when_saved(
        checkpointed(400, "--ranks", 2, "--restarts", 1), folder)
    expect(result.status == 0, "that it is started again, and ends well",
           result)
    lines = [line for line in result.err.splitlines() if "died" in line]
    expect(len(lines) == 1 and re.fullmatch(
        r"dasgd: rank 1 died \(signal 9, Killed\), and the job with it; the "
        r"last checkpoint is state.checkpoint, \d+ s old; starting again "
        r"from it \(1 of 1\)", lines[0]), "one line on it", result)
    expect("noticed that process" not in result.err, "none of mpirun's own",
           result)
    report = json.loads(content(folder, "report.json"))
    expect(report["resumed"] and report["points"] == 400 * TRAIN,
           "a report of all points", result)
    expect(not alive(job), "no process left of the first job", result)
    expect(sorted(os.listdir(folder)) == ["model.bin", "report.json",
                                          "state.checkpoint"],
           "nothing half-written, not %s" % os.listdir(folder), result)


case("checkpoint/restarted", "a rank that dies costs no more than the time "
     "since the last checkpoint", restarted)


def not_restarted(folder):
    result, job = killed_when_saved(mpi(2) + checkpointed(4000), folder)
    expect(result.status != 0, "a status other than 0", result)
    expect("the last checkpoint is state.checkpoint" in result.err,
           "the place of the checkpoint", result)
    await_event(lambda: not alive(job), 10)
    expect(not alive(job), "no process left", result)


case("checkpoint/mpiexec", "where all ranks end, the last word is where the "
     "checkpoint is", not_restarted)

def interrupted(folder):
    """SIGTERM and SIGUSR1, to the program or to one of its ranks."""
    path = os.path.join(folder, "state.checkpoint")
    for ranks, launcher, whom, number in (
            (1, [], "program", signal.SIGTERM),
            (2, [], "program", signal.SIGTERM),
            (2, [], 1, signal.SIGUSR1),
            (2, mpi(2), 1, signal.SIGTERM)):
        command = launcher + checkpointed(1000000) + (
            [] if launcher or ranks == 1 else ["--ranks", ranks])
        command = [str(word) for word in command]
        process = start(command, folder, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
        begin = time.monotonic()
        try:
            victim = await_event(lambda: os.path.exists(path) and (
                process.pid if whom == "program" else
                worker_of(process.pid, whom)), 30)
            expect(victim, "a process and a checkpoint within 30 s")
            job = descendants(process.pid)
            sent = time.monotonic()
            os.kill(victim, number)
            out, err = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                end_job(process)
        result = Result(command, process.returncode, out.decode(),
                        err.decode(), time.monotonic() - begin)
        expect(result.status == 75, "status 75", result)
        lines = [line for line in result.err.splitlines()
                 if line.startswith("dasgd: ended by signal %d, " % number)]
        expect(len(lines) == 1 and "the last checkpoint is state.checkpoint" in
               lines[0] and lines[0].endswith("; run the same command to "
                                              "resume"),
               "one line on it", result)
        expect(launcher or len(result.err.splitlines()) == 1, "nothing else",
               result)
        await_event(lambda: not alive(job), 10)
        expect(not alive(job), "no process left", result)
        expect(os.listdir(folder) == ["state.checkpoint"],
               "nothing but the checkpoint, not %s" % os.listdir(folder),
               result)
        # It goes on to more points than it had.
        again = run(checkpointed(1), folder)
        expect(again.status == 0 and "resuming from checkpoint" in again.err,
               "a training that knows of it", again)
        report = json.loads(content(folder, "report.json"))
        expect(report["resumed"] and report["points"] > 0,
               "points that were counted", again)
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))


case("checkpoint/interrupted", "a signal ends a training such that it can be "
     "resumed", interrupted)


def elastic(folder):
    """More and fewer ranks while it trains, none of whose work is lost."""
    path = os.path.join(folder, "ranks")
    write(path, "2\n")
    command = [str(word) for word in checkpointed(
        600, "--elastic", "--ranks_file", "ranks", "--min_ranks", 1,
        "--max_ranks", 3)]
    with open(os.path.join(folder, "said"), "wb") as said:
        process = start(command, folder, stdout=subprocess.PIPE, stderr=said)
    begin = time.monotonic()
    def ranks():
        return sum(worker_of(process.pid, rank) is not None
                   for rank in range(4))
    def checkpoint():
        try:
            return os.stat(os.path.join(folder,
                                        "state.checkpoint")).st_mtime_ns
        except OSError:
            return 0
    try:
        for number in (2, 3, 1):
            write(path + ".new", "%d\n" % number)
            os.rename(path + ".new", path)
            expect(await_event(lambda: ranks() == number, 30),
                   "%d ranks, not %d" % (number, ranks()))
            # They train: there is another checkpoint.
            before = checkpoint()
            expect(await_event(lambda: checkpoint() > before, 30),
                   "a new checkpoint of %d ranks" % number)
        # With none it waits.
        write(path + ".new", "0\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: ranks() == 0 and b"waiting for more" in
                           content(folder, "said"), 30), "no rank")
        write(path + ".new", "1\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: ranks() == 1, 30), "1 rank again")
        before = checkpoint()
        expect(await_event(lambda: checkpoint() > before, 30),
               "that it goes on after a pause")
        # What cannot be read changes nothing; too many are not started.
        write(path + ".new", "many\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: b"many" in content(folder, "said"), 30),
               "a word on what cannot be read")
        before = checkpoint()
        expect(await_event(lambda: checkpoint() > before, 30),
               "that one rank goes on")
        write(path + ".new", "200\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: ranks() == 3, 30), "3 ranks")
        before = checkpoint()
        expect(await_event(lambda: checkpoint() > before, 30),
               "that three ranks go on")
        os.kill(await_event(lambda: worker_of(process.pid, 2), 10),
                signal.SIGKILL)
        out, _ = process.communicate(timeout=240)
    finally:
        if process.poll() is None:
            end_job(process)
    result = Result(command, process.returncode, out.decode(),
                    content(folder, "said").decode(),
                    time.monotonic() - begin)
    expect(result.status == 0, "a good end", result)
    said = [line for line in result.err.splitlines()
            if line.startswith("dasgd: ")]
    expect([line for line in said if "now" in line] == [
        "dasgd: now %s, as ranks says; starting again from state.checkpoint" %
        text for text in ("3 ranks", "1 rank", "3 ranks")] and
        [line for line in said if "many" in line] == [
            "dasgd: ranks: it holds 'many' in place of a number of ranks; it "
            "stays at 1 rank"] and
        sum("rank 2 died (signal 9, Killed)" in line for line in said) == 1 and
        sum("0 ranks, fewer than --min_ranks 1; waiting" in line
            for line in said) == 1 and
        len(said) == 6, "a line on each change", result)
    report = json.loads(content(folder, "report.json"))
    expect(report["points"] == 600 * TRAIN and report["resumed"],
           "every point of every epoch", result)


case("elastic/ranks_file", "a training goes on with more and fewer ranks",
     elastic)


def ranks_command(folder):
    """A command says how many ranks there are."""
    path = os.path.join(folder, "ranks")
    saved = os.path.join(folder, "state.checkpoint")
    write(path, "localhost slots=2\n")
    command = [str(word) for word in checkpointed(
        100000, "--elastic", "--ranks_command", "cat ranks")]
    with open(os.path.join(folder, "said"), "wb") as said:
        process = start(command, folder, stdout=subprocess.DEVNULL, stderr=said)
    def ranks():
        return sum(worker_of(process.pid, rank) is not None
                   for rank in range(4))
    try:
        expect(await_event(lambda: ranks() == 2, 30), "two ranks")
        write(path + ".new", "3\n")
        os.rename(path + ".new", path)
        expect(await_event(lambda: ranks() == 3, 30), "three ranks")
        # They train: there is another checkpoint.
        before = os.stat(saved).st_mtime_ns
        expect(await_event(lambda: os.stat(saved).st_mtime_ns > before, 30),
               "a checkpoint of three ranks")
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    finally:
        if process.poll() is None:
            end_job(process)
    result = Result(command, process.returncode, "",
                    content(folder, "said").decode(), 0)
    expect(result.status == 75 and "dasgd: now 3 ranks, as cat ranks says;"
           in result.err, "a change and its reason", result)
    result = run(checkpointed(20, "--elastic", "--ranks_command", "exit 3"),
                 folder)
    expect(result.status == 1 and "'--ranks_command': failed with status 3!" in
           result.err, "the failure of a command", result)


case("elastic/ranks_command", "a command says how many ranks there are",
     ranks_command)


def hostfile(folder):
    write(os.path.join(folder, "hosts"),
          "# this machine\nlocalhost slots=2\n")
    result = run(checkpointed(20, "--hostfile", "hosts"), folder)
    expect(result.status == 0, "a good end", result)
    report = json.loads(content(folder, "report.json"))
    expect(report["ranks"] == 2, "two ranks", result)
    for text, words in (("", "it names no machine"),
                        ("localhost slots=0", "'0' is not a number of ranks"),
                        ("localhost:x", "'x' is not a number of ranks")):
        write(os.path.join(folder, "hosts"), text + "\n")
        result = run(checkpointed(20, "--hostfile", "hosts"), folder)
        expect(result.status == 1 and words in result.err and
               "'--hostfile'" in result.err and
               len(result.err.splitlines()) == 1, "'%s'" % words, result)


case("elastic/hostfile", "machines come from a file", hostfile)


def unreachable(folder):
    """Machines that do not answer are left out."""
    agent = os.path.join(folder, "agent")
    write(agent, "#!/bin/sh\nexit 1\n")
    os.chmod(agent, 0o755)
    write(os.path.join(folder, "hosts"), "lost:3\nlocalhost slots=2\n")
    os.environ["OMPI_MCA_plm_rsh_agent"] = agent
    os.environ["HYDRA_LAUNCHER_EXEC"] = agent
    try:
        result = run(checkpointed(20, "--hostfile", "hosts", "--elastic"),
                     folder)
    finally:
        del os.environ["OMPI_MCA_plm_rsh_agent"]
        del os.environ["HYDRA_LAUNCHER_EXEC"]
    expect(result.status == 0 and result.err == "dasgd: without lost, which "
           "cannot be reached (\"%s lost true\" fails): 2 ranks\n" % agent,
           "the rest", result)
    report = json.loads(content(folder, "report.json"))
    expect(report["ranks"] == 2, "two ranks", result)


case("elastic/unreachable", "machines that cannot be reached are left out",
     unreachable)

mistake("elastic_alone", SOFTMAX,
        lambda: given(SOFTMAX, elastic=True), "'--elastic'", "'--hostfile'",
        "'--ranks_file'")
mistake("ranks_command_and_file", SOFTMAX,
        lambda: given(SOFTMAX, elastic=True, checkpoint_file="c",
                      ranks_file="r", ranks_command="echo 2"),
        "'--ranks_command'", "'--ranks_file'")
mistake("min_ranks_alone", SOFTMAX,
        lambda: given(SOFTMAX, min_ranks=2, ranks=2), "'--min_ranks'",
        "'--elastic'")
mistake("checkpoint_alone", SOFTMAX,
        lambda: given(SOFTMAX, checkpoint_every=5),
        "'--checkpoint_every'", "'--checkpoint_file'")
mistake("restarts_alone", SOFTMAX,
        lambda: given(SOFTMAX, checkpoint_file="c", restarts=5),
        "'--restarts'", "'--ranks'")
mistake("checkpoint_folder", SOFTMAX,
        lambda: given(SOFTMAX, checkpoint_file="no/such/file"),
        "'no/such/file'", "'--checkpoint_file'", "No such file")
mistake("checkpoint_foreign", SOFTMAX,
        lambda: given(SOFTMAX, checkpoint_file=data("void.csv")),
        "cannot resume from checkpoint", "it is not a checkpoint",
        "--restart")


#
