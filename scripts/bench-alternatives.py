# SPDX-License-Identifier: Apache-2.0
"""gdaki's wires beside what a user of this machine would pick instead, in one run (docs/benchmarks.md).

    bench-alternatives.py GDAKI OUT_FOLDER [ROUNDS]

Every round (5) runs each program once, one after the other, client on the first CPU and server on the second of those that
this process may use; medians are compared. Around each of gdaki's runs the cache-line round trip is measured, and its spread is
printed: where it is large, the virtual CPUs were moved during the run and the ratios of two programs say little. A put is held
against the round trips of its own run (the mean of those before and after it), and the median of these ratios is the row's; a
run during which the placement changed is left out.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # no folder of it beside the scripts
import bench_pair
from bench_pair import CLIENT, SERVER, NotMeasured, pair

if len(sys.argv) not in (3, 4) or (len(sys.argv) == 4 and not (sys.argv[3].isdecimal() and int(sys.argv[3]) > 0)):
    sys.exit("usage: bench-alternatives.py GDAKI OUT_FOLDER [ROUNDS]; ROUNDS: a number from 1 on")
GDAKI, OUT = sys.argv[1], sys.argv[2]
ROUNDS = int(sys.argv[3]) if len(sys.argv) == 4 else 5
NEAR_US = 0.25  # a cache-line round trip below it: the two CPUs share a cache
SAME = 1.5      # the round trips before and after a run differ by less: the CPUs stayed where they were
PUT = "shm put 8"
FABRIC_PUT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(GDAKI))), "tests/alternatives/fabric_put")
values = {}
trips_of_put = []  # (mean round trip of the run in us, the put's p50 in these); None: the placement changed during the run
troubles = {}


def note(name, value):
    values.setdefault(name, []).append(value)


def gdaki(name, what, *options, wire="shm"):
    """One row of `gdaki perf --pair --pin`; `what` takes the figure from it."""
    try:
        row = bench_pair.gdaki_row(GDAKI, os.path.join(OUT, "row.json"), wire, *options)
    except NotMeasured as why:
        troubles[name] = str(why)
        return
    note(name, what(row))
    trips = [row[floors]["line_round_trip_ns"] / 1e3 for floors in ("floors_before", "floors_after")]
    for trip in trips:
        note("round trip", trip)
    if name == PUT:
        trips_of_put.append((statistics.mean(trips), what(row) / statistics.mean(trips)) if max(trips) < SAME * min(trips) else None)
    note("memcpy 64K", row["floors_before"]["memcpy_64k_gb_per_s"])
    note("memcpy 64K", row["floors_after"]["memcpy_64k_gb_per_s"])


def ucx(name, test, size, count, tls, what):
    try:
        note(name, what(bench_pair.ucx_figures(test, size, count, tls)))
    except NotMeasured as why:
        troubles[name] = str(why)


def libfabric(name, provider, size, count, what):
    text = pair(["fi_pingpong", "-p", provider, "-e", "rdm", "-I", str(count), "-S", str(size)],
                ["fi_pingpong", "-p", provider, "-e", "rdm", "-I", str(count), "-S", str(size), "127.0.0.1"])
    rows = [line.split() for line in text.splitlines() if line.split()[2:3] and line.split()[2].startswith("=")]
    if not rows:
        troubles[name] = text.strip()[-200:]
        return
    note(name, what([float(rows[-1][5]), float(rows[-1][6])]))  # MB/s, microseconds one way


def fabric(name, size, window, what, *options):
    """RMA writes of libfabric's shm provider: one buffer, `window` writes a wait, both ends spinning."""
    if not os.access(FABRIC_PUT, os.X_OK):
        troubles[name] = f"{FABRIC_PUT} is not there: install libfabric-dev, configure and build again"
        return
    run = subprocess.run([FABRIC_PUT, "--provider", "shm", "--size", str(size), "--window", str(window), "--cpus",
                          f"{CLIENT},{SERVER}", *options], capture_output=True, text=True, timeout=60)
    if run.returncode != 0:
        troubles[name] = (run.stderr.strip() or run.stdout.strip())[-200:]
        return
    note(name, what(json.loads(run.stdout)))


def sockperf(name):
    try:
        note(name, bench_pair.sockperf_one_way()[50.0])
    except NotMeasured as why:
        troubles[name] = str(why)


