# SPDX-License-Identifier: Apache-2.0
"""Runs programs that nobody here wrote on softnic and prints a table. See docs/compatibility.md.

    python3 scripts/compat BUILD [--only REGEX] [--quick] [--list] [--json FILE]
"""
import argparse
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
import programs_mpi  # noqa: E402
import programs_ofi  # noqa: E402
import programs_perftest  # noqa: E402
import programs_pyverbs  # noqa: E402
import programs_rdmacm  # noqa: E402
import programs_ucx  # noqa: E402
import programs_verbs  # noqa: E402
import report  # noqa: E402
from runner import Runner  # noqa: E402

GROUPS = {"verbs": programs_verbs, "perftest": programs_perftest, "rdmacm": programs_rdmacm, "ucx": programs_ucx,
          "libfabric": programs_ofi, "mpi": programs_mpi, "pyverbs": programs_pyverbs}


def main():
    parser = argparse.ArgumentParser(prog="compat", description="unmodified programs on softnic: a table")
    parser.add_argument("build", help="build folder, with softnic-libs in it")
    parser.add_argument("--only", metavar="REGEX", help="runs whose program and options match")
    parser.add_argument("--group", action="append", choices=GROUPS, help="some groups of programs")
    parser.add_argument("--quick", action="store_true", help="the short subset that CTest runs")
    parser.add_argument("--list", action="store_true", help="name the runs and stop")
    parser.add_argument("--native", action="store_true", help="with the system's libraries, not softnic's")
    parser.add_argument("--json", metavar="FILE", help="results as JSON (default: in BUILD/compat)")
    options = parser.parse_args()

    build = os.path.abspath(options.build)
    part = "-".join((["quick"] if options.quick else []) + (options.group or ["all"]) + ([str(os.getpid())] if options.only else []))
    logs = os.path.join(build, "compat", part)
    cases = []
    for name, module in GROUPS.items():
        for case in module.cases():
            case.group = name
            if options.group and name not in options.group or options.quick and not case.quick:
                continue
            if not options.only or re.search(options.only, case.name()):
                cases.append(case)
    if options.list:
        for case in cases:
            print(case.name())
        return 0
    if not cases:
        print("compat: no run matches", file=sys.stderr)
        return 2
    shutil.rmtree(logs, ignore_errors=True)
    os.makedirs(logs)
    # Addresses of this run's own, so that it meets no other program of this user.
    number = os.getpid()
    settings = {} if "SOFTNIC_GID" in os.environ else {"SOFTNIC_GID": f"127.203.{number >> 8 & 255}.{number & 255 or 1}"}
    runner = Runner(build, logs, settings, options.native)
    if not options.native and not os.path.isdir(runner.libraries):
        print(f"compat: {runner.libraries} is not there: build first (make)", file=sys.stderr)
        return 2
    print(f"programs as installed, on softnic by: {runner.how()}\nlogs: {logs}\n")
    report.print_heading()
    results = []
    for case in cases:
        results.append(runner.run(case))
        report.print_line(results[-1])
    report.write_json(options.json or os.path.join(build, "compat", part + ".json"), results, runner.how())
    failed = report.print_summary(results)
    if options.quick and all(result.status == "skipped" for result in results):
        print("SKIP: " + "; ".join(sorted({result.reason for result in results})))
        return 77
    return failed


sys.exit(main())
