#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent RoCEv2 implementation, small and slow, on a UDP socket: the other end of a queue pair of softnic's.

   foreign_peer.py WIRE COMMAND...

COMMAND runs foreign_end.c on softnic: linked with its libibverbs, or `softnic run -- foreign_end`. WIRE is udp, packet:INTERFACE
or the like; the address is put behind it.

It shares no line with the product: headers, invariant CRC (zlib), requester and responder are written here, after the IBTA
specification, and it loses and doubles packets of its choice. Each exchange runs over IPv4 and IPv6; over IPv6 it sends no UDP
checksum, as hardware does.
"""
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
import zlib

PORT = 4791
MTU = 1024
QKEY = 0x11111111
MASK = 0xFFFFFF
PATIENCE = 60  # s: a guard against hangs, no verdict hangs on it
UDP_NO_CHECK6_TX, UDP_NO_CHECK6_RX = 101, 102
RC, UC, UD = 0x00, 0x20, 0x60
# opcode of a packet below its service: (first, middle, last, last with immediate, only, only with immediate)
SEND = (0x00, 0x01, 0x02, 0x03, 0x04, 0x05)
WRITE = (0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B)
READ, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK, CMP_SWAP, FETCH_ADD = range(0x0C, 0x15)
FIRSTS = (0x00, 0x04, 0x05, 0x06, 0x0A, 0x0B)
LASTS = (0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B)
IMMEDIATES = (0x03, 0x05, 0x09, 0x0B)
RETHS = (0x06, 0x0A, 0x0B, READ)


class Packet:
    """What a packet says. Headers that it does not have are None."""

    def __init__(self, opcode, psn, payload=b"", **headers):
        self.opcode, self.psn, self.payload = opcode, psn & MASK, payload
        self.ackreq = headers.pop("ackreq", False)
        self.reth = headers.pop("reth", None)  # address, key, length
        self.atomic = headers.pop("atomic", None)  # address, key, swap or add, compare
        self.aeth = headers.pop("aeth", None)  # syndrome, MSN
        self.orig = headers.pop("orig", None)
        self.imm = headers.pop("imm", None)
        self.deth = headers.pop("deth", None)  # Q_Key, QPN
        self.pkey = headers.pop("pkey", 0xFFFF)
        assert not headers

    def transport(self, qpn):
        """From the BTH to the pad, without the CRC."""
        pad = -len(self.payload) % 4
        out = struct.pack(">BBHII", self.opcode, pad << 4, self.pkey, qpn, (0x80000000 if self.ackreq else 0) | self.psn)
        if self.deth:
            out += struct.pack(">II", *self.deth)
        if self.reth:
            out += struct.pack(">QII", *self.reth)
        if self.atomic:
            out += struct.pack(">QIQQ", *self.atomic)
        if self.aeth:
            out += struct.pack(">I", self.aeth[0] << 24 | self.aeth[1])
        if self.orig is not None:
            out += struct.pack(">Q", self.orig)
        if self.imm is not None:
            out += struct.pack(">I", self.imm)
        return out + self.payload + bytes(pad)


def parse(body):
    """A Packet and its destination, of a datagram without its CRC."""
    opcode, flags, pkey, qpn, psn = struct.unpack_from(">BBHII", body)
    if flags & 0x0F:
        raise AssertionError("transport version")
    if pkey != 0xFFFF or qpn >> 24 or psn & 0x7F000000:
        raise AssertionError("reserved bits or P_Key of a BTH")
    p, at, low = Packet(opcode, psn, ackreq=bool(psn >> 31)), 12, opcode & 0x1F
    if opcode >> 5 == 3:
        p.deth = struct.unpack_from(">II", body, at)
        at += 8
    if low in RETHS:
        p.reth = struct.unpack_from(">QII", body, at)
        at += 16
    if low in (CMP_SWAP, FETCH_ADD):
        p.atomic = struct.unpack_from(">QIQQ", body, at)
        at += 28
    if low in (ACK, ATOMIC_ACK, READ_FIRST, READ_LAST, READ_ONLY):
        word = struct.unpack_from(">I", body, at)[0]
        p.aeth, at = (word >> 24, word & MASK), at + 4
    if low == ATOMIC_ACK:
        p.orig, at = struct.unpack_from(">Q", body, at)[0], at + 8
    if low in IMMEDIATES:
        p.imm, at = struct.unpack_from(">I", body, at)[0], at + 4
    pad = flags >> 4 & 3
    if any(body[len(body) - pad:]):
        raise AssertionError("pad bytes that are not zero")
    p.payload = body[at:len(body) - pad]
    return p, qpn


class Socket:
    """UDP, and what lies around it: the pseudo headers that the invariant CRC covers."""

    def __init__(self, near, far):
        self.family = socket.AF_INET6 if ":" in near else socket.AF_INET
        self.near, self.far = (socket.inet_pton(self.family, a) for a in (near, far))
        self.to, self.changes = (far, PORT), {}
        self.fd = socket.socket(self.family, socket.SOCK_DGRAM)
        if self.family == socket.AF_INET:
            self.fd.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, DO: don't fragment, identification 0
        else:
            self.fd.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_TX, 1)
            self.fd.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)
        self.fd.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.fd.bind((near, PORT))

    def crc(self, source, target, sport, body, identification):
        length = 8 + len(body) + 4
        if self.family == socket.AF_INET:
            ip = struct.pack(">BBHHHBBH", 0x45, 0xFF, 20 + length, identification, 0x4000, 0xFF, 17, 0xFFFF) + source + target
        else:
            ip = struct.pack(">IHBB", 0x6FFFFFFF, length, 17, 0xFF) + source + target
        masked = body[:4] + b"\xff" + body[5:]
        udp = struct.pack(">HHHH", sport, PORT, length, 0xFFFF)
        return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + masked))

    def send(self, body):
        self.fd.sendto(body + self.crc(self.near, self.far, PORT, body, 0), self.to)

    def receive(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return None
        data, source = self.fd.recvfrom(65536)
        body = data[:-4]
        if self.identification(source[1], body, data[-4:]) is None:
            raise AssertionError("invariant CRC of a frame")
        return parse(body)

    def identification(self, sport, body, crc):
        """What a frame's must have been; a socket does not tell. Of softnic's (docs/wires.md) it is 0, or 0, 1, 2 ... in one call
        with segmentation offload, or that of a connected socket, anything. None: the CRC is right with none. To try them all
        would take as long as softnic waits for an answer, so the CRC is asked: it is linear, and each bit of the identification
        changes it by something that depends on the length alone."""
        def number(identification):
            return int.from_bytes(self.crc(self.far, self.near, sport, body, identification), "little")

        none = number(0)
        left, found = none ^ int.from_bytes(crc, "little"), 0
        if left == 0 or self.family != socket.AF_INET:
            return 0 if left == 0 else None
        if len(body) not in self.changes:
            changes = self.changes[len(body)] = []  # (what a combination of bits changes, the bits), no two with the same top bit
            for bit in range(16):
                change, bits = number(1 << bit) ^ none, 1 << bit
                for other, others in changes:
                    if change ^ other < change:
                        change, bits = change ^ other, bits ^ others
                changes.append((change, bits))
                changes.sort(reverse=True)
        for change, bits in self.changes[len(body)]:
            if left ^ change < left:
                left, found = left ^ change, found ^ bits
        return found if left == 0 and number(found) == int.from_bytes(crc, "little") else None


class End:
    """foreign_end under softnic."""

    def __init__(self, wire, command, address):
        env = dict(os.environ, SOFTNIC_WIRE=wire + ("," if ":" in wire else ":") + address)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True, bufsize=1)

    def ask(self, line):
        self.process.stdin.write(line + "\n")

    def answer(self):
        line = self.process.stdout.readline().split()
        if not line or line[0] != "ok":
            raise AssertionError(f"foreign_end: {line}")
        return line[1:]

    def command(self, line):
        self.ask(line)
        return self.answer()

    def put(self, offset, data):
        self.command(f"put {offset} {data.hex()}")

    def get(self, offset, length):
        return bytes.fromhex(self.command(f"get {offset} {length}")[0])

    def recv(self, offset, length):
        self.command(f"recv {offset} {length}")

    def post(self, opcode, offset, length, address=0, key=0, imm=0, compare=0, swap=0, flags="-"):
        self.command(f"post {opcode} {offset} {length} {address} {key} {imm} {compare} {swap} {flags}")

    def quit(self):
        self.ask("quit")
        return self.process.wait(PATIENCE)


class Peer:
    """The queue pair here: QP number, key and addresses are made up; its memory is a bytearray that begins at `base`."""

    def __init__(self, sock, service, psn):
        self.sock, self.service, self.qpn, self.psn = sock, service, 0xABCDEF, psn
        self.base, self.key, self.memory = 0x123456789000, 0xCAFE0102, bytearray(1 << 16)
        self.far_qpn = self.expected = 0
        self.msn, self.saved, self.receives, self.got = 0, {}, [], []
        self.nak_sent = self.dropping = False
        self.message = None
        self.lose_in, self.lose_out, self.double = set(), set(), False  # 1-based, of what comes and of what is answered
        self.seen = self.sent = 0

    # ---- responder (9.7.4, 9.7.5)

    def out(self, packet):
        self.sent += 1
        if self.sent in self.lose_out:
            return
        for _ in range(2 if self.double else 1):
            self.sock.send(packet.transport(self.far_qpn))

    def ack(self, syndrome, psn):
        self.out(Packet(ACK, psn, aeth=(syndrome, self.msn)))

    def place(self, address, length):
        at = address - self.base
        if at < 0 or at + length > len(self.memory):
            raise AssertionError("an address outside of the memory")
        return at

    def read(self, p):
        address, key, length = p.reth
        if key != self.key:
            self.ack(0x62, p.psn)
            return 0
        at, count = self.place(address, length), max(1, -(-length // MTU))
        for i in range(count):
            part = bytes(self.memory[at + i * MTU:at + min(length, (i + 1) * MTU)])
            opcode = READ_ONLY if count == 1 else READ_FIRST if i == 0 else READ_LAST if i == count - 1 else READ_MIDDLE
            self.out(Packet(opcode, p.psn + i, part, aeth=None if opcode == READ_MIDDLE else (0x1F, self.msn)))
        return count

    def atomic(self, p):
        address, key, operand, compare = p.atomic
        assert key == self.key and address % 8 == 0
        at = self.place(address, 8)
        old = struct.unpack_from("<Q", self.memory, at)[0]
        new = operand if p.opcode == CMP_SWAP else (old + operand) % (1 << 64)
        if p.opcode == FETCH_ADD or old == compare:
            struct.pack_into("<Q", self.memory, at, new)
        self.saved[p.psn] = old
        return old

    def data(self, p):
        """One packet of a SEND or WRITE. False: there is no receive for it."""
        low = p.opcode & 0x1F
        if low in FIRSTS:
            is_send = low <= 0x05
            if is_send and not self.receives:
                return False
            self.message = [p.reth, bytearray(), is_send]
        self.message[1] += p.payload
        if low not in LASTS:
            assert len(p.payload) == MTU
            return True
        reth, data, is_send = self.message
        if reth:
            assert len(data) == reth[2]
            if data:
                assert reth[1] == self.key
                at = self.place(reth[0], len(data))
                self.memory[at:at + len(data)] = data
        if is_send or p.imm is not None:
            self.receives.pop(0)
            self.got.append((bytes(data) if is_send else len(data), p.imm))
        self.msn += 1
        return True

    def duplicate(self, p):
        if p.opcode == READ:
            self.read(p)
        elif p.opcode in (CMP_SWAP, FETCH_ADD):
            self.out(Packet(ATOMIC_ACK, p.psn, aeth=(0x1F, self.msn), orig=self.saved[p.psn]))
        elif p.ackreq:
            self.ack(0x1F, self.expected - 1)

    def request(self, p):
        ahead = (p.psn - self.expected) & MASK
        if ahead >= 1 << 23:
            return self.duplicate(p)
        if ahead:
            if not self.nak_sent:
                self.nak_sent = True
                self.ack(0x60, self.expected)
            return None
        self.nak_sent = False
        taken = 1
        if p.opcode == READ:
            self.msn += 1
            taken = self.read(p)
        elif p.opcode in (CMP_SWAP, FETCH_ADD):
            self.msn += 1
            old = self.atomic(p)
            self.out(Packet(ATOMIC_ACK, p.psn, aeth=(0x1F, self.msn), orig=old))
        elif not self.data(p):
            return self.ack(0x20 | 1, p.psn)  # receiver not ready: code 1, 10 us
        elif p.ackreq:
            self.ack(0x1F, p.psn)
        self.expected = (p.psn + taken) & MASK
        return None

    def unreliable(self, p):
        if p.deth:
            assert p.deth[0] == QKEY and p.opcode in (0x64, 0x65)
            self.got.append((p.payload, p.imm, p.deth[1]))
        else:
            self.data(p)

    def step(self, seconds):
        """Takes one request. The answer to one of ours is given back."""
        arrived = self.sock.receive(seconds)
        if not arrived:
            return None
        packet, qpn = arrived
        assert qpn == self.qpn
        assert packet.opcode & 0xE0 == self.service
        self.seen += 1
        if self.seen in self.lose_in:
            return None
        if packet.aeth or packet.opcode == READ_MIDDLE:
            return packet
        if self.service == RC:
            self.request(packet)
        else:
            self.unreliable(packet)
        return None

    def serve(self, end, seconds=PATIENCE):
        """Answers until softnic's end has a completion, which is given back."""
        end.ask(f"poll {int(seconds * 1000)}")
        while not select.select([end.process.stdout], [], [], 0)[0]:
            self.step(0.001)
        return end.answer()

    # ---- requester (9.7.3)

    def packets(self, kind, data, psn, address=None, key=0, imm=None):
        parts = [data[i:i + MTU] for i in range(0, len(data), MTU)] or [b""]
        out = []
        for i, part in enumerate(parts):
            first, last = i == 0, i == len(parts) - 1
            form = (4 if last else 0) if first else (2 if last else 1)
            if last and imm is not None:
                form += 1
            out.append(Packet(self.service | kind[form], psn + i, part, ackreq=last and self.service == RC,
                              imm=imm if last else None, reth=(address, key, len(data)) if first and kind is WRITE else None))
        return out

    def put_out(self, packets):
        for p in packets:
            self.sock.send(p.transport(self.far_qpn))

    def answers(self, enough):
        """Collects answers until `enough` of them says so. Loopback loses nothing, so nothing is asked twice."""
        got, end = [], time.monotonic() + PATIENCE
        while not enough(got):
            p = self.step(0.01)
            if p:
                got.append(p)
            assert time.monotonic() < end, "no answer"
        return got

    def silence(self):
        """Answers that are still on their way."""
        got = []
        while True:
            arrived = self.sock.receive(0.05)
            if not arrived:
                return got
            got.append(arrived[0])


