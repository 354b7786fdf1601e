#!/usr/bin/env python3
"""Checks the page of a plan in a real browser, Chromium without a window.

Without --page, the page is made from the template and the sample next to this
file, and pages with odd data are checked, too.  With --page, that page is.

Exits with 1 and says why if something is wrong, with 77 if there is no Chromium.
Needs nothing but Python's standard library, and the test of the study's page.
"""

import argparse
import copy
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "study"))
# Not this file, which has the same name: the study's folder comes first.
import page_test as study  # noqa: E402
from page_test import DESKTOP, PHONE, Wrong, check  # noqa: E402

SAMPLE = HERE / "sample.json"


def name_of(row):
    """The curve of a row.  One rank has no topology, nor has all-reduce."""
    named = row["algorithm"] == "DASGD" and row["ranks"] > 1 and row["topology"]
    return f"DASGD, {row['topology']}" if named else row["algorithm"]


def is_shared(data, row):
    """Is this the row of one rank, with which all curves begin?"""
    return row["ranks"] == 1 and any(one["ranks"] > 1 for one in data["rows"] + data["learned"])


def names(data):
    """The curves, in the order of the legend."""
    return list(dict.fromkeys(name_of(row) for row in data["rows"] + data["learned"]
                              if not is_shared(data, row)))


def value_of(chart, row):
    """What a chart shows of a row; None if nothing."""
    if chart == "staleness":
        return row["staleness"] if row["algorithm"] == "DASGD" and row["staleness"] > 0 else None
    return row[{"speedup": "speedup", "worth": "worth", "network": "network_share", "learned": "seconds"}[chart]]


def wanted_points(data, chart):
    """The values that each curve of a chart goes through, with the numbers of ranks."""
    rows = data["learned" if chart == "learned" else "rows"]
    found = {}
    for name in names(data):
        own = [row for row in rows if not is_shared(data, row) and name_of(row) == name]
        if any(chart == "learned" or value_of(chart, row) is not None for row in own):
            all_rows = [row for row in rows if is_shared(data, row)] + own
            found[name] = [(row["ranks"], value_of(chart, row)) for row in all_rows]
    return found


def has_line(points):
    return sum(value is not None for _, value in points) > 1


def drawn(page):
    """What the study's test does not look for in charts: the marks of each curve, rings, texts."""
    return page.run("""Object.fromEntries([...document.querySelectorAll('figure')].map((figure) => {
      const svg = figure.querySelector('svg');
      const texts = [...svg.querySelectorAll('text')].map((text) => [text.textContent,
        text.getBBox()]);
      const apart = (a, b) => a.x + a.width <= b.x || b.x + b.width <= a.x ||
        a.y + a.height <= b.y + 3 || b.y + b.height <= a.y + 3;
      return [figure.dataset.chart, {
        marks: Object.fromEntries([...svg.querySelectorAll('g[data-algorithm]')].map((g) =>
          [g.dataset.algorithm, [g.querySelectorAll('.mark').length,
            g.querySelectorAll('.missed').length]])),
        places: [...svg.querySelectorAll('.mark')].map((mark) =>
          mark.getAttribute('transform').match(/[-\\d.]+/g).slice(0, 2).map(Number)),
        rings: [...svg.querySelectorAll('.ring')].map((ring) =>
          ['cx', 'cy'].map((name) => Number(ring.getAttribute(name)))),
        ideal: svg.querySelectorAll('line.ideal').length,
        ticks: texts.filter(([, box], i) => svg.querySelectorAll('text')[i]
          .getAttribute('text-anchor') === 'middle').map(([words]) => words),
        words: figure.querySelector('figcaption').textContent,
        touching: texts.flatMap(([a, boxA], i) => texts.slice(i + 1)
          .filter(([, boxB]) => !apart(boxA, boxB)).map(([b]) => `${a} / ${b}`)),
      }];
    }))""")


