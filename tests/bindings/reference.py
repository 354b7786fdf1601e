#!/usr/bin/env python3
"""Compares the reference of doc/bindings.md with what the programs say.

Each section between "<!-- reference: PROGRAM -->" and "<!-- end -->" must be
what "PROGRAM --markdown_page" prints, without the options that are the same in
all programs that train: those stand once, in the section of "shared".  With
--update the document is rewritten instead.
"""

import argparse
import difflib
import pathlib
import re
import subprocess
import sys

SECTION = re.compile(r"(<!-- reference: (\S+) -->\n)(.*?)(<!-- end -->)",
                     re.DOTALL)
# A row of a table of options, with the option's name.
ROW = re.compile(r"^\| `(--\w+)`.*\n", re.MULTILINE)

SHARED_TEXT = """## Options of all training programs

`mlpack_dasgd_ffn`, `mlpack_dasgd_linear_svm`, `mlpack_dasgd_logistic_regression` and
`mlpack_dasgd_softmax_regression` take these options, besides their own.

| name | type | description | default |
| --- | --- | --- | --- |
"""
SHARED_LINK = "[options of all training programs]" \
    "(#options-of-all-training-programs)"


def shared_rows(pages):
    """The rows that all programs have which train on several ranks: option to
    row."""
    tables = [{row.group(1): row.group(0) for row in ROW.finditer(page)}
              for page in pages.values()]
    tables = [table for table in tables if "--topology" in table]
    return {option: row for option, row in tables[0].items()
            if all(table.get(option) == row for table in tables)}


def without(page, shared):
    """A page of a program without the shared options."""
    if not all(row in page for row in shared.values()):
        return page  # It does not train.
    for option, row in shared.items():
        page = page.replace(row, "")
        page = re.sub(r"    \[" + option + r"[ \]].*\n", "", page)
    return page.replace("\n```\n", "\n```\n\nAlso the %s.\n" % SHARED_LINK, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("document", type=pathlib.Path)
    arguments = parser.parse_args()

    text = arguments.document.read_text()
    programs = sorted(path.name for path in
                      pathlib.Path(arguments.bin).glob("mlpack_dasgd_*")
                      if path.is_file() and not path.suffix and
                      # Not built everywhere; doc/onnx.md describes it.
                      path.name != "mlpack_dasgd_onnx")
    found = sorted(match.group(2) for match in SECTION.finditer(text))
    if found != sorted(programs + ["shared"]):
        sys.exit(f"{arguments.document} has sections for {found}, but there "
                 f"are {programs}")

    pages = {program: subprocess.run(
        [pathlib.Path(arguments.bin) / program, "--markdown_page"],
        check=True, capture_output=True, text=True, timeout=60).stdout
             for program in programs}
    shared = shared_rows(pages)

    def section(match):
        name = match.group(2)
        page = SHARED_TEXT + "".join(shared.values()) if name == "shared" \
            else without(pages[name], shared)
        return match.group(1) + "\n" + page.strip() + "\n\n" + match.group(4)

    expected = SECTION.sub(section, text)
    if arguments.update:
        arguments.document.write_text(expected)
    elif expected != text:
        sys.stdout.writelines(difflib.unified_diff(
            text.splitlines(True), expected.splitlines(True),
            "documented", "as the programs say"))
        sys.exit("the reference is not up to date; run this script with "
                 "--update")


if __name__ == "__main__":
    main()
