# SPDX-License-Identifier: Apache-2.0
"""A third opinion on captures: Wireshark's command line. No frame may be malformed or carry a note of warning or error, each has
to be an InfiniBand packet with its CRC."""
import subprocess

# What Wireshark may take a SEND's payload for, and then find malformed: guesses from any few bytes.
GUESSES = ("smc", "smb_direct", "rpcordma", "nvme-rdma", "lnet", "iser", "infiniband.eoib", "infiniband_sdp", "fcoib", "drbd")
FIELDS = ("frame.number", "_ws.malformed", "_ws.expert.severity", "infiniband.bth.opcode", "infiniband.invariant.crc",
          "_ws.expert.message")
WARNING = 0x600000


def lines(path):
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=\t"]
    for guess in GUESSES:
        command += ["--disable-protocol", guess]
    for field in FIELDS:
        command += ["-e", field]
    read = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if read.returncode:
        raise ValueError(f"tshark: exit status {read.returncode}: {read.stderr.strip()[-150:]}")
    return [line.split("\t") for line in read.stdout.splitlines()]


def judge(path):
    """(complaint or None, frames)."""
    count = 0
    for number, malformed, severities, opcode, crc, message in lines(path):
        count += 1
        # A note that a frame has several of makes a list.
        worst = max((int(one) for one in severities.split(",") if one.isdigit()), default=0)
        if malformed:
            return f"frame {number} is malformed to Wireshark", count
        if worst >= WARNING:
            return f"frame {number}: Wireshark notes: {message}", count
        if not opcode or not crc:
            return f"frame {number}: no InfiniBand packet with a CRC to Wireshark", count
    return (None if count else "no frame in the capture"), count


def reads(check):
    """A check of a case: what `check` says, and then what Wireshark makes of each side's capture."""
    def both(outcome):
        reason, figure = check(outcome)
        frames = 0
        for side in outcome.status:
            if reason:
                break
            if side not in outcome.capture:
                reason = f"the {side} left no capture"
                break
            try:
                complaint, count = judge(outcome.capture[side])
            except (ValueError, OSError, subprocess.TimeoutExpired) as error:
                complaint, count = str(error), 0
            reason = f"{side}'s capture: {complaint}" if complaint else None
            frames += count
        return reason, f"{frames} frames without complaint" if not reason else figure
    return both