def check_charts(page, data, where):
    found = {chart["name"]: chart for chart in study.charts(page, 0)}
    more = drawn(page)
    charts = ["speedup", "worth", "staleness", "network"] + (["learned"] if data["learned"] else [])
    check(list(found) == charts, f"{where}: has the charts {list(found)}")
    for name, chart in found.items():
        at = f"{where}: {name}"
        check(not chart["bad"], f"{at} has a number that is none")
        check(not chart["outside"], f"{at}: text is cut off: {chart['outside']}")
        check(not more[name]["touching"], f"{at}: texts overlap: {more[name]['touching']}")
        check(chart["role"] == "img" and chart["label"], f"{at} has no label")
        wanted = wanted_points(data, name)
        if not wanted:
            check("No values" in chart["label"], f"{at}: {chart['label']!r}")
            continue
        check(all(curve in chart["label"] for curve in wanted), f"{at}: {chart['label']!r}")
        count = sum(map(has_line, wanted.values()))
        check(chart["curves"] == count, f"{at}: {chart['curves']} curves instead of {count}")
        missed = name == "learned"
        marks = {curve: [sum(value is not None for _, value in points),
                         sum(value is None for _, value in points) if missed else 0]
                 for curve, points in wanted.items()}
        check(more[name]["marks"] == marks, f"{at}: has the marks {more[name]['marks']}, not "
              f"{marks}")
        ranks = {ranks for points in wanted.values() for ranks, _ in points}
        check(set(more[name]["ticks"]) <= set(map(str, ranks)) and
              str(max(ranks)) in more[name]["ticks"], f"{at}: the ticks are {more[name]['ticks']}")
        check(len(ranks) > 6 or len(more[name]["ticks"]) == len(ranks),
              f"{at}: a tick is not labelled: {more[name]['ticks']}")
        check_ring(data, name, more[name], at)
        check(chart["limit"] == (name == "network"), f"{at}: {chart['limit']} lines at a limit")
        check(more[name]["ideal"] == (name == "speedup" and len(ranks) > 1),
              f"{at}: {more[name]['ideal']} ideal lines")
        none = any(value is None for points in wanted.values() for _, value in points)
        check(not missed or none == ("Not reached" in more[name]["words"]),
              f"{at}: {more[name]['words']!r}")


def check_ring(data, name, chart, where):
    """The recommended row, or what was learned of it, has a ring around its mark."""
    best = None if data["best"] is None else data["rows"][data["best"]]
    rows = [row for row in data["learned"] if best and name_of(row) == name_of(best) and
            row["ranks"] == best["ranks"]] if name == "learned" else [best] if best else []
    wanted = any(value_of(name, row) is not None for row in rows)
    check(len(chart["rings"]) == wanted, f"{where}: {len(chart['rings'])} rings")
    check(all(ring in chart["places"] for ring in chart["rings"]),
          f"{where}: the ring is around nothing")


def check_table(page, data, where):
    shown = page.run("""[...document.querySelectorAll('.results tbody tr')].map((row) => ({
      index: Number(row.dataset.row), text: row.innerText, best: row.classList.contains('best'),
      bold: [...row.querySelectorAll('td')].every((cell) =>
        Number(getComputedStyle(cell).fontWeight) >= 600)}))""")
    count = len(data["rows"])
    check([row["index"] for row in shown] == list(range(count)), f"{where}: other rows, or another "
          "order")
    best = [] if data["best"] is None else [data["best"]]
    for kind in ("best", "bold"):
        found = [row["index"] for row in shown if row[kind]]
        check(found == best, f"{where}: the rows {found} are {kind}, not {best}")
    check([row["index"] for row in shown if "recommended" in row["text"]] == best,
          f"{where}: the row {best} is not said to be recommended")
    bad = [row["text"] for row in shown if re.search(r"NaN|undefined|null|Infinity", row["text"])]
    check(not bad, f"{where}: {bad}")
    heads = page.run("""[...document.querySelectorAll('.results thead th')].map((head) =>
      [head.innerText, Boolean(head.querySelector('[title]')),
        document.querySelector('.meanings').textContent.includes(head.textContent)])""")
    check(all(tip and below for _, tip, below in heads), f"{where}: a column is not explained: "
          f"{heads}")
    epochs = any(row["epoch_seconds"] is not None for row in data["rows"])
    check(("Time per epoch" in [head[0] for head in heads]) == epochs, f"{where}: has the columns "
          f"{[head[0] for head in heads]}")


def check_units(page, data):
    """Times and bytes have units that suit them."""
    cells = page.run("""[...document.querySelectorAll('.results tbody tr')].map((row) =>
      Object.fromEntries([...row.querySelectorAll('td')].map((cell) =>
        [cell.dataset.column, cell.innerText])))""")
    patterns = {"epoch_seconds": r"[\d.]+ (µs|ms|s|min|h|days)",
                "memory_bytes": r"[\d.]+ [kMGT]?B", "gradients_per_second": r"[\d.,e]+",
                "bytes_per_second": r"0|[\d.]+ [kMGT]?B/s",
                "network_share": r"[\d.,e-]+%", "speedup": r"[\d.,e-]+×",
                "worth": r"[\d.,e-]+×"}
    for row, shown in zip(data["rows"], cells):
        for column, pattern in patterns.items():
            if row[column] is not None:
                check(re.fullmatch(pattern, shown[column]), f"{column} is {shown[column]!r}")