def check(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r:.300}, not {wanted!r:.300}")


class Session:
    """What loses nothing has a timer of 1 to 2 s, so that nobody has to be quick; what does, one of 134 to 268 ms."""

    def __init__(self, args, addresses, service, psn=0xFFFFFD, far_psn=0xFFFFFB, loses=False):
        self.args, self.addresses, self.service, self.psn, self.far_psn = args, addresses, service, psn, far_psn
        self.timeout = 15 if loses else 18

    def __enter__(self):
        near, far = self.addresses
        self.sock = Socket(near, far)
        self.end = End(self.args[0], self.args[1:], far)
        name = {RC: "rc", UC: "uc", UD: "ud"}[self.service]
        qpn, address, key, gid, _ = self.end.command(f"open {name} 0 {self.far_psn} 4")
        peer = self.peer = Peer(self.sock, self.service, self.psn)
        peer.far_qpn, peer.expected = int(qpn), self.far_psn
        self.address, self.key = int(address), int(key)
        gid = self.sock.near if len(self.sock.near) == 16 else bytes(10) + b"\xff\xff" + self.sock.near
        # min_rnr_timer 12: 0.64 ms
        self.end.command(f"connect {peer.qpn} {self.psn} {gid.hex()} {MTU} {self.timeout} 7 7 12")
        return self.end, peer, self

    def __exit__(self, kind, value, trace):
        if kind:
            self.end.process.kill()
            self.end.process.wait()
        else:
            check("foreign_end's exit status", self.end.quit(), 0)
        self.end.process.stdin.close()
        self.end.process.stdout.close()
        self.sock.fd.close()


