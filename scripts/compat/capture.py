# SPDX-License-Identifier: Apache-2.0
"""Reads softnic's captures (classic pcap, Ethernet, RoCEv2) by the specifications: packets and payload by operation.

A reader of its own on purpose: it shares nothing with the program that wrote the file."""
import collections
import struct

RC, UC, UD = 0, 1, 3
# IBTA volume 1, table 38: low five bits of the opcode -> (operation, extended headers in bytes)
OPERATION = {
    0x00: ("send", 0), 0x01: ("send", 0), 0x02: ("send", 0), 0x03: ("send", 4), 0x04: ("send", 0), 0x05: ("send", 4),
    0x06: ("write", 16), 0x07: ("write", 0), 0x08: ("write", 0), 0x09: ("write", 4), 0x0A: ("write", 16),
    0x0B: ("write", 20), 0x0C: ("read request", 16), 0x0D: ("read response", 4), 0x0E: ("read response", 0),
    0x0F: ("read response", 4), 0x10: ("read response", 4), 0x11: ("acknowledge", 4), 0x12: ("atomic response", 12),
    0x13: ("compare and swap", 28), 0x14: ("fetch and add", 28), 0x16: ("send", 4), 0x17: ("send", 4),
}
ENDS = {0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0F, 0x10, 0x12, 0x13, 0x14, 0x16, 0x17}
Packet = collections.namedtuple("Packet", "operation ends bytes qpn psn payload transport source")


def records(path):
    with open(path, "rb") as f:
        data = f.read()
    if len(data) < 24:
        raise ValueError(f"{path}: no pcap header")
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}.get(data[:4])
    if not order:
        raise ValueError(f"{path}: no pcap file")
    at = 24
    while at + 16 <= len(data):
        length = struct.unpack_from(order + "I", data, at + 8)[0]
        at += 16
        if at + length > len(data):
            raise ValueError(f"{path}: a record is cut off")
        yield data[at:at + length]
        at += length


def parse(frame):
    """A RoCEv2 frame, or None for anything else."""
    kind = struct.unpack_from(">H", frame, 12)[0]
    if kind == 0x86DD:
        source, at, protocol = frame[22:38], 14 + 40, frame[20]
    elif kind == 0x0800:
        source, at, protocol = frame[26:30], 14 + 4 * (frame[14] & 15), frame[23]
    else:
        return None
    if protocol != 17 or struct.unpack_from(">H", frame, at + 2)[0] != 4791:
        return None
    length = struct.unpack_from(">H", frame, at + 4)[0] - 8
    at += 8
    end = at + length
    opcode, pad = frame[at], frame[at + 1] >> 4 & 3
    qpn = struct.unpack_from(">I", frame, at + 4)[0] & 0xFFFFFF
    psn = struct.unpack_from(">I", frame, at + 8)[0] & 0xFFFFFF
    code, transport = opcode & 0x1F, opcode >> 5
    operation, extended = OPERATION.get(code, ("unknown", 0))
    if transport == UD:
        extended += 8
    payload = frame[at + 12 + extended:end - 4 - pad]
    return Packet(operation, code in ENDS, len(payload), qpn, psn, payload, transport, bytes(source))


def count(path, by=None):
    """operation -> (packets, messages, payload bytes); a packet that is sent again (same QP and PSN) counts once."""
    seen, found = set(), {}
    for frame in records(path):
        packet = parse(frame)
        if packet is None or by and not by(packet):
            continue
        # A response shares its PSN with nothing else of its operation; 24 bits come round only after 16 million.
        key = (packet.operation, packet.qpn, packet.psn)
        if key in seen:
            continue
        seen.add(key)
        packets, messages, size = found.get(packet.operation, (0, 0, 0))
        found[packet.operation] = (packets + 1, messages + packet.ends, size + packet.bytes)
    return found
