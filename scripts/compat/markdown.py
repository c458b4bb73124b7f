# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/compatibility.md from the JSON of scripts/compat.sh: python3 scripts/compat/markdown.py FILE.json..."""
import json
import sys


def load(paths):
    results = {}
    for path in paths:
        with open(path) as f:
            for line in json.load(f)["results"]:
                results[line["program"], line["what"]] = line  # the last file given counts
    return list(results.values())


def programs(results):
    print("| program | version | what ran | passed | refused | failed | a figure |")
    print("|---|---|---|---|---|---|---|")
    names = []
    for line in results:
        if line["program"] not in names and line["program"] != "pyverbs":
            names.append(line["program"])
    for name in names:
        own = [line for line in results if line["program"] == name]
        good = [line for line in own if line["result"] == "passed"]
        count = {kind: sum(line["result"] == kind for line in own) for kind in ("passed", "refused", "failed")}
        figure = next((line["figure"] for line in good if line["figure"]), "")
        ran = "; ".join(line["what"] for line in good)
        print(f"| `{name}` | {own[0]['version']} | {ran} | {count['passed']} | {count['refused'] or ''} | "
              f"{count['failed'] or ''} | {figure} |")


def leftovers(results, kind, title):
    lines = [line for line in results if line["result"] == kind and line["program"] != "pyverbs"]
    if lines:
        print(f"\n{title}\n\n| program | what | reason |\n|---|---|---|")
        for line in lines:
            print(f"| `{line['program']}` | {line['what']} | {line['reason'].replace('|', '/')} |")


def suite(results):
    print("\n| module | result | |\n|---|---|---|")
    for line in results:
        if line["program"] == "pyverbs":
            print(f"| `{line['what']}` | {line['result']} | {(line['reason'] or line['figure']).replace('|', '/')} |")


everything = load(sys.argv[1:])
programs(everything)
leftovers(everything, "refused", "Refused, each with the program's or softnic's own words:")
leftovers(everything, "failed", "Failed:")
leftovers(everything, "skipped", "Skipped:")
suite(everything)