def bytes_of(seed, length):
    return random.Random(seed).randbytes(length)


def requests_of_softnic(args, addresses):
    """softnic asks, also with packets lost on either way, and with every answer twice"""
    for name, lose_in, lose_out, double in (("whole", (), (), False), ("doubled", (), (), True),
                                            ("lost", (2, 9, 14, 20, 33), (1, 4, 7, 8, 13, 18), False)):
        with Session(args, addresses, RC, loses=bool(lose_in)) as (end, peer, _):
            peer.lose_in, peer.lose_out, peer.double = set(lose_in), set(lose_out), double
            for i, length in enumerate((1, 8, MTU, 5000)):
                data = bytes_of(i, length)
                end.put(0, data)
                end.post("write", 0, length, peer.base + 64, peer.key)
                check(f"{name}: write of {length}", peer.serve(end)[0], "0")
                check(f"{name}: bytes written", bytes(peer.memory[64:64 + length]), data)
                peer.receives += [1, 1, 1]
                end.post("send", 0, length, flags="n")
                end.post("send-imm", 0, length, imm=0xDEADBEEF, flags="n")
                end.post("write-imm", 0, length, peer.base + 8192, peer.key, imm=7)
                check(f"{name}: sends of {length}", peer.serve(end)[0], "0")
                check(f"{name}: messages", peer.got, [(data, None), (data, 0xDEADBEEF), (length, 7)])
                check(f"{name}: bytes written with immediate", bytes(peer.memory[8192:8192 + length]), data)
                peer.got.clear()
                peer.memory[16384:16384 + length] = bytes_of(100 + i, length)
                end.post("read", 10000, length, peer.base + 16384, peer.key)
                check(f"{name}: read of {length}", peer.serve(end)[0], "0")
                check(f"{name}: bytes read", end.get(10000, length), bytes_of(100 + i, length))
            struct.pack_into("<Q", peer.memory, 128, 100)
            for i in range(5):
                end.post("fetch-add", 20000 + 8 * i, 8, peer.base + 128, peer.key, compare=i + 1, flags="n" if i < 4 else "-")
            check(f"{name}: additions", peer.serve(end)[0], "0")
            check(f"{name}: what they found", struct.unpack("<5Q", end.get(20000, 40)), (100, 101, 103, 106, 110))
            end.post("cmp-swap", 20000, 8, peer.base + 128, peer.key, compare=115, swap=777)
            check(f"{name}: compare and swap", peer.serve(end)[0], "0")
            check(f"{name}: the word", struct.unpack_from("<Q", peer.memory, 128), (777,))
            if name == "lost":
                assert peer.seen > max(lose_in) and peer.sent > max(lose_out), "not all of what was to be lost was there"
    with Session(args, addresses, RC) as (end, peer, _):  # many small ones, one at a time: softnic may send them another way
        for i in range(150):
            end.put(0, bytes([i] * 8))
            end.post("write", 0, 8, peer.base + 8 * i, peer.key)
            check("a small write", peer.serve(end)[0], "0")
        check("all of them", bytes(peer.memory[:1200]), b"".join(bytes([i] * 8) for i in range(150)))
    with Session(args, addresses, RC) as (end, peer, _):  # no receive yet: RNR NAKs, and the message in the end
        end.put(0, b"late")
        end.post("send", 0, 4)
        while peer.sent < 3:
            peer.step(0.01)
        peer.receives.append(1)
        check("send after RNR NAKs", peer.serve(end)[0], "0")
        check("the message", peer.got, [(b"late", None)])
        end.post("read", 0, 8, peer.base, peer.key ^ 1)
        check("read with a bad key: remote access error", peer.serve(end)[0], "10")