def one_round():
    rate = lambda row: row["messages_per_s"] / 1e6
    bandwidth = lambda row: row["gb_per_s"]
    p50 = lambda row: row["latency_us"]["p50"]
    one = ("--threads", "1", "--sharing", "exclusive")
    gdaki("shm put 64K", bandwidth, "put-bw", "-s", "64K", "--span", "64K", "-D", "0.5", *one, "--window", "32")
    ucx("UCX shm put 64K", "ucp_put_bw", 65536, 30000, "posix,cma,self", lambda r: r[5] * 1.048576e-3)
    fabric("libfabric shm 64K", 65536, 32, bandwidth)
    gdaki(PUT, p50, "put-lat", "-s", "8", "-n", "50000")
    ucx("UCX shm put 8", "ucp_put_lat", 8, 200000, "posix,cma,self", lambda r: r[1])
    fabric("libfabric shm 8", 8, 1, lambda row: row["batch_p50_us"], "--delivery")
    gdaki("shm rate 8", rate, "put-bw", "-s", "8", "-D", "0.5", *one, "--window", "256")
    fabric("libfabric shm rate 8", 8, 256, rate)
    ucx("UCX shm rate 8", "ucp_put_bw", 8, 1000000, "posix,cma,self", lambda r: r[7] / 1e6)
    gdaki("udp put 64K", bandwidth, "put-bw", "-s", "64K", "--span", "64K", "-D", "0.5", "--mtu", "4096", wire="udp")
    ucx("UCX tcp put 64K", "ucp_put_bw", 65536, 5000, "tcp", lambda r: r[5] * 1.048576e-3)
    libfabric("libfabric tcp 64K", "tcp", 65536, 2000, lambda r: r[0] / 1e3)
    gdaki("udp write 8 one way", p50, "write-lat", "-s", "8", "-n", "10000", wire="udp")
    sockperf("sockperf UDP 16 one way")
    libfabric("libfabric tcp 8", "tcp", 8, 5000, lambda r: r[1])
    gdaki("udp rate 8", rate, "put-bw", "-s", "8", "-D", "0.5", "--threads", "32", wire="udp")
    ucx("UCX tcp rate 8", "ucp_put_bw", 8, 100000, "tcp", lambda r: r[7] / 1e6)


COMPARISONS = (  # what, unit, ours, theirs, ratio that is the goal (None: none set), less is better
    ("64 KiB, shared memory", "GB/s", "shm put 64K", "libfabric shm 64K", 1.0, False),
    ("64 KiB, shared memory", "GB/s", "shm put 64K", "UCX shm put 64K", 0.6, False),
    ("64 KiB, shared memory", "GB/s", "shm put 64K", "memcpy 64K", None, False),
    ("8 B, call to completion", "us", PUT, "round trip", 4.0, True),
    ("8 B latency, shared memory", "us", PUT, "UCX shm put 8", None, True),
    ("8 B latency, shared memory", "us", PUT, "libfabric shm 8", None, True),
    ("8 B rate, shared memory", "M/s", "shm rate 8", "libfabric shm rate 8", None, False),
    ("8 B rate, shared memory", "M/s", "shm rate 8", "UCX shm rate 8", None, False),
    ("64 KiB, sockets", "GB/s", "udp put 64K", "UCX tcp put 64K", None, False),
    ("64 KiB, sockets", "GB/s", "udp put 64K", "libfabric tcp 64K", None, False),
    ("8 B one way, UDP", "us", "udp write 8 one way", "sockperf UDP 16 one way", 1.5, True),
    ("8 B one way, sockets", "us", "udp write 8 one way", "libfabric tcp 8", None, True),
    ("8 B rate, 32 puts a doorbell", "M/s", "udp rate 8", "UCX tcp rate 8", 2.0, False),
)


def compare():
    medians = {name: statistics.median(v) for name, v in values.items()}
    table = []
    for what, unit, ours, theirs, goal, less in COMPARISONS:
        a, b = medians.get(ours), medians.get(theirs)
        ratio = a / b if a is not None and b else None
        paired = [trip[1] for trip in trips_of_put if trip is not None]
        if (ours, theirs) == (PUT, "round trip"):  # each to its own run's, so not the quotient of the two medians
            ratio = statistics.median(paired) if paired else None
        met = None if ratio is None or goal is None else ratio <= goal if less else ratio >= goal
        table.append({"what": what, "unit": unit, "ours": ours, "value": a, "theirs": theirs, "their_value": b,
                      "ratio": ratio, "goal": goal, "less_is_better": less, "met": met})
    return medians, table


