# SPDX-License-Identifier: Apache-2.0
"""rdmacm-utils over the drop-in librdmacm: connections made by MADs on QP 1."""
import re

from case import Case

PACKAGE = "rdmacm-utils"


def pings(count):
    def check(outcome):
        found = len(re.findall(r"^ping data: ", outcome.text["client"], re.M))
        return (None, f"{found} pings, data compared") if found == count else (f"{found} of {count} pings came back", "")
    return check


def said(text):
    return lambda outcome: (None, "") if re.search(text, outcome.all_text()) else (f"nobody says {text!r}", "")


def rping(what, options, count, **more):
    # Its main thread destroys the event channel when all is done, whether or not the thread that fetches events is back at it.
    common = ["rping", "-p", "{port}", "-C", str(count), "-v", "-V"] + options
    return Case("rping", PACKAGE, what, common + ["-c", "-a", "127.0.0.1"], common + ["-s", "-a", "127.0.0.1"],
                ready="cm", limit=60, check=pings(count), pardon=r"^rdma_get_cm_event: Bad file descriptor$", **more)


def cases():
    yield rping("-C 10 -V", [], 10, quick=True)
    yield rping("-C 500 -S 4000 -V", ["-S", "4000"], 500)
    yield rping("-C 10 -q (own queue pair)", ["-q"], 10)
    yield Case("ucmatose", PACKAGE, "-c 4 -C 100 (events and data)", ["ucmatose", "-c", "4", "-C", "100", "-p", "{port}", "-s", "127.0.0.1"],
               ["ucmatose", "-c", "4", "-C", "100", "-p", "{port}", "-b", "127.0.0.1"], ready="cm", check=said("test complete"))
    yield Case("udaddy", PACKAGE, "-c 2 -C 50 (datagrams, SIDR)", ["udaddy", "-c", "2", "-C", "50", "-s", "127.0.0.1"],
               ["udaddy", "-c", "2", "-C", "50"], ready="cm", check=said("test complete"))
    yield Case("rdma_client", PACKAGE, "rdma_server, rdma_client", ["rdma_client", "-s", "127.0.0.1", "-p", "{port}"],
               ["rdma_server", "-s", "127.0.0.1", "-p", "{port}"], ready="cm", check=said("rdma_client: end 0"))
    yield Case("rdma_xclient", PACKAGE, "-c r (RC)", ["rdma_xclient", "-s", "127.0.0.1", "-p", "{port}", "-c", "r"],
               ["rdma_xserver", "-p", "{port}", "-c", "r"], ready="cm", check=said("rdma_xclient: end 0"))
    yield Case("riostream", PACKAGE, "rsockets", ["riostream", "-s", "127.0.0.1", "-p", "{port}", "-T", "s", "-S", "custom"],
               ["riostream", "-p", "{port}", "-b", "127.0.0.1"], ready="cm",
               refusal=r"[^\n]*(not support|symbol lookup error|rsocket)[^\n]*")
