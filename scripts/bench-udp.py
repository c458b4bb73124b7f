# SPDX-License-Identifier: Apache-2.0
"""The UDP wire beside bare UDP sockets and UCX over TCP (docs/benchmarks.md).

    bench-udp.py BUILD_FOLDER [ROUNDS] [OTHER_BUILD_FOLDER...]

Every round runs `gdaki perf write-lat` of each build, sockperf's non-blocked ping-pong, `gdaki perf put-bw` of each build
with 32 puts a doorbell, and ucx_perftest over TCP: client on the first CPU, server on the second of those that this process
may use. Order within a round alternates, so that no program always follows the same other one. A ratio is one of a round's
own figures: what the machine does to one round it does to both. The median of those ratios is the figure to quote; the
ratio of the medians stands beside it.
"""
import json
import os
import statistics
import sys

sys.dont_write_bytecode = True  # no folder of it beside the scripts
import bench_pair
from bench_pair import CLIENT, SERVER, NotMeasured

BUILD = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
BUILDS = [BUILD] + sys.argv[3:]
OUT = os.path.join(BUILD, "bench")
ONE_WAY_GOAL, RATE_GOAL = 1.5, 2.0
SOCKPERF, UCX = "sockperf", "UCX over TCP"
PERCENTILES = ("p50", "p99", "p99.9")
troubles = {}


def label(build):
    """The end of a folder's name; what the lines of the table have room for."""
    return os.path.basename(os.path.normpath(build))[-24:]


def one_way(build):
    row = bench_pair.gdaki_row(os.path.join(build, "bin/gdaki"), os.path.join(OUT, "row.json"), "udp", "write-lat",
                               "-s", "8", "-n", "20000")
    return {**{p: row["latency_us"][p] for p in PERCENTILES}, "line_round_trip_ns": row["floors_before"]["line_round_trip_ns"],
            "placement": row["floors_before"]["placement"]}


def rate(build):
    row = bench_pair.gdaki_row(os.path.join(build, "bin/gdaki"), os.path.join(OUT, "row.json"), "udp", "put-bw", "-s", "8",
                               "-D", "0.5", "--threads", "32")
    return {"rate": row["messages_per_s"] / 1e6}


def sockperf():
    got = bench_pair.sockperf_one_way()
    return {"p50": got[50.0], "p99": got.get(99.0), "p99.9": got.get(99.9)}


def ucx():
    return {"rate": bench_pair.ucx_figures("ucp_put_bw", 8, 100000, "tcp")[7] / 1e6}


def one_round(number):
    """{"one way": {name: figures}, "rate": {name: figures}}"""
    latency = [(build, one_way, (build,)) for build in BUILDS] + [(SOCKPERF, sockperf, ())]
    rates = [(build, rate, (build,)) for build in BUILDS] + [(UCX, ucx, ())]
    result = {}
    for kind, programs in (("one way", latency), ("rate", rates)):
        result[kind] = {}
        for name, measure, arguments in programs if number % 2 == 0 else reversed(programs):
            try:
                result[kind][name] = measure(*arguments)
            except (NotMeasured, OSError, KeyError) as why:
                troubles[f"{name}, {kind}"] = " ".join(str(why).split())
    return result


def column(rounds, kind, name, figure):
    return [r[kind][name][figure] for r in rounds if r[kind].get(name, {}).get(figure) is not None]


def compare(rounds, kind, figure, theirs):
    """For each build: medians, the ratio of each round, their median and quartiles, the ratio of the medians."""
    table = {}
    for build in BUILDS:
        both = [(r[kind][build][figure], r[kind][theirs][figure]) for r in rounds if build in r[kind] and theirs in r[kind]]
        if not both:
            continue
        ratios = [a / b for a, b in both]
        ours, others = statistics.median(a for a, _ in both), statistics.median(b for _, b in both)
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
        table[build] = {"ours": ours, "theirs": others, "ratio": statistics.median(ratios), "quartiles": [low, high],
                        "ratios": ratios, "ratio_of_medians": ours / others}
    return table


def line_of(what, row, goal, less):
    met = row["ratio"] <= goal if less else row["ratio"] >= goal
    return (f"  {what:38} {row['ours']:7.3f} {row['theirs']:7.3f}   {row['ratio']:5.2f}  {row['quartiles'][0]:5.2f} to "
            f"{row['quartiles'][1]:5.2f}  {row['ratio_of_medians']:10.2f}  {'<=' if less else '>='} {goal:.1f}  {'yes' if met else 'NO'}")


def show(rounds, latency, rates):
    lines = [f"{len(rounds)} rounds, client on CPU {CLIENT}, server on CPU {SERVER}; medians",
             f"  {'8 B':38} {'ours':>7} {'theirs':>7}   {'ratio':>5}  {'quartiles':14}  {'of medians':10}  goal    met"]
    lines += [line_of(f"one way, us: {label(build)}", row, ONE_WAY_GOAL, True) for build, row in latency.items()]
    lines += [line_of(f"rate, M/s: {label(build)}", row, RATE_GOAL, False) for build, row in rates.items()]
    lines.append("one way, us, medians of the rounds' percentiles: " + ", ".join(PERCENTILES))
    for name in BUILDS + [SOCKPERF]:
        cells = [column(rounds, "one way", name, p) for p in PERCENTILES]
        if all(cells):
            lines.append(f"  {label(name):38} " + " ".join(f"{statistics.median(c):8.2f}" for c in cells))
    trips = [t for build in BUILDS for t in column(rounds, "one way", build, "line_round_trip_ns")]
    if trips:
        near = [p for build in BUILDS for p in column(rounds, "one way", build, "placement")].count("near")
        lines.append(f"cache-line round trip {min(trips):.0f} to {max(trips):.0f} ns, near in {near} of {len(trips)} samples")
    lines += [f"not measured: {name}: {why[-200:]}" for name, why in troubles.items()]
    return "\n".join(lines) + "\n"


def main():
    os.makedirs(OUT, exist_ok=True)
    rounds = []
    for number in range(ROUNDS):
        rounds.append(one_round(number))
        print(f"round {number + 1} of {ROUNDS}: " + ", ".join(f"{label(name)} {v['p50']:.2f}" for name, v in
                                                            rounds[-1]["one way"].items()), file=sys.stderr, flush=True)
    latency, rates = compare(rounds, "one way", "p50", SOCKPERF), compare(rounds, "rate", "rate", UCX)
    with open(os.path.join(OUT, "udp.json"), "w") as file:
        json.dump({"rounds": rounds, "cpus": [CLIENT, SERVER], "one_way_us": latency, "rate_m_per_s": rates,
                   "goals": {"one_way_ratio_at_most": ONE_WAY_GOAL, "rate_ratio_at_least": RATE_GOAL}, "troubles": troubles},
                  file, indent=1)
    text = show(rounds, latency, rates)
    with open(os.path.join(OUT, "udp.txt"), "w") as file:
        file.write(text)
    print(text, end="")
    return 0


sys.exit(main())
