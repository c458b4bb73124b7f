# SPDX-License-Identifier: Apache-2.0
"""Runs a case: processes in groups of their own, free ports, hang guards, and a look at what is left behind."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from case import FAILED, PASSED, REFUSED, SKIPPED, Case, Outcome, Result, last_words

# What a client of librdmacm says when its server does not listen yet. Nothing shows from outside when it does.
TOO_EARLY = r"(?i)reject|refused|unreachable|error 8\b|event: RDMA_CM_EVENT_(REJECTED|UNREACHABLE)"
REASON_OF_SIGNAL = {s.value: s.name for s in signal.Signals}


def free_port():
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as s:
        s.bind(("::", 0))
        return s.getsockname()[1]


def is_listening(port):
    """Asks the kernel's table, so that no connection is used up."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as lines:
                for line in lines:
                    words = line.split()
                    if len(words) > 3 and words[3] == "0A" and words[1].endswith(":%04X" % port):
                        return True
        except OSError:
            pass
    return False


def sanitizer_runtimes(build):
    """What has to be loaded first when the build folder was made with a sanitizer: "" when it was not."""
    try:
        with open(os.path.join(build, "CMakeCache.txt")) as cache:
            found = re.search(r"^GDAKI_SANITIZE:STRING=(.*)$", cache.read(), re.M)
    except OSError:
        found = None
    names = [name for word, name in (("address", "libasan.so"), ("thread", "libtsan.so"), ("undefined", "libubsan.so"))
             if found and word in found.group(1)]
    paths = [subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=False).stdout.strip()
             for name in names]
    return " ".join(os.path.realpath(path) for path in paths)


def wait_until_asleep(process, until):
    """A server of librdmacm shows nothing when it listens; but then its first thread sleeps, and goes on sleeping."""
    asleep = 0
    while asleep < 8 and time.monotonic() < until and process.popen.poll() is None:
        time.sleep(0.05)
        try:
            with open(f"/proc/{process.popen.pid}/stat") as stat:
                asleep = asleep + 1 if stat.read().rpartition(")")[2].split()[0] == "S" else 0
        except OSError:
            return


def how_it_ended(status):
    if status is None:
        return "did not end"
    return REASON_OF_SIGNAL.get(-status, f"signal {-status}") if status < 0 else f"exit status {status}"


def shared_memory():
    """POSIX shared memory and System V segments that exist now: a run must not add to them."""
    try:
        return set(os.listdir("/dev/shm"))
    except OSError:
        return set()


