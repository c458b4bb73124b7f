# SPDX-License-Identifier: Apache-2.0
"""UCX: its transports one by one (UCT), and what an application sees (UCP)."""
import re

from case import Case

PACKAGE = "ucx-utils"


def final(outcome):
    """-f: one line of numbers at the end: iterations, percentile, average, overall; MB/s twice; messages/s twice."""
    lines = [line for line in outcome.text["client"].splitlines() if re.match(r"^\s*(Final:)?\s*\d+\s+[\d.]+", line)]
    if not lines:
        return "no final line", ""
    numbers = re.findall(r"\d+\.?\d*", lines[-1])
    return None, f"{float(numbers[2]):.2f} us, {float(numbers[4]):.0f} MB/s, {float(numbers[6]):.0f} msg/s"


def pair(what, options, env, **more):
    words = ["ucx_perftest", "-p", "{port}", "-f"] + options
    return Case("ucx_perftest", PACKAGE, what, words + ["localhost"], words, env=env, check=final, limit=40, **more)


def uct(transport, test, size, layout=None, **more):
    # rc_mlx5 polls CQEs in memory and never calls the library: both ends spin, and so do both NICs.
    count = "300" if transport == "rc_mlx5" else "2000"
    options = ["-d", "{device}:1", "-x", transport, "-t", test, "-s", str(size), "-n", count, "-w", "50"]
    if layout:
        options += ["-D", layout]
    return pair(f"UCT {transport} {test} {size} B {layout or ''}".strip(), options, {}, **more)


def ucp(transports, test, size, extra=(), **more):
    options = ["-t", test, "-s", str(size), "-n", "1000", "-w", "50"] + list(extra)
    what = " ".join([f"UCX_TLS={transports} {test} {size} B"] + list(extra))
    return pair(what, options, {"UCX_TLS": transports, "UCX_NET_DEVICES": "{device}:1"}, **more)


def cases():
    for transport in ("rc_verbs", "rc_mlx5"):
        for test, size, layout in (("am_lat", 8, "short"), ("am_bw", 4096, "bcopy"), ("am_bw", 4096, "zcopy"),
                                   ("put_lat", 8, "short"), ("put_bw", 4096, "bcopy"), ("put_bw", 65536, "zcopy"),
                                   ("get", 4096, "bcopy"), ("get", 65536, "zcopy"), ("fadd", 8, None), ("cswap", 8, None)):
            yield uct(transport, test, size, layout, quick=transport == "rc_verbs" and test == "put_lat")
    for transport in ("ud_verbs", "ud_mlx5"):
        for test, size, layout in (("am_lat", 8, "short"), ("am_bw", 1024, "bcopy"), ("am_bw", 1024, "zcopy")):
            yield uct(transport, test, size, layout)
    for transports in ("rc_v,self", "ud_v,self", "rc,ud,self", "rc_x,self"):
        for test, size in (("tag_lat", 8), ("tag_bw", 1048576), ("ucp_put_bw", 4096), ("ucp_get", 65536), ("ucp_fadd", 8),
                           ("ucp_cswap", 8), ("stream_bw", 4096), ("ucp_am_bw", 4096)):
            yield ucp(transports, test, size, quick=transports == "ud_v,self" and test == "tag_lat")
        yield ucp(transports, "tag_lat", 8, ("-E", "sleep"))
    yield ucp("dc_x,self", "tag_lat", 8, refusal=r"[^\n]*(not available|no usable transports|Destination is unreachable|No such device|DCI, RTS\) failed)[^\n]*")
