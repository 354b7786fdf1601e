#!/usr/bin/env python3
"""Fails if a C++ file does not keep to what every file of the project has.

Layout within a line is left to people; see CONTRIBUTING, "Format".
Usage: format.py <root of the project>
"""

import pathlib
import re
import sys

FOLDERS = ("src", "bindings", "tests", "examples")
LICENSE = "dasgd is free software under the 3-clause BSD license; see LICENSE."


def guard_of(path, root):
    """The include guard of a header: its path, without the folder of sources."""
    parts = path.relative_to(root).parts
    if parts[0] == "src":
        parts = parts[1:]
        if parts[0] != "dasgd":
            parts = (parts[0],)
    else:
        parts = ("dasgd",) + parts
    return re.sub(r"[^A-Za-z0-9]", "_", "/".join(parts)).upper()


def complaints(path, root):
    """What is wrong with a file: pairs of a line's number and a text."""
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield text.count("\n"), "the file must end with one end of line"
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > 80 and not re.search(r'#include|#error|R"\w*\(|https?://',
                                            line):
            yield number, f"{len(line)} columns, but 80 is the most"
        if "\t" in line:
            yield number, "a tab; use spaces"
        if line != line.rstrip():
            yield number, "spaces at the end"
    if f"@file {path.name}\n" not in text:
        yield 1, f"the comment on top must say @file {path.name}"
    if LICENSE not in re.sub(r"\s*\n \* ", " ", text):
        yield 1, "the comment on top must name the license"
    guard = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.MULTILINE)
    if path.suffix == ".hpp" and guard and guard[1].endswith("_HPP"):
        if guard[1] != guard[2] or guard[1] != guard_of(path, root):
            yield 1, f"the include guard must be {guard_of(path, root)}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = [path for folder in FOLDERS
             for path in sorted((root / folder).rglob("*.[ch]pp"))
             if "mlpack/bindings" not in path.as_posix() or
             path.suffix == ".cpp"]
    if not files:
        sys.exit(f"there are no C++ files in {root}")
    found = 0
    for path in files:
        for line, text in complaints(path, root):
            print(f"{path.relative_to(root)}:{line}: {text}")
            found += 1
    print(f"{len(files)} files, {found} complaints")
    sys.exit(1 if found else 0)


main()
