#!/usr/bin/env python3
"""Checks the code blocks of one Markdown document.

A block of C++ that has a main() is compiled, linked to dasgd (and to mlpack if
it includes it) and run by "mpirun -n 2".  A block without main() is compiled as
the body of a function, after tests/docs/prelude.hpp; its #include lines move to
the top.  A block of shell is checked for syntax.

Comments directly before a block change that:

  <!-- run: none -->          do not check this block
  <!-- run: compile -->       a program: compile and link it only
  <!-- run: mpirun -n 4 -->   a program: start it so; arguments may follow after
                              "--"
  <!-- run: fragment -->      a part of a program, though it mentions main()
  <!-- run: sh -->            shell: run it, in a copy of the project that all
                              blocks of the document share, in their order
  <!-- save: train.cpp -->    also put the block into that copy by this name

Blocks in other languages are ignored.  Exits with 1 if any block fails, after
all have been tried.  Needs nothing but Python's standard library.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

FENCE = re.compile(r"^( *)(```+|~~~+)\s*([A-Za-z0-9+_-]*)")
COMMENT = re.compile(r"^\s*<!--\s*(run|save):\s*(.*?)\s*-->\s*$")
CPP = ("cpp", "c++", "cxx")
SHELL = ("sh", "bash", "shell")
RUN_SECONDS = 120
SHELL_SECONDS = 800


class Failure(Exception):
    pass


class Block:
    """A fenced block: its line, language, text, and what comments say of it."""

    def __init__(self, line, language, text, directives):
        self.line = line
        self.language = language
        self.text = text
        self.run = directives.get("run")
        self.save = directives.get("save")


def blocks_of(text):
    """Finds all fenced blocks; an unclosed one is an error."""
    blocks, directives = [], {}
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        comment = COMMENT.match(lines[i])
        fence = FENCE.match(lines[i])
        if comment:
            directives[comment.group(1)] = comment.group(2)
        elif fence:
            indent, mark, language = fence.groups()
            start = i + 1
            i = start
            while i < len(lines) and lines[i].strip() != mark:
                i += 1
            if i == len(lines):
                raise Failure(f"line {start}: this block is never closed")
            # In a list the whole block is indented.
            body = [line[len(indent):] if line.startswith(indent)
                    else line.lstrip() for line in lines[start:i]]
            blocks.append(Block(start, language.lower(),
                                "\n".join(body) + "\n", directives))
            directives = {}
        elif lines[i].strip():
            if directives:
                raise Failure(f"line {i + 1}: the comment before this line "
                              "must stand directly before a code block")
        i += 1
    return blocks


def call(command, cwd, seconds, env=None):
    """Runs a command; raises Failure with its output unless it exits with 0."""
    process = subprocess.Popen(command, cwd=cwd, env=env,
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        # The whole group: mpirun's ranks must not outlive it.
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        raise Failure(f"{shlex.join(command)}\nran for more than {seconds} "
                      f"seconds\n{output}")
    if process.returncode != 0:
        raise Failure(f"{shlex.join(command)}\n"
                      f"exit status {process.returncode}\n{output}")
    return output


class Checker:
    def __init__(self, settings, work):
        self.settings = settings
        self.work = work
        self.copy = None
        self.compiled = set()
        self.source = settings["source"][0]

    def project_copy(self):
        """The copy of the project for shell blocks, made when first needed."""
        if self.copy is None:
            self.copy = os.path.join(self.work, "copy")
            keep = shutil.ignore_patterns(".git", ".deps", "build*",
                                          "__pycache__")
            shutil.copytree(self.source, self.copy, ignore=keep,
                            symlinks=True)
            # A link, so that nothing has to be downloaded again.
            deps = self.settings["deps"][0]
            if os.path.isdir(deps):
                os.symlink(deps, os.path.join(self.copy, ".deps"))
        return self.copy

    def compile(self, name, text, link):
        """Compiles text; returns the program's path if it was linked."""
        mlpack = re.search(r'#\s*include\s*[<"]mlpack', text)
        command = self.settings["compile"] + (
            self.settings["compile_mlpack"] if mlpack else [])
        source = os.path.join(self.work, name + ".cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        program = os.path.join(self.work, name)
        onnx = re.search(r'#\s*include\s*[<"]dasgd_onnx', text)
        if not link or (onnx and not self.settings["link_onnx"]):
            # What is never run needs no code; templates are instantiated.
            call(command + ["-fsyntax-only", source], self.work, RUN_SECONDS)
            return None
        call(self.settings["launcher"] + command +
             ["-c", source, "-o", program + ".o"], self.work, RUN_SECONDS)
        call(command + [program + ".o", "-o", program] +
             (self.settings["link_onnx"] if onnx else []) +
             self.settings["link"], self.work, RUN_SECONDS)
        return program

    def program(self, block, name):
        program = self.compile(name, block.text, link=True)
        run = block.run or "mpirun -n 2"
        if run == "compile" or program is None:
            return "compiled"
        words = shlex.split(run)
        if words[0] not in ("mpirun", "mpiexec"):
            raise Failure(f"'run: {run}' is not known for a program")
        arguments = []
        if "--" in words:
            arguments = words[words.index("--") + 1:]
            words = words[:words.index("--")]
        folder = os.path.join(self.work, name + "-run")
        os.makedirs(folder)
        call(self.settings["mpiexec"] + words[1:] + [program] + arguments,
             folder, RUN_SECONDS)
        return f"ran by '{run}'"

    def is_fragment(self, block):
        return block.language in CPP and block.run != "none" and (
            block.run == "fragment" or (
                block.run is None and
                not re.search(r"\bint\s+main\s*\(", block.text)))

    def fragments(self, blocks, name):
        """Compiles pieces of programs, each as the body of a function."""
        prelude = os.path.join(self.source, "tests", "docs", "prelude.hpp")
        includes, bodies = [], []
        for block in blocks:
            body = []
            for line in block.text.splitlines():
                (includes if re.match(r"\s*#\s*include", line)
                 else body).append(line)
            function = f"void Fragment{block.line}()"
            bodies += ["", function + ";", function, "{"] + body + ["}"]
        # First what the prelude includes and is precompiled, which it can only
        # be there.  A piece that shows how to make something need not use it.
        text = ('#include <ensmallen.hpp>\n'
                '#pragma GCC diagnostic ignored "-Wunused-variable"\n'
                '#pragma GCC diagnostic ignored "-Wunused-but-set-variable"\n'
                + "\n".join(includes + [f'#include "{prelude}"'] + bodies
                            + [""]))
        self.compile(name, text, link=False)

    def compile_fragments(self, blocks):
        """All at once, since the headers take longest; apart only if that
        fails, to say which one is wrong."""
        pieces = [block for block in blocks if self.is_fragment(block)]
        try:
            self.fragments(pieces, "fragments")
            self.compiled = {block.line for block in pieces}
        except Failure:
            self.compiled = set()

    def fragment(self, block, name):
        if block.line not in self.compiled:
            self.fragments([block], name)
        return "compiled as a part of a program"

    def shell(self, block, name):
        script = os.path.join(self.work, name + ".sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(block.text)
        call(["bash", "-n", script], self.work, RUN_SECONDS)
        if block.run is None:
            return "syntax checked"
        if block.run != "sh":
            raise Failure(f"'run: {block.run}' is not known for shell")
        call(["bash", "-euo", "pipefail", script], self.project_copy(),
             SHELL_SECONDS)
        return "ran"

    def check(self, block):
        """Checks one block; says what was done."""
        name = f"line{block.line}"
        if block.save:
            path = os.path.join(self.project_copy(), block.save)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(block.text)
        if block.run == "none":
            return "left out"
        if block.language in SHELL:
            return self.shell(block, name)
        if self.is_fragment(block):
            return self.fragment(block, name)
        return self.program(block, name)


def main():
    parser = argparse.ArgumentParser(
        description="Checks the code blocks of a document.")
    parser.add_argument("--settings", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("document")
    options = parser.parse_args()

    with open(options.settings, encoding="utf-8") as file:
        settings = json.load(file)
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)

    checker = Checker(settings, options.work)
    failures = 0
    try:
        with open(options.document, encoding="utf-8") as file:
            blocks = blocks_of(file.read())
    except Failure as failure:
        print(f"{options.document}: {failure}")
        return 1
    if sum(checker.is_fragment(block) for block in blocks) > 1:
        checker.compile_fragments(blocks)
    for block in blocks:
        if block.language not in CPP + SHELL:
            if block.run or block.save:
                print(f"{options.document}:{block.line}: FAILED\n'run' and "
                      f"'save' mean nothing for '{block.language}'")
                failures += 1
            continue
        try:
            verdict = checker.check(block)
        except Failure as failure:
            verdict = f"FAILED\n{failure}"
            failures += 1
        print(f"{options.document}:{block.line}: {verdict}", flush=True)
    print(f"{failures} of {len(blocks)} blocks failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
