# SPDX-License-Identifier: Apache-2.0
"""perftest: WRITE, READ, SEND and atomics, bandwidth and latency, with the options that change what the NIC is asked."""
import os
import re

import capture
import wireshark
from case import Case

PACKAGE = "perftest"
MTUS = (256, 512, 1024, 2048, 4096)
# perftest 4.5 compares no data of its own (its latency tests wait for the last byte of each message). What is sent and
# where it has to arrive is therefore put into files (--mmap) that are compared after the run.
FILE_BYTES = 1 << 22
PRELOADED = "{build}/tests/compat/libcompat_srand.so"


def rows(text):
    """The table that perftest prints: lists of numbers."""
    found, inside = [], False
    for line in text.splitlines():
        if "#bytes" in line:
            inside = True
        elif inside and re.match(r"^ *\d", line):
            found.append([float(w) for w in line.replace("]", " ").replace("[", " ").split() if re.match(r"^[-+.\de]+$|^inf$|^nan$", w)])
        elif inside and line.startswith("----"):
            inside = False
    return found


def figure_of(program, text, sizes=None):
    table = rows(text)
    if not table:
        return "no table is printed", ""
    if sizes and [int(row[0]) for row in table] != sizes:
        return f"sizes {[int(row[0]) for row in table]}, expected {sizes}", ""
    if program.endswith("_bw"):
        if any(len(row) < 5 or not row[4] > 0 for row in table):
            return "a message rate of 0", ""
        best = max(table, key=lambda row: row[3])
        fastest = max(row[4] for row in table)
        return None, f"{best[3] * 1.048576e-3:.2f} GB/s at {int(best[0])} B; {fastest:.3f} M msg/s"
    # With -D only the average is printed, and transactions a second.
    if any(len(row) < 4 or not row[2] > 0 for row in table):
        return "a latency of 0", ""
    if len(table[0]) == 4:
        return None, f"{table[0][2]:.2f} us on average at {int(table[0][0])} B"
    return None, f"{table[0][4]:.2f} us typical at {int(table[0][0])} B"


def plain(program, sizes=None):
    return lambda outcome: figure_of(program, outcome.text["client"], sizes)


def pair(program, what, options, **more):
    words = [program, "-F", "-p", "{port}"] + options
    more.setdefault("check", plain(program))
    return Case(program, PACKAGE, what, words + ["localhost"], words, **more)


# What a run with one size and n iterations has to put on the wire: (side that sends it, operation), by test.
def carried(program, n, size, both_ways):
    sides = ("client", "server") if both_ways else ("client",)
    if "_atomic_" in program:
        return [(side, "fetch and add", n, 8 * 0) for side in sides]
    if "_read_" in program:
        # The responses leave from the other side.
        answers = {"client": "server", "server": "client"}
        return [(answers[side], "read response", n, n * size) for side in sides]
    return [(side, "write" if "_write_" in program else "send", n, n * size) for side in sides]


