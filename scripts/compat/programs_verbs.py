# SPDX-License-Identifier: Apache-2.0
"""ibverbs-utils: devices and the ping-pongs with all their options."""
import re

from case import Case

PACKAGE = "ibverbs-utils"
ODP = r"does not support|isn't supported|Couldn't register|not support[^\n]*"


def devices(outcome):
    names = re.findall(r"^\s*((?:mlx5_|softnic)\S*)\s+[0-9a-f]{16}", outcome.text["program"], re.M)
    return (None, " ".join(names)) if names else ("no device is listed", "")


def devinfo(outcome):
    text = outcome.text["program"]
    for needed in (r"PORT_ACTIVE", r"fw_ver:\s+\d", r"vendor_id:\s+0x02c9", r"GID\[\s*0\]:\s+[0-9a-f:]{10}", r"max_qp:\s+[1-9]"):
        if not re.search(needed, text):
            return f"nothing matches {needed}", ""
    return None, f"{len(text.splitlines())} lines"


def usec(outcome):
    found = re.search(r"= ([\d.]+) usec/iter", outcome.text["client"])
    return (None, f"{found.group(1)} us a round trip") if found else ("no time is printed", "")


def chosen(outcome):
    """-c of the ping-pongs prints a line for each byte that differs and still ends with 0."""
    for name, text in outcome.text.items():
        wrong = re.search(r"invalid data[^\n]*", text)
        if wrong:
            return f"{name}: {wrong.group(0)}", ""
    return usec(outcome)


def pair(program, what, options, softnic=None, **more):
    words = [program, "-g", "0", "-p", "{port}"] + options
    return Case(program, PACKAGE, what, words + ["localhost"], words, softnic=softnic or {}, check=chosen, **more)


def cases():
    yield Case("ibv_devices", PACKAGE, "list", ["ibv_devices"], check=devices, quick=True)
    yield Case("ibv_devices", PACKAGE, "list, 3 devices", ["ibv_devices"], softnic={"SOFTNIC_DEVICES": "3"}, check=devices)
    yield Case("ibv_devinfo", PACKAGE, "-v, RoCE", ["ibv_devinfo", "-v"], check=devinfo, quick=True)
    yield Case("ibv_devinfo", PACKAGE, "-v, InfiniBand", ["ibv_devinfo", "-v"], softnic={"SOFTNIC_LINK": "ib"}, check=devinfo)
    for kind in ("rc", "uc", "ud", "srq"):
        program = f"ibv_{kind}_pingpong"
        mtu = [] if kind == "ud" else ["-m", "4096"]
        small = ["-s", "1024"] if kind == "ud" else []
        yield pair(program, "default", small, quick=True)
        yield pair(program, "-e (events)", small + ["-e"], quick=kind == "rc")
        yield pair(program, "-c (data compared) -n 5000", small + ["-c", "-n", "5000"])
        if kind != "ud":
            for size in ("1", "65536", "1048576"):
                yield pair(program, f"-s {size} -c -n 200", mtu + ["-s", size, "-c", "-n", "200"])
            for bytes_ in ("256", "512", "1024", "2048", "4096"):
                yield pair(program, f"-m {bytes_} -s 10000 -c", ["-m", bytes_, "-s", "10000", "-c"])
        yield pair(program, "InfiniBand link", small, {"SOFTNIC_LINK": "ib"})
        words = [program, "-p", "{port}"] + small
        yield Case(program, PACKAGE, "InfiniBand link, no GID (LIDs)", words + ["localhost"], words,
                   softnic={"SOFTNIC_LINK": "ib"}, check=chosen)
    yield pair("ibv_rc_pingpong", "-t (time stamps)", ["-t"])
    yield pair("ibv_rc_pingpong", "-N (new post-send API)", ["-N"], quick=True)
    # Not -t with -e: the tool then takes an event without a further completion, which is legal, for a failure.
    yield pair("ibv_rc_pingpong", "-N -t -c", ["-N", "-t", "-c"])
    yield pair("ibv_rc_pingpong", "-N -e -c", ["-N", "-e", "-c"])
    yield pair("ibv_rc_pingpong", "-j (device memory)", ["-j"], refusal=r"[^\n]*(dm|device memory|DM)[^\n]*")
    yield pair("ibv_rc_pingpong", "-o (on-demand paging)", ["-o"], refusal=r"[^\n]*(ODP|odp|support)[^\n]*")
    yield pair("ibv_srq_pingpong", "-q 4 -e -c", ["-q", "4", "-e", "-c"])
    yield pair("ibv_xsrq_pingpong", "default", [], refusal=r"[^\n]*(xrc|XRC|support)[^\n]*")