def requests_of_ours(args, addresses):
    """softnic answers, also what comes twice or with gaps"""
    with Session(args, addresses, RC) as (end, peer, s):
        def ask(packets):
            peer.put_out(packets)
            last = packets[-1].psn
            return peer.answers(lambda got: got and got[-1].psn == last)

        psn = s.psn
        for i, length in enumerate((0, 1, MTU, 5000)):
            data = bytes_of(200 + i, length)
            packets = peer.packets(WRITE, data, psn, s.address + 64, s.key)
            check(f"answer to a write of {length}", [(p.opcode, p.aeth[0]) for p in ask(packets)], [(ACK, 0x1F)])
            psn += len(packets)
            if length:
                check("bytes written", end.get(64, length), data)
            end.recv(8192, 8192)
            packets = peer.packets(SEND, data, psn, imm=0xDEADBEEF)
            check(f"answer to a send of {length}", [(p.opcode, p.aeth[0]) for p in ask(packets)], [(ACK, 0x1F)])
            psn += len(packets)
            check("its completion", end.command("poll 60000")[:5:2], ["0", str(length), str(0xDEADBEEF)])
            if length:
                check("its bytes", end.get(8192, length), data)
        # 2nd of 5 lost: one NAK with its PSN (9.7.5.2.4), nothing written of what stood behind it, then on from there
        data = bytes_of(300, 5000)
        packets = peer.packets(WRITE, data, psn, s.address + 20000, s.key)
        peer.put_out(packets[:1] + packets[2:])
        got = peer.answers(lambda got: got) + peer.silence()
        check("one NAK", [(p.psn, p.aeth[0]) for p in got], [(packets[1].psn, 0x60)])
        check("nothing beyond the gap", end.get(20000 + MTU, 5000 - MTU), bytes(5000 - MTU))
        check("answer to the rest", [p.aeth[0] for p in ask(packets[1:])], [0x1F])
        check("bytes written", end.get(20000, 5000), data)
        # ... and all of it again: acknowledged, with the newest PSN, and not executed
        end.put(20000, bytes(5000))
        check("answer to a duplicate", {(p.psn, p.aeth[0]) for p in ask(packets)}, {(packets[-1].psn, 0x1F)})
        check("a duplicate is not executed", end.get(20000, 5000), bytes(5000))
        psn += len(packets)
        # READ: 5 packets, then again as a whole, and from the third one on
        data = bytes_of(400, 5000)
        end.put(30000, data)
        for skip in (0, 0, 2):
            address, length = s.address + 30000 + skip * MTU, 5000 - skip * MTU
            request = Packet(READ, psn + skip, ackreq=True, reth=(address, s.key, length))
            peer.put_out([request])
            got = peer.answers(lambda got: got and got[-1].psn == (psn + 4) & MASK)
            got = [p for p in got if p.opcode != ACK]  # of the duplicates before
            check("PSNs of a READ's responses", [p.psn for p in got], [(psn + i) & MASK for i in range(skip, 5)])
            first = READ_MIDDLE if skip else READ_FIRST  # the rest of a READ goes on in its middle, as rdma_rxe's does
            check("opcodes", [p.opcode for p in got], [first] + [READ_MIDDLE] * (3 - skip) + [READ_LAST])
            check("bytes", b"".join(p.payload for p in got), data[skip * MTU:])
        psn += 5
        # atomics, each asked three times: executed once (9.4.5)
        end.put(40000, struct.pack("<Q", 100))
        for i in range(3):
            request = Packet(FETCH_ADD, psn + i, ackreq=True, atomic=(s.address + 40000, s.key, 1 << i, 0))
            for _ in range(3):
                got = ask([request])
                check("an atomic's answer", [(p.opcode, p.orig) for p in got], [(ATOMIC_ACK, 100 + (1 << i) - 1)])
        check("added once each", end.get(40000, 8), struct.pack("<Q", 107))
        psn += 3
        # no receive: RNR NAK with the timer code asked for, and the PSN again
        packets = peer.packets(SEND, b"late", psn)
        check("RNR NAK", [(p.psn, p.aeth[0]) for p in ask(packets)], [(psn & MASK, 0x20 | 12)])
        end.recv(8192, 64)
        check("then", [p.aeth[0] for p in ask(packets)], [0x1F])
        check("its completion", end.command("poll 60000")[:3:2], ["0", "4"])
        psn += 1
        # another partition's packet: silence (9.6.1.1); then a key that is not there: NAK, and the connection is over
        stray = Packet(WRITE[4], psn, b"12345678", ackreq=True, reth=(s.address, s.key, 8), pkey=0x8001)
        peer.put_out([stray])
        check("another partition", peer.silence(), [])
        packets = peer.packets(WRITE, b"12345678", psn, s.address, s.key ^ 1)
        check("a bad key", [p.aeth[0] for p in ask(packets)], [0x62])
        check("state ERR", end.command("state"), ["6"])