def put_in_trips():
    """Near and far apart, since what a put costs beside its two lines that move weighs more where they are near."""
    kept = [trip for trip in trips_of_put if trip is not None]
    words = []
    for where, is_near in (("near", True), ("far", False)):
        ratios = [ratio for trip, ratio in kept if (trip < NEAR_US) == is_near]
        words.append(f"{where} {statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}, {len(ratios)} runs)" if ratios
                     else f"{where} not met with")
    text = "8 B put in round trips of its own run: " + ", ".join(words)
    changed = len(trips_of_put) - len(kept)
    return text + (f"; left out, for the placement changed meanwhile: {changed}" if changed else "")


def show(table):
    text = lambda x, form="{:.3f}": "-" if x is None else form.format(x)
    lines = [f"{'what':30} {'ours':>10} {'theirs':>10} {'unit':5} {'ratio':>7} {'goal':>8}  {'met':4} beside"]
    for row in table:
        goal = "" if row["goal"] is None else ("<= " if row["less_is_better"] else ">= ") + f"{row['goal']:.1f}"
        met = {None: "", True: "yes", False: "NO"}[row["met"]] if row["ratio"] is not None else "-"
        lines.append(f"{row['what']:30} {text(row['value']):>10} {text(row['their_value']):>10} {row['unit']:5} "
                     f"{text(row['ratio'], '{:.2f}'):>7} {goal:>8}  {met:4} {row['theirs']}")
    for name, why in troubles.items():
        lines.append(f"not measured: {name}: {' '.join(why.split())}")
    if trips_of_put:
        lines.append(put_in_trips())
    trips = values.get("round trip", [])
    if trips:
        near = sum(t < NEAR_US for t in trips)
        lines.append(f"cache-line round trip {min(trips):.3f} to {max(trips):.3f} us: near in {near} of {len(trips)} samples"
                     + ("; placement changed during the run, ratios of two-CPU figures say little" if 0 < near < len(trips)
                        else ""))
    return "\n".join(lines) + "\n"


def draw(table):
    """Ratio to each alternative, more is better, with the goal as a mark."""
    rows = [r for r in table if r["ratio"]]
    if not rows or not shutil.which("gnuplot"):
        return
    better = lambda r, x: 1 / x if r["less_is_better"] else x
    data = "\n".join(f"{i} {better(r, r['ratio']):.4f} {better(r, r['goal']) if r['goal'] else 'NaN'} "
                     f"\"{r['what']}\\nbeside {r['theirs']}\"" for i, r in enumerate(rows))
    for kind, terminal in (("svg", "svg size 1100,620 background '#ffffff'"), ("png", "pngcairo size 1100,620")):
        script = f"""set terminal {terminal}
set output '{OUT}/alternatives.{kind}'
set title "softnic beside the alternatives (1: equal; more is better)" noenhanced
set logscale y
set grid y
set xtics rotate by -35 noenhanced font ',9'
set bmargin 10
set rmargin 14
set boxwidth 0.6
set style fill solid 0.6
set xrange [-0.7:{len(rows) - 0.3}]
$data << EOD
{data}
EOD
plot $data using 1:2:xtic(4) with boxes title 'softnic / alternative', \\
     $data using 1:3 with points pointtype 2 pointsize 2 linewidth 2 title 'goal', 1 with lines title ''
"""
        subprocess.run(["gnuplot"], input=script, text=True, check=False)


def main():
    os.makedirs(OUT, exist_ok=True)
    for number in range(ROUNDS):
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
        one_round()
    medians, table = compare()
    with open(os.path.join(OUT, "alternatives.json"), "w") as file:
        json.dump({"rounds": ROUNDS, "cpus": [CLIENT, SERVER], "medians": medians, "values": values, "table": table,
                   "put_in_round_trips": [trip and {"round_trip_us": trip[0], "ratio": trip[1]} for trip in trips_of_put],
                   "troubles": troubles}, file, indent=1)
    text = show(table)
    with open(os.path.join(OUT, "alternatives.txt"), "w") as file:
        file.write(text)
    print(text, end="")
    draw(table)
    return 0


sys.exit(main())
