#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Merges what scripts/h200.sh wrote into perf.csv, post-rate.csv and tables.md.

    scripts/h200-collect.py OUT DEST
"""
import csv
import json
import pathlib
import sys

out, dest = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
dest.mkdir(parents=True, exist_ok=True)
runs = {}
for path in sorted(out.glob("*.json")):
    try:
        runs[path.stem] = json.loads(path.read_text())
    except json.JSONDecodeError:
        pass  # the step failed; its log and the summary say so

SETTINGS = ("test", "gpu_backend", "nic_backend", "wire", "doorbell", "queue_mem", "data_mem", "cq", "scope", "sharing",
            "ctas", "threads", "qps", "depth", "window", "bidirectional")
LATENCY = ("min", "mean", "p50", "p99", "p99.9", "max", "samples")
perf, posts = [], []
for name, run in runs.items():
    if run["test"] == "post-rate":
        posts.append({"run": name, **{k: run[k] for k in ("gpu", "queue_mem", "doorbell", "scope", "sharing", "ctas",
                                                           "threads", "qps", "depth", "wqes")},
                      "wqe_per_s": round(run["wqe_per_s"]), "floor_wqe_per_s": round(run["floor_wqe_per_s"])})
        continue
    for row in run["rows"]:
        floors = row.get("floors_before", {})
        perf.append({"run": name, **{k: run[k] for k in SETTINGS}, "size_bytes": row["size_bytes"],
                     "messages": row["messages"], "messages_per_s": round(row["messages_per_s"]),
                     "gb_per_s": round(row["gb_per_s"], 4),
                     **{f"lat_{k}_us" if k != "samples" else k: round(row["latency_us"][k], 3) for k in LATENCY},
                     "verified": row["verified"], "cpu_gpu_flag_p50_us": floors.get("cpu_gpu_flag_p50_us", ""),
                     "memcpy_64k_gb_per_s": floors.get("memcpy_64k_gb_per_s", ""),
                     "line_round_trip_ns": floors.get("line_round_trip_ns", "")})


def write(name, rows):
    if rows:
        with open(dest / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


write("perf.csv", perf)
write("post-rate.csv", posts)
with open(dest / "tables.md", "w", encoding="utf-8") as file:
    print("<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- written by scripts/h200-collect.py -->", file=file)
    print("\n## Through the software NIC\n\n| run | size B | messages/s | GB/s | lat p50 us | p99 us | CPU-GPU flag p50 us | "
          "verified |\n|---|---|---|---|---|---|---|---|", file=file)
    for r in perf:
        if not r["run"].startswith("check-"):
            flag = f"{r['cpu_gpu_flag_p50_us']:.2f}" if r["cpu_gpu_flag_p50_us"] != "" else ""
            print(f"| {r['run']} | {r['size_bytes']} | {r['messages_per_s']:,} | {r['gb_per_s']:.3f} | {r['lat_p50_us']:.2f} | "
                  f"{r['lat_p99_us']:.2f} | {flag} | {r['verified']} |", file=file)
    print("\n## Posting rate, no NIC behind the ring\n\n| scope | sharing | CTAs | threads | queues | doorbell | rings | "
          "10^6 WQE/s | floor kernel |\n|---|---|---|---|---|---|---|---|---|", file=file)
    for r in posts:
        print(f"| {r['scope']} | {r['sharing']} | {r['ctas']} | {r['threads']} | {r['qps']} | {r['doorbell']} | "
              f"{r['queue_mem']} | {r['wqe_per_s'] / 1e6:.1f} | {r['floor_wqe_per_s'] / 1e6:.1f} |", file=file)