def agrees(program, n, size, both_ways, mtu=4096):
    """perftest's own count beside the packets of both captures."""
    def check(outcome):
        reason, figure = figure_of(program, outcome.text["client"], [size])
        if reason:
            return reason, figure
        said = int(rows(outcome.text["client"])[0][1])
        expected_said = n * 2 if both_ways and program.endswith("_bw") and said == 2 * n else n
        if said != expected_said:
            return f"perftest says {said} iterations, asked for {n}", figure
        for side, operation, messages, payload in carried(program, n, size, both_ways):
            if side not in outcome.capture:
                return f"the {side} left no capture", figure
            # Both captures hold both directions: each has to show what this side sent.
            for reader in ("client", "server"):
                found = totals(outcome.capture[reader]).get((side_of(outcome, side), operation), (0, 0, 0))
                per_message = max(1, -(-size // mtu)) if "_atomic_" not in program else 1
                if found != (messages * per_message, messages, payload):
                    return (f"{reader}'s capture: {operation} of the {side}: {found[0]} packets, {found[1]} messages, "
                            f"{found[2]} bytes; perftest moved {messages * per_message}, {messages}, {payload}"), figure
        return None, f"{messages} messages, {payload} bytes in both captures; {figure}"
    return check


def side_of(outcome, side):
    """The queue pair that this side sends to, as perftest prints it: ' remote address: ... QPN 0x0123 ...'."""
    found = re.search(r"remote address:.*?QPN (0x[0-9a-f]+)", outcome.text[side])
    return int(found.group(1), 16) if found else -1


def totals(path):
    """(destination QP, operation) -> (packets, messages, payload bytes)."""
    seen, found = set(), {}
    for frame in capture.records(path):
        packet = capture.parse(frame)
        if packet is None:
            continue
        key = (packet.qpn, packet.operation, packet.psn)
        if key in seen:
            continue
        seen.add(key)
        packets, messages, size = found.get(key[:2], (0, 0, 0))
        found[key[:2]] = (packets + 1, messages + packet.ends, size + packet.bytes)
    return found


def files(folder):
    for side in ("client", "server"):
        with open(os.path.join(folder, side + ".data"), "wb") as f:
            f.truncate(FILE_BYTES)


def same_data(program, size):
    """perftest fills both buffers with random bytes; afterwards one piece of one has to be the other's."""
    def check(outcome):
        reason, figure = figure_of(program, outcome.text["client"], [size])
        if reason:
            return reason, figure
        halves = []
        for side in ("client", "server"):
            with open(os.path.join(outcome.folder, side + ".data"), "rb") as f:
                data = f.read()
            step = -(-size // 4096) * 4096
            halves.append([data[at:at + size] for at in (0, step)])
            os.unlink(os.path.join(outcome.folder, side + ".data"))
        if any(len(set(half)) < 64 for half in halves[0] + halves[1]):
            return "the buffers are not filled as expected: nothing can be said about the data", figure
        if halves[0][0] == halves[0][1] or halves[0] == halves[1]:
            return "the buffers were the same from the start: nothing can be said about the data", figure
        if not any(a == b for a in halves[0] for b in halves[1]):
            return "the bytes that arrived are not the bytes that were sent", figure
        return None, f"{size} bytes compared; {figure}"
    return check


def cases_of_sizes(kind):
    """-a of each test, old and new API: every power of two that the test has."""
    for way in ("bw", "lat"):
        program = f"ib_{kind}_{way}"
        n = "100" if way == "bw" else "50"
        everything = [2 << i for i in range(23)]
        for api in ([], ["--use_old_post_send"]):
            yield pair(program, " ".join(["-a -n", n] + api), ["-a", "-n", n] + api, check=plain(program, everything), limit=120)


def read_by_wireshark():
    """Each kind of packet that perftest makes a NIC send, small and of several packets, as somebody else reads it."""
    runs = [("ib_write_bw", []), ("ib_read_bw", []), ("ib_send_bw", []), ("ib_write_bw", ["-c", "UC"]),
            ("ib_send_bw", ["-c", "UC"]), ("ib_send_lat", ["-c", "UD", "-s", "1000"]), ("ib_send_lat", ["-I", "64", "-s", "33"]),
            ("ib_atomic_lat", []), ("ib_atomic_lat", ["-A", "CMP_AND_SWAP"]), ("ib_write_bw", ["-R"])]
    for program, extra in runs:
        size = [] if "atomic" in program or "-s" in extra else ["-s", "5001"]
        options = extra + size + ["-n", "20"]
        more = {"ready": "cm"} if "-R" in extra else {}
        for link in ("eth", "ib") if not extra else ("eth",):
            where = ", InfiniBand link" if link == "ib" else ""
            yield pair(program, " ".join(options) + f"{where}, read by tshark", options, capture=True, softnic={"SOFTNIC_LINK": link},
                       needs=(("tshark", "tshark"),), quick=program == "ib_write_bw" and "-R" in extra,
                       check=wireshark.reads(plain(program)), **more)


def cases():
    yield from read_by_wireshark()
    for kind in ("write", "read", "send", "atomic"):
        for way in ("bw", "lat"):
            program = f"ib_{kind}_{way}"
            sized = kind != "atomic"
            yield pair(program, "default", ["-n", "1000"], quick=program == "ib_write_lat")
            yield pair(program, "--use_old_post_send", ["-n", "1000", "--use_old_post_send"])
            size = ["-s", "10000"] if sized else []
            for mtu in MTUS:
                yield pair(program, f"-m {mtu}", ["-m", str(mtu), "-n", "500"] + size)
            yield pair(program, "InfiniBand link", ["-n", "1000"], softnic={"SOFTNIC_LINK": "ib"})
            yield pair(program, "-D 2", ["-D", "2", "-f", "0"])
            if kind in ("write", "send"):
                yield pair(program, "-I 128 -s 64 (inline)", ["-I", "128", "-s", "64", "-n", "1000"])
                yield pair(program, "-c UC", ["-c", "UC", "-n", "1000"] + size)
            if kind == "send":
                yield pair(program, "-c UD", ["-c", "UD", "-n", "1000", "-s", "1024"])
                yield pair(program, "-c UD -a", ["-c", "UD", "-a", "-n", "100"])
                yield pair(program, "--use-srq", ["--use-srq", "-n", "1000"])
            if kind != "write":
                yield pair(program, "-e (events)", ["-e", "-n", "1000"], quick=kind == "send")
            if kind == "atomic":
                yield pair(program, "-A CMP_AND_SWAP", ["-A", "CMP_AND_SWAP", "-n", "1000"])
                yield pair(program, "-o 1", ["-o", "1", "-n", "500"])
            if way == "bw":
                for queues in ("4", "16"):
                    yield pair(program, f"-q {queues}", ["-q", queues, "-n", "500"])
                yield pair(program, "-b (both ways)", ["-b", "-n", "1000"])
                yield pair(program, "-b -q 4", ["-b", "-q", "4", "-n", "500"])
                yield pair(program, "-l 16 (posted in lists)", ["-l", "16", "-n", "1600"])
                yield pair(program, "-Q 1 -t 512", ["-Q", "1", "-t", "512", "-n", "1000"])
            yield pair(program, "-R (librdmacm)", ["-R", "-n", "1000"], ready="cm")
            n, size = (300, 10000) if sized else (300, 8)
            options = ["-n", str(n), "-m", "1024"] + (["-s", str(size)] if sized else [])
            # A ping-pong of latency goes both ways, a READ or an atomic one way only.
            both = way == "lat" and kind in ("write", "send")
            yield pair(program, f"-s {size} -n {n}, packets counted", options, capture=True, quick=way == "bw",
                       check=agrees(program, n, size, both, 1024))
        if kind != "atomic":
            for size in (1000, 65536, 1048576):
                options = ["-s", str(size), "-n", "50", "--mmap={folder}/{side}.data"]
                yield pair(f"ib_{kind}_bw", f"-s {size} --mmap, buffers compared", options, before=files, quick=size == 65536,
                           env={"LD_PRELOAD": PRELOADED},
                           check=same_data(f"ib_{kind}_bw", size))
            yield from cases_of_sizes(kind)
    # What a ConnectX has and softnic has not: refused, and perftest ends with its own message.
    none = r"[^\n]*(XRC|xrc|DC|not support|[Uu]nsupported|[Cc]ouldn't|[Ff]ailed|Unable)[^\n]*"
    yield pair("ib_write_bw", "-c XRC", ["-c", "XRC", "-n", "100"], refusal=none)
    yield pair("ib_write_bw", "-c DC", ["-c", "DC", "-n", "100"], refusal=none)
    yield pair("ib_write_bw", "--odp", ["--odp", "-n", "100"], refusal=none)
