# SPDX-License-Identifier: Apache-2.0
"""The table on the screen, the JSON file, and the verdict."""
import collections
import datetime
import json
import platform
import subprocess

from case import FAILED, PASSED, REFUSED, SKIPPED

_versions = {}


def version_of(package):
    if package not in _versions:
        try:
            _versions[package] = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True,
                                                text=True, check=False).stdout.strip() or "-"
        except OSError:
            _versions[package] = "-"
    return _versions[package]


def print_heading():
    print(f"{'program':<18} {'version':<15} {'what ran':<52} {'result':<8} {'s':>5}  figure or reason", flush=True)


def print_line(result):
    case = result.case
    print(f"{case.program:<18} {version_of(case.package):<15} {case.what:<52} {result.status:<8} {result.seconds:5.1f}  "
          f"{result.reason or result.figure}", flush=True)


def print_summary(results):
    count = collections.Counter(r.status for r in results)
    print()
    for status, title in ((FAILED, "failed"), (REFUSED, "refused by softnic, as documented"), (SKIPPED, "skipped")):
        some = [r for r in results if r.status == status]
        if some and status != REFUSED:
            print(f"{title}:")
            for r in some:
                print(f"  {r.case.name()}: {r.reason}")
    print(f"{count[PASSED]} passed, {count[FAILED]} failed, {count[REFUSED]} refused as documented, "
          f"{count[SKIPPED]} skipped", flush=True)
    return 1 if count[FAILED] else 0


def write_json(path, results, how):
    lines = [{"program": r.case.program, "package": r.case.package, "version": version_of(r.case.package),
              "what": r.case.what, "result": r.status, "reason": r.reason, "figure": r.figure,
              "seconds": round(r.seconds, 2), "command": r.case.client, "server": r.case.server} for r in results]
    about = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
             "machine": platform.machine(), "kernel": platform.release(), "how": how}
    with open(path, "w") as out:
        json.dump({"about": about, "results": lines}, out, indent=1)
        out.write("\n")
