#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Markdown tables of `scripts/compat-h200.sh run`: python3 scripts/compat-h200-tables.py RESULTS.json [RESULTS.json...]

One table of steps, and for each kind of figure one with a line for each transport and a column for each size."""
import json
import sys


def size_of(n):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= factor and n % factor == 0:
            return f"{n // factor} {unit}"
    return f"{n} B"


def steps_table(steps):
    print("| step | result | what the ranks say |\n|---|---|---|")
    for s in steps:
        print(f"| `{s['step']}` | {s['verdict']} | {s['reason']} |")


def figure_text(figure):
    text = f"{figure['median_us']:.1f} ({figure['p99_us']:.1f})"
    rate = figure["gb_per_s"]
    return text if rate is None else f"{text}, {rate:.3g} GB/s"


def figure_tables(steps):
    kinds = []
    for step in steps:
        for figure in step["figures"]:
            if figure["what"] not in kinds:
                kinds.append(figure["what"])
    for kind in kinds:
        rows = [(s["step"], {f["bytes"]: f for f in s["figures"] if f["what"] == kind}) for s in steps]
        rows = [(name, found) for name, found in rows if found]
        sizes = sorted({n for _, found in rows for n in found})
        print(f"\n{kind}: median (99th percentile) in microseconds an operation\n")
        print("| step | " + " | ".join(size_of(n) for n in sizes) + " |\n|---" + "|---" * len(sizes) + "|")
        for name, found in rows:
            cells = [figure_text(found[n]) if n in found else "" for n in sizes]
            print(f"| `{name.removeprefix('figures-')}` | " + " | ".join(cells) + " |")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        with open(path) as file:
            steps = json.load(file)
        print(f"\n{steps[0]['gpus'] if steps else 'no steps'}\n")
        steps_table(steps)
        figure_tables(steps)


main()
