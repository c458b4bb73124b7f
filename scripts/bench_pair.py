# SPDX-License-Identifier: Apache-2.0
"""Programs of two ends, each on a CPU of its own: what bench-alternatives.py and bench-udp.py have in common."""
import json
import os
import re
import subprocess
import time

CPUS = sorted(os.sched_getaffinity(0))
CLIENT, SERVER = CPUS[0], CPUS[min(1, len(CPUS) - 1)]


class NotMeasured(Exception):
    """A program that is not there, or that failed; the text says how."""


def pinned(cpu, command, env=None):
    return subprocess.Popen(["taskset", "-c", str(cpu)] + command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, env={**os.environ, **(env or {})})


def pair(server, client, env=None, wait=0.4):
    """Output of the client; the server is ended with it."""
    first = pinned(SERVER, server, env)
    time.sleep(wait)
    second = pinned(CLIENT, client, env)
    try:
        text = second.communicate(timeout=60)[0]
    except subprocess.TimeoutExpired:
        second.kill()
        text = second.communicate()[0] + "\nended after 60 s"
    finally:
        first.terminate()
        try:
            first.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            first.kill()
            first.communicate()
    return text


def gdaki_row(gdaki, row_file, wire, *options):
    """One row of `gdaki perf --pair --pin` with its floors, on the CPU back-ends."""
    env = {**os.environ, "GDAKI_GPU": "cpu", "GDAKI_NIC": "softnic", "SOFTNIC_WIRE": wire}
    run = subprocess.run([gdaki, "perf", *options, "--pair", "--pin", "--quiet", "--floor", "--json", row_file], env=env,
                         capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        raise NotMeasured((run.stderr.strip() or run.stdout.strip())[-200:])
    with open(row_file) as file:
        return json.load(file)["rows"][0]


def ucx_figures(test, size, count, tls):
    """The last line of figures of ucx_perftest."""
    env = {"UCX_TLS": tls, "UCX_NET_DEVICES": "lo"} if "tcp" in tls else {"UCX_TLS": tls}
    port = str(13400 + os.getpid() % 100)
    text = pair(["ucx_perftest", "-p", port], ["ucx_perftest", "127.0.0.1", "-p", port, "-f", "-t", test, "-s", str(size),
                                               "-n", str(count)], env)
    rows = [line.split() for line in text.splitlines() if re.match(r"^\s+\d+(\s+[0-9.]+){6,}", line)]
    if not rows:
        raise NotMeasured(text.strip()[-200:])
    return [float(x) for x in rows[-1]]


def sockperf_one_way(seconds=1):
    """Half a round trip of sockperf's non-blocked UDP ping-pong, microseconds: {percentile: value}."""
    text = pair(["sockperf", "server", "--nonblocked", "-i", "127.0.0.1", "-p", "11199"],
                ["sockperf", "ping-pong", "--nonblocked", "-i", "127.0.0.1", "-p", "11199", "-m", "16", "-t", str(seconds)])
    got = {float(p): float(v) for p, v in re.findall(r"percentile ([0-9.]+) =\s+([0-9.]+)", text)}
    if 50.0 not in got:
        raise NotMeasured(text.strip()[-200:])
    return got