def unreliable(args, addresses):
    """unreliable connections and datagrams, both ways"""
    with Session(args, addresses, UC) as (end, peer, s):
        data, psn = bytes_of(500, 3000), s.psn
        end.recv(8192, 4096)
        packets = peer.packets(SEND, data, psn, imm=1)
        peer.put_out([packets[0], packets[2]])  # the middle is lost: so is the message (9.8.2.2.3)
        packets = peer.packets(SEND, data, psn + 3, imm=2)
        peer.put_out(packets)
        check("UC: the message behind the lost one", end.command("poll 60000")[:5:2], ["0", "3000", "2"])
        check("UC: its bytes", end.get(8192, 3000), data)
        check("UC: nothing else", end.command("poll 0"), ["none"])
        end.put(0, data)
        peer.receives.append(1)
        end.post("send-imm", 0, 3000, imm=9)
        check("UC: done when it is sent", end.command("poll 60000")[0], "0")
        peer.answers(lambda got: peer.got)
        check("UC: and here", peer.got, [(data, 9)])
    with Session(args, addresses, UD) as (end, peer, s):
        end.recv(8192, 2048)
        data = bytes_of(600, 1021)
        for i, qkey in enumerate((QKEY ^ 1, QKEY)):  # the first one is for nobody (9.2.5)
            peer.put_out([Packet(UD | 0x05, i, data, imm=i, deth=(qkey, peer.qpn))])
        check("UD: one datagram", end.command("poll 60000")[:6], ["0", "128", str(1021 + 40), "3", "1", str(peer.qpn)])
        check("UD: its bytes", end.get(8192 + 40, 1021), data)
        grh = end.get(8192, 40)
        check("UD: addresses before it", grh[-2 * len(peer.sock.near):], peer.sock.near + peer.sock.far)
        check("UD: nothing else", end.command("poll 0"), ["none"])
        end.put(0, data)
        end.post("send-imm", 0, 1021, imm=9)
        check("UD: done when it is sent", end.command("poll 60000")[0], "0")
        peer.answers(lambda got: peer.got)
        check("UD: and here", peer.got, [(data, 9, peer.far_qpn)])


def main():
    args = sys.argv[1:]
    for near, far in (("192.0.2.201", "192.0.2.202"), ("fd77::201", "fd77::202")):
        for exchange in (requests_of_softnic, requests_of_ours, unreliable):
            exchange(args, (near, far))
            print(f"{near}: {exchange.__doc__}: right")


main()
