"""A training over MPI that a script starts, watches and ends."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

# For Open MPI, if run by hand; others do not mind.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none"}


class Failure(Exception):
    pass


def expect(condition, text, more=""):
    if not condition:
        raise Failure(f"expected {text}" + (f": {more}" if more != "" else ""))


@contextlib.contextmanager
def segments():
    """What jobs need in their environment to leave nothing in /dev/shm.

    Open MPI leaves segments of ranks that were killed: these go with a folder.
    """
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="dasgd_chaos_",
                                     dir=shared) as folder:
        yield {f"OMPI_MCA_btl_{name}_backing_directory": folder
               for name in ("vader", "sm")}


def until(condition, seconds):
    """Look until it holds; False if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def stat(pid):
    """State and session of a process, or None."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[3])


def alive(pid):
    """One that has ended, and whose parent has not asked yet, is gone."""
    found = stat(pid)
    return found is not None and found[0] not in "ZX"


class Job:
    """mpiexec and the ranks that it starts, in a session of their own.

    Its command line has to name the folder, by which its processes are known.
    """

    def __init__(self, mpiexec, ranks, program, words, folder,
                 environment=None, on_line=None):
        self.program = os.path.realpath(program)
        self.folder = str(folder)
        self.ranks = ranks
        self.command = [mpiexec, "-n", str(ranks), self.program,
                        *(str(word) for word in words)]
        self.pids = {}
        self.lines = []
        self.result = None
        self.on_line = on_line
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            self.command, text=True, errors="replace", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**ENVIRONMENT, **os.environ, **(environment or {})})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            line = line.rstrip("\n")
            self.lines.append(line)
            found = re.fullmatch(r"running (\d+) (\d+)\r?", line)
            if found:
                self.pids[int(found.group(1))] = int(found.group(2))
            elif line.startswith("result "):
                self.result = json.loads(line[len("result "):])
            if self.on_line:
                self.on_line(line)

    def under_way(self):
        return len(self.pids) == self.ranks

    def ended(self):
        return self.process.poll() is not None

    def ours(self, pid):
        """Is it still that rank, rather than somebody who got its number?"""
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            return alive(pid) and os.readlink(f"/proc/{pid}/exe") == \
                self.program and self.folder.encode() in words
        except OSError:
            return False

    def signal(self, rank, number):
        """Returns whether there was somebody to get it."""
        pid = self.pids[rank]
        if not self.ours(pid):
            return False
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        return True

    def left(self):
        """Processes of this job that are not gone."""
        found = {pid for pid in self.pids.values() if self.ours(pid)}
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            pid = int(path.name)
            if pid in found or pid == os.getpid() or not alive(pid):
                continue
            try:
                words = (path / "cmdline").read_bytes()
            except OSError:
                continue
            about = stat(pid)
            if about and about[1] == self.process.pid or \
                    self.program.encode() in words and \
                    self.folder.encode() in words:
                found.add(pid)
        return found

    def gone(self):
        # The cheap question first: the other one looks at all processes.
        return self.ended() and \
            not any(alive(pid) for pid in self.pids.values()) and \
            not self.left()

    def close(self):
        """All lines; the job is over."""
        self.reader.join(10)
        self.process.stdout.close()

    def end(self):
        """Whatever happened, nothing of it stays behind."""
        for _ in range(100):
            left = self.left()
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.poll()
            time.sleep(0.05)
        self.process.poll()

    def output(self):
        return "\n".join(["$ " + " ".join(self.command), *self.lines])