class Process:
    def __init__(self, name, command, env, folder):
        self.name, self.path = name, os.path.join(folder, name + ".log")
        with open(self.path, "wb") as log:
            self.popen = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                          start_new_session=True, cwd=folder)

    def text(self):
        with open(self.path, "rb") as log:
            return log.read().decode("utf-8", "replace")

    def wait(self, until):
        try:
            return self.popen.wait(max(0.05, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None

    def end(self):
        """The whole group, children of launchers too."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.popen.pid, number)
            except ProcessLookupError:
                break
            try:
                self.popen.wait(2)
            except subprocess.TimeoutExpired:
                continue
            if number == signal.SIGTERM:
                time.sleep(0.05)
        self.popen.wait()


class Runner:
    def __init__(self, build, logs, settings, native=False):
        self.build, self.logs, self.settings, self.native = build, logs, settings, native
        self.libraries = os.path.join(build, "softnic-libs")
        program = os.path.join(build, "bin", "softnic")
        self.preload = sanitizer_runtimes(build)
        self.softnic = program if os.access(program, os.X_OK) and not native and not self.preload else None
        self.count = 0
        self.first_device = None

    def how(self):
        if self.preload:
            return f"LD_PRELOAD={self.preload} LD_LIBRARY_PATH={self.libraries}"
        return f"{self.softnic} run --" if self.softnic else f"LD_LIBRARY_PATH={self.libraries}"

    def filled(self, word, folder, port):
        if "{device}" in word:
            word = word.replace("{device}", self.device())
        return word.replace("{port}", str(port)).replace("{folder}", folder).replace("{build}", self.build)

    def device(self):
        """The first device's name, as ibv_devices gives it."""
        if self.first_device is None:
            case = Case("ibv_devices", "ibverbs-utils", "", ["ibv_devices"])
            folder = os.path.join(self.logs, "device")
            os.makedirs(folder)
            process = self.start(case, "program", case.client, folder, 0)
            process.wait(time.monotonic() + 20)
            process.end()
            found = re.search(r"^\s*(\S+)\s+[0-9a-f]{16}", process.text(), re.M)
            self.first_device = found.group(1) if found else "no-device"
        return self.first_device

    def environment(self, case, folder, name):
        env = dict(os.environ)
        env.update(self.settings)
        env.update(case.softnic)
        env.update({name: self.filled(value, folder, 0) for name, value in case.env.items()})
        if not self.softnic and not self.native:
            env["LD_LIBRARY_PATH"] = self.libraries + (":" + env["LD_LIBRARY_PATH"] if env.get("LD_LIBRARY_PATH") else "")
            env.setdefault("SOFTNIC_NAMES", "mlx5_")
        if self.preload:
            # Leaks of programs that were not built for it are not looked for.
            env["LD_PRELOAD"] = " ".join([self.preload] + ([env["LD_PRELOAD"]] if "LD_PRELOAD" in env else []))
            env["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1"
        if case.capture:
            env["SOFTNIC_PCAP"] = os.path.join(folder, name + ".pcap")
        env["LC_ALL"] = "C"
        return env

    def start(self, case, name, words, folder, port):
        command = [self.filled(word, folder, port).replace("{side}", name) for word in words]
        prefix = [self.softnic, "run", "--"] if self.softnic else []
        return Process(name, prefix + command, self.environment(case, folder, name), folder)

    def wait_for_server(self, case, server, port, until):
        if case.ready == "cm":
            wait_until_asleep(server, until)
            return
        while time.monotonic() < until and server.popen.poll() is None:
            if case.ready == "port" and is_listening(port):
                return
            if case.ready != "port" and re.search(case.ready, server.text()):
                return
            time.sleep(0.02)

    def run(self, case):
        wanted = [(words[0], case.package) for words in (case.server, case.client) if words]
        for program, package in wanted + list(case.needs):
            if not shutil.which(program):
                return Result(case, SKIPPED, f"{program} is not installed (Debian package {package})")
        self.count += 1
        folder = os.path.join(self.logs, "%03d-%s" % (self.count, re.sub(r"[^A-Za-z0-9]+", "-", case.name())[:80]))
        os.makedirs(folder)
        if case.before:
            case.before(folder)
        before, started = shared_memory(), time.monotonic()
        outcome = self.play(case, folder, started + case.limit)
        seconds = time.monotonic() - started
        status, reason, figure = self.judge(case, outcome)
        left = [name for name in shared_memory() - before if "softnic" in name or "gdaki" in name]
        if left and status != FAILED:
            status, reason = FAILED, f"left in /dev/shm: {', '.join(left)}"
        return Result(case, status, reason, figure, seconds)

    @staticmethod
    def came_too_early(processes, until):
        server, client = processes
        status = client.wait(until)
        if not status or server.popen.poll() is not None or not re.search(TOO_EARLY, client.text()):
            return False
        time.sleep(0.3)
        return time.monotonic() < until - 1

    def play(self, case, folder, until):
        port, outcome, processes = free_port(), Outcome(folder=folder), []
        try:
            if case.server:
                processes.append(self.start(case, "server", case.server, folder, port))
                self.wait_for_server(case, processes[0], port, until)
            name = "client" if case.server else "program"
            processes.append(self.start(case, name, case.client, folder, port))
            while case.ready == "cm" and self.came_too_early(processes, until):
                processes[-1].end()
                processes[-1] = self.start(case, name, case.client, folder, port)
            for process in reversed(processes):
                # A server whose client has failed may wait for the next one: it is not a hang of its own.
                failed = any(outcome.status.values())
                outcome.status[process.name] = process.wait(min(until, time.monotonic() + 3) if failed else until)
        finally:
            for process in processes:
                process.end()
                outcome.text[process.name] = process.text()
                path = os.path.join(folder, process.name + ".pcap")
                if os.path.exists(path):
                    outcome.capture[process.name] = path
        return outcome

    @staticmethod
    def judge(case, outcome):
        text = outcome.all_text()
        crashed = [f"{name}: {how_it_ended(status)}" for name, status in outcome.status.items()
                   if status is not None and status < 0]
        sanitizer = re.search(r"(ERROR: \w+Sanitizer: [^\n]*|runtime error: [^\n]*|WARNING: ThreadSanitizer: [^\n]*)", text)
        if sanitizer:
            return FAILED, sanitizer.group(1), ""
        if crashed:
            return FAILED, "; ".join(crashed), ""
        if case.refusal:
            match = re.search(case.refusal, text)
            first = outcome.status.get("client", outcome.status.get("program"))
            if match and first is not None:
                return REFUSED, " ".join(match.group(0).split()), ""
            if any(s is None for s in outcome.status.values()):
                return FAILED, "expected a refusal, but it hangs", ""
        bad = [(name, status) for name, status in outcome.status.items()
               if status != 0 and not (status == 255 and case.pardon and re.search(case.pardon, outcome.text[name], re.M))]
        if bad:
            # The first to fail says why; a client that failed is the cause of its server's end.
            name, status = bad[0]
            words = last_words(outcome.text[name]) or last_words(text)
            return FAILED, f"{name}: {how_it_ended(status)}: {words}", ""
        if case.refusal:
            return FAILED, "expected a refusal, but it ran: the expectation is out of date", ""
        if not case.check:
            return PASSED, "", ""
        reason, figure = case.check(outcome)
        return (FAILED, reason, figure) if reason else (PASSED, "", figure)
