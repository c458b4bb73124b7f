# SPDX-License-Identifier: Apache-2.0
"""libfabric's verbs provider: connections by librdmacm, data compared by fi_pingpong -c."""
import re

from case import Case

PACKAGE = "libfabric-bin"


def table(outcome):
    lines = re.findall(r"^(\d+[kmg]?)\s+\S+\s+=?\S+\s+\S+\s+(\S+)s\s+([\d.]+)\s+([\d.]+)", outcome.text["client"], re.M)
    if not lines:
        return "no table is printed", ""
    return None, f"{len(lines)} sizes; {lines[0][3]} us at {lines[0][0]} B, {lines[-1][2]} MB/s at {lines[-1][0]}"


def pair(what, options, **more):
    words = ["fi_pingpong", "-c"] + options
    more.setdefault("check", table)
    return Case("fi_pingpong", PACKAGE, what, words + ["-P", "{port}", "127.0.0.1"], words + ["-B", "{port}"], **more)


def cases():
    yield Case("fi_info", PACKAGE, "-p verbs", ["fi_info", "-p", "verbs"], quick=True,
               check=lambda o: (None, f"{len(re.findall('^provider:', o.text['program'], re.M))} endpoints")
               if "provider: verbs" in o.text["program"] else ("no verbs provider is listed", ""))
    yield pair("verbs, -e msg -c (data compared)", ["-p", "verbs", "-e", "msg"])
    yield pair("verbs, -e dgram -c", ["-p", "verbs", "-e", "dgram"])
    yield pair("verbs;ofi_rxm, -e rdm -c", ["-p", "verbs;ofi_rxm", "-e", "rdm"])
    yield pair("verbs;ofi_rxm, -e rdm -m tagged -c", ["-p", "verbs;ofi_rxm", "-e", "rdm", "-m", "tagged"])
    yield pair("verbs;ofi_rxd, -e rdm -c", ["-p", "verbs;ofi_rxd", "-e", "rdm"])