def check_sorting(page, data, where):
    """A press on a head sorts by it, the next one the other way round."""
    button = "[...document.querySelectorAll('.sort')].find((b) => b.textContent === 'Speed-up')"
    for down in (False, True):
        page.click(button)
        order = page.run("[...document.querySelectorAll('.results tbody tr')].map((row) => "
                         "Number(row.dataset.row))")
        values = [data["rows"][index]["speedup"] for index in order]
        check(len(order) == len(data["rows"]) and values == sorted(values, reverse=down),
              f"{where}: sorting makes {values}")
        said = page.run(f"({button}).closest('th').getAttribute('aria-sort')")
        check(said == ("descending" if down else "ascending"), f"{where}: sorted {said}")


def check_head(page, data, where):
    """The advice is the first that is read, and large."""
    head = page.run("""(() => {
      const [title, advice] = document.querySelector('#page > header').children;
      const size = (element) => parseFloat(getComputedStyle(element).fontSize);
      return [document.title, title.textContent, advice.textContent, size(advice),
        size(document.body), document.querySelector('#page').firstElementChild.tagName,
        advice.getBoundingClientRect().bottom + scrollY];
    })()""")
    check(head[0] == head[1] == data["title"], f"{where}: the title is {head[:2]}")
    check(head[2] == data["advice"], f"{where}: after the title comes {head[2]!r}")
    check(head[3] >= 1.15 * head[4] and head[5] == "HEADER", f"{where}: the advice is not large")
    check(head[6] < PHONE[1], f"{where}: the advice is too far below: {head[6]}")
    warned = page.run("[...document.querySelectorAll('#page > header .problem')].map((one) => "
                      "one.textContent)")
    check(warned == ([data["warning"]] if data["warning"] else []), f"{where}: warns {warned}")


def check_legend(page, data, where):
    study.check_legend(page, 0, {"rows": [{"algorithm": name} for name in names(data)]}, where)
    labels = page.run("[...document.querySelectorAll('.toolbar .entry')].map((entry) => "
                      "[entry.dataset.toggle, entry.textContent])")
    check([name for name, _ in labels] == names(data), f"{where}: the legend has {labels}")
    check(all(text == name or text.endswith("…") for name, text in labels),
          f"{where}: the legend says {labels}")
    check(page.run("document.querySelector('.toolbar .key') !== null") ==
          (data["best"] is not None), f"{where}: the ring is not explained")


def check_tips(page, data, where):
    """Hovering shows the values of all curves, and no longer than that."""
    for name in ("speedup", "worth", "staleness", "network", "learned"):
        wanted = wanted_points(data, name) if name != "learned" or data["learned"] else None
        if not wanted:
            continue
        figure = f"document.querySelector('figure[data-chart={name}]')"
        mark = f"[...{figure}.querySelectorAll('.mark, .missed')].pop()"
        page.mouse("mouseMoved", page.place(mark))
        tip = page.run(f"(() => {{ const tip = {figure}.querySelector('.tip');"
                       "return tip.hidden ? '' : tip.innerText; })()")
        check(re.match(r"\d+ ranks?\s.*(\d|not reached)", tip, re.DOTALL),
              f"{where}: {name}: hovering shows {tip!r}")
        page.mouse("mouseMoved", (1, 1))
        check(page.run(f"{figure}.querySelector('.tip').hidden"),
              f"{where}: {name}: the values stay when the mouse has left")


