#!/usr/bin/env python3
#
# examples/language with word lists of three languages that are made up.
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.

"""Tests of examples/language."""

import argparse
import csv
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

# All languages have the same letters equally often, so that words can only be
# told apart by the order of letters and by how they begin and end.
VOWELS, CONSONANTS = "aeiouö", "bdfgkl"
SYLLABLES = {
    "babish": [c + v for c in CONSONANTS for v in VOWELS],
    "abbish": [v + c for c in CONSONANTS for v in VOWELS],
    "bböish": [c + c + v + v for c in CONSONANTS for v in VOWELS],
}
WORDS = {"babish": 900, "abbish": 700, "bböish": 501}
QUICK = ["--features", "512", "--test_share", "0.2", "--batch", "32", "--epochs", "4"]


def expect(condition, what, result=None):
    if not condition:
        sys.exit(f"language_test: expected {what}\n" +
                 (f"{result.args}: status {result.returncode}\n{result.stdout}{result.stderr}"
                  if result else ""))


class Program:
    def __init__(self, arguments):
        self.program = os.path.abspath(arguments.program)
        self.mpiexec = arguments.mpiexec
        self.work = pathlib.Path(arguments.work)
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)

    def run(self, *words, ranks=1):
        before = [] if ranks == 1 else [self.mpiexec, "-n", str(ranks)]
        return subprocess.run([*before, self.program, *words], cwd=self.work, text=True,
                              capture_output=True, timeout=100)

    def well(self, *words, ranks=1):
        result = self.run(*words, ranks=ranks)
        expect(result.returncode == 0, "a good end", result)
        return result

    def refused(self, words, *texts):
        result = self.run(*words)
        expect(result.returncode == 1 and all(text in result.stderr for text in texts) and
               len(result.stderr.splitlines()) == 1, f"one line with {texts}", result)


def make_lists(folder):
    """Each word is in its list once."""
    chance = random.Random(7)
    folder.mkdir()
    for name, syllables in SYLLABLES.items():
        words = {}
        while len(words) < WORDS[name]:
            words["".join(chance.choices(syllables, k=chance.randint(2, 5)))] = None
        (folder / f"{name}.txt").write_text("".join(word + "\n" for word in words),
                                            encoding="utf-8")


def field(result, name):
    match = re.search(rf"^{re.escape(name)} +(.*)$", result.stdout, re.MULTILINE)
    expect(match, f"a line '{name}'", result)
    return match[1]


def number(result, name):
    return float(re.match(r"[\d.]+", field(result, name))[0])


def learned(result):
    """Without order or without ends of words, babish is abbish: 67 % or less."""
    expect(number(result, "largest language") < 50, "three languages", result)
    expect(number(result, "test accuracy") > 90, "more than 90 % right", result)


def shards(program):
    """One rank and two see the same words, each of them once."""
    alone = program.well("--words", "lists", *QUICK)
    both = program.well("--words", "lists", *QUICK, ranks=2)
    for result, ranks in (alone, 1), (both, 2):
        learned(result)
        own = [int(text) for text in field(result, "words of each rank").split()]
        expect(len(own) == ranks and max(own) - min(own) <= 1, "even shards", result)
        training = int(number(result, "words to train with"))
        test = int(number(result, "words to test"))
        expect(sum(own) == training and training + test == sum(WORDS.values()),
               "every word once", result)
        expect(number(result, "words visited") == 4 * training, "four epochs", result)
        expect(0.15 < test / sum(WORDS.values()) < 0.25, "a fifth for testing", result)
    for name in "words to train with", "words to test", "nonzeros":
        expect(field(alone, name) == field(both, name), f"the same {name} on two ranks", both)
    expect(number(alone, "MB sent") == 0 and number(both, "MB sent") == 0, "one model", both)
    apart = program.well("--words", "lists", *QUICK, "--topology", "complete", ranks=2)
    expect(number(apart, "MB sent") > 0, "what was sent", apart)


def options(program):
    """Adam, a part of the words, a sparse format, and the course of accuracy."""
    result = program.well("--words", "lists", *QUICK, "--optimizer", "adam", "--points", "1000",
                          "--format", "topk:0.1", "--curve", "curve.csv", "--target_accuracy",
                          "60", "--by_language", ranks=2)
    learned(result)
    expect(number(result, "words to train with") == 1000, "1000 words", result)
    expect(re.fullmatch(r"[\d.]+ \(60.00 %\)", field(result, "seconds to target")),
           "a target that is reached", result)
    expect(all(number(result, "  " + name) > 80 for name in WORDS), "each language", result)
    with open(program.work / "curve.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expect(rows and list(rows[0]) == ["seconds", "gradients", "accuracy"], "a curve", result)
    expect(abs(float(rows[-1]["accuracy"]) - number(result, "test accuracy")) < 0.01,
           "a curve that ends with the last model", result)
    expect(0 < number(result, "nonzeros of a gradient") < 100, "some nonzeros", result)


def mistakes(program):
    work = program.work
    program.refused(["--words", "nowhere"], "there is no folder nowhere", "fetch_words.sh")
    # One rank tells it for all; mpiexec adds lines of its own.
    result = program.run("--words", "nowhere", ranks=2)
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    expect(result.returncode != 0 and len(lines) == 1, "one line of two ranks", result)

    shutil.copytree(work / "lists", work / "empty")
    (work / "empty" / "none.txt").write_text("\n\n")
    program.refused(["--words", "empty"], "none.txt has no words")

    (work / "alone").mkdir()
    shutil.copy(work / "lists" / "babish.txt", work / "alone")
    program.refused(["--words", "alone"], "alone has 1 word list", "two are needed")

    program.refused(["--words", "lists", "--format", "short"], "short")

    (work / "lists" / "letter.txt").write_bytes(b"x" * 5000)
    program.refused(["--words", "lists"], "letter.txt", "line 1", "5000 bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--work", required=True)
    program = Program(parser.parse_args())
    make_lists(program.work / "lists")
    shards(program)
    options(program)
    mistakes(program)


if __name__ == "__main__":
    main()
