#!/usr/bin/env python3
"""Compares the reference of doc/bindings.md with what the programs say.

Each section between "<!-- reference: PROGRAM -->" and "<!-- end -->" must be
what "PROGRAM --markdown_page" prints.  With --update the document is rewritten
instead.
"""

import argparse
import difflib
import pathlib
import re
import subprocess
import sys

SECTION = re.compile(r"(<!-- reference: (\S+) -->\n)(.*?)(<!-- end -->)",
                     re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("document", type=pathlib.Path)
    arguments = parser.parse_args()

    text = arguments.document.read_text()
    programs = sorted(path.name for path in
                      pathlib.Path(arguments.bin).glob("mlpack_dasgd_*")
                      if path.is_file() and not path.suffix)
    found = sorted(match.group(2) for match in SECTION.finditer(text))
    if found != programs:
        sys.exit(f"{arguments.document} has sections for {found}, but there "
                 f"are {programs}")

    def section(match):
        page = subprocess.run(
            [pathlib.Path(arguments.bin) / match.group(2), "--markdown_page"],
            check=True, capture_output=True, text=True, timeout=60).stdout
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