def check_page(page, path, folder):
    """Everything, for one finished page."""
    page.size(*DESKTOP)
    page.media("light")
    page.open(path)
    data = page.run("JSON.parse(document.getElementById('data').textContent)")
    if folder:
        page.screenshot(folder / "desktop-light.png")
    check_head(page, data, "desktop")
    check_charts(page, data, "desktop")
    check_table(page, data, "desktop")
    check_units(page, data)
    check_legend(page, data, "desktop")
    check_tips(page, data, "desktop")
    check_sorting(page, data, "desktop")
    study.check_same_colours(page)
    study.check_end(page, data)
    study.check_contrast(page, "light")
    light = study.background(page)
    page.media("dark")
    check(study.background(page) != light, "a dark scheme does not change the background")
    study.check_contrast(page, "dark")
    if folder:
        page.open(path)
        page.screenshot(folder / "desktop-dark.png")
    page.media("light")
    page.size(*PHONE, phone=True)
    page.open(path)
    study.check_narrow(page, "phone")
    check_head(page, data, "phone")
    check_charts(page, data, "phone")
    if folder:
        page.screenshot(folder / "phone.png")
    study.check_touch(page, "phone")
    page.size(*DESKTOP)
    page.settle()
    study.check_print(page, folder, "print")
    study.check_quiet(page, "page")


def odd_pages(sample):
    """Data that a plan may well write, but seldom does."""
    one = copy.deepcopy(sample)
    one.update({"rows": one["rows"][:1], "learned": [], "best": 0})
    yield "one rank only", one

    single = copy.deepcopy(sample)
    single.update({"rows": [single["rows"][single["best"]]], "learned": [], "best": 0})
    yield "one row only", single

    bare = copy.deepcopy(sample)
    bare.update({"learned": [], "target": None, "best": None})
    for row in bare["rows"]:
        row.update({"epoch_seconds": None, "network_share": 6.4 * row["network_share"]})
        if row["ranks"] > 1:
            row["speedup"] /= 40
    yield "nothing learned, a slow network", bare

    long = copy.deepcopy(sample)
    long["title"] = "Names with </script><b>marks</b> & \"quotes\""
    name = "graph:" + ",".join(f"{i}-{i + 1}" for i in range(60)) + " <i>&amp;"
    for row in long["rows"] + long["learned"]:
        if row["topology"] == "auto":
            row["topology"] = name
    yield "a long name", long

    many = copy.deepcopy(sample)
    first, two = many["rows"][0], many["rows"][1]
    many["rows"] = [first]
    for ranks in range(2, 25):
        for topology in ("auto", "ring", *(f"tree:{k}" for k in range(2, 10))):
            many["rows"].append({**two, "ranks": ranks, "topology": topology, "speedup": ranks,
                                 "staleness": 1e4 * ranks, "network_share": 1e-6 * ranks,
                                 "memory_bytes": 3e12, "epoch_seconds": 4e5 / ranks})
    many.update({"best": 0, "target": None})
    for row in many["learned"]:
        row["seconds"] = None
    yield "many rows, the target never reached", many

    nothing = copy.deepcopy(sample)
    nothing.update({"rows": [], "learned": [], "best": None, "settings": [], "versions": []})
    yield "no rows", nothing


def check_odd(page, data, path, name):
    page.size(*PHONE, phone=True)
    page.open(path)
    check_head(page, data, name)
    study.check_narrow(page, name)
    if data["rows"]:
        check_charts(page, data, f"{name}, phone")
        study.check_touch(page, name)
    page.size(*DESKTOP)
    page.settle()
    if data["rows"]:
        check_charts(page, data, name)
        check_table(page, data, name)
        check_units(page, data)
        check_legend(page, data, name)
        check_tips(page, data, name)
        check_sorting(page, data, name)
    else:
        check(page.run("document.querySelector('main .problem') !== null"), f"{name}: no word")
    study.check_quiet(page, name)


def finished(data, path):
    """Makes a page as the program does."""
    return study.finished(data, path, "plan/plan")


def test(program, arguments):
    folder = pathlib.Path(arguments.screenshots) if arguments.screenshots else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dasgd_page_", ignore_cleanup_errors=True) as work:
        browser = study.Browser(program, work)
        try:
            page = study.Page(browser)
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
                    if folder:
                        page.screenshot(folder / f"odd{i}.png")
                page.open(finished(None, work / "empty.html"))
                check(page.run("document.querySelector('main .problem') !== null"),
                      "a page without data does not say so")
            study.check_without_scripts(page, path)
        finally:
            browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--page", help="a finished page instead of one with the sample")
    parser.add_argument("--screenshots", metavar="DIR", help="write pictures of the page there")
    parser.add_argument("--browser", help="the program to use instead of the Chromium found")
    arguments = parser.parse_args()
    program = arguments.browser or next(filter(None, map(shutil.which, study.BROWSERS)), None)
    if program is None or shutil.which(program) is None:
        print("skipped: no Chromium is installed")
        return study.SKIPPED
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
