"""The server, and the contestants that can take part on this machine."""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time


def say(text):
    """Progress: on a terminal the line is written over by the next."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text[:110])
    else:
        sys.stderr.write(text + "\n")
    sys.stderr.flush()


class Server:
    """A server of our own, without persistence, on a socket in a folder of its own."""

    def __init__(self, quick):
        self.quick = quick

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="latchkey-bench-")
        self.socket = os.path.join(self.folder, "socket")
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        self.process = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", self.socket,
             "--save", "", "--appendonly", "no", "--dir", self.folder, "--maxclients", "20000"],
            stdout=subprocess.DEVNULL)
        self.link = self._connect()
        info = self.info("server")
        self.version = "%s %s" % (info.get("server_name", "redis"),
                                  info.get("valkey_version", info.get("redis_version")))
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)

    def _connect(self):
        for _ in range(200):
            try:
                link = socket.socket(socket.AF_UNIX)
                link.connect(self.socket)
                return link.makefile("rwb")
            except OSError:
                time.sleep(0.05)
        raise SystemExit("compare: the server did not start")

    def ask(self, *words):
        self.link.write(b"*%d\r\n" % len(words))
        for word in words:
            self.link.write(b"$%d\r\n%s\r\n" % (len(word), word.encode()))
        self.link.flush()
        return self._reply()

    def _reply(self):
        line = self.link.readline()
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise SystemExit("compare: the server says " + rest)
        if kind == b"$":
            return self.link.read(int(rest) + 2)[:-2].decode()
        return rest

    def info(self, section):
        rows = (row.split(":", 1) for row in self.ask("INFO", section).split("\r\n") if ":" in row)
        return {name: value for name, value in rows}

    def empty(self):
        self.ask("FLUSHALL")

    def cpu(self):
        """The seconds of a processor that the server has used."""
        used = self.info("cpu")
        return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


class Monitor:
    """Counts what clients send, while it is open. What scripts call is not sent by anybody."""

    def __init__(self, server):
        self.link = socket.socket(socket.AF_UNIX)
        self.link.connect(server.socket)
        self.link.sendall(b"MONITOR\r\n")
        self.count = 0
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.link.makefile("rb"):
            if line.startswith(b"+") and b" lua] " not in line[:40]:
                self.count += 1

    def close(self):
        self.link.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        return self.count


class Driver:
    """One process of a contestant, in one verb."""

    def __init__(self, contestant, server, lease_ms, lock, words):
        environment = dict(os.environ, LATCHKEY_BENCH_WARM_S="0.2" if server.quick else "2")
        self.words, self.name = words, contestant["name"]
        self.process = subprocess.Popen(
            [contestant["drive"], server.socket, str(lease_ms), lock, *map(str, words)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True)
        self.heard = b""

    def fail(self, why):
        self.kill()
        raise Failure("%s %s: %s" % (self.name, " ".join(map(str, self.words)), why))

    def has_line(self, seconds):
        while b"\n" not in self.heard:
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                return False
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                self.fail("it ended with %s" % self.process.wait())
            self.heard += more
        return True

    def line(self, seconds):
        if not self.has_line(seconds):
            self.fail("nothing came for %d s" % seconds)
        text, self.heard = self.heard.split(b"\n", 1)
        return text.decode().strip()

    def ready(self, seconds=120):
        """False: it has no such thing."""
        text = self.line(seconds)
        if text == "unsupported":
            self.process.wait()
            return False
        if text != "ready":
            self.fail("it said %s" % text)
        return True

    def go(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def result(self, seconds):
        object_ = json.loads(self.line(seconds))
        self.process.stdin.close()
        self.process.wait()
        return object_

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Failure(Exception):
    """A contestant that could not do what it was asked for; the others go on."""


def set_up(folder, names):
    """The contestants, in order; those that cannot be had have `missing`, a sentence."""
    field = []
    for name in sorted(os.listdir(folder)):
        place = os.path.join(folder, name)
        drive = os.path.join(place, "drive")
        if not os.path.exists(drive) or (names and name not in names):
            continue
        say("setting up %s" % name)
        made = subprocess.run([os.path.join(place, "setup")], capture_output=True, text=True, check=False)
        one = {"name": name, "drive": drive}
        if made.returncode == 0:
            about = subprocess.run([drive, "about"], capture_output=True, text=True, check=False)
            if about.returncode == 0:
                one.update(json.loads(about.stdout))
                one["name"] = name
            else:
                one["missing"] = (about.stderr.strip().split("\n") or ["it does not run"])[-1]
        else:
            one["missing"] = (made.stderr.strip().split("\n") or [""])[-1] or "setup failed"
        field.append(one)
    return sorted(field, key=lambda one: {"latchkey": 0, "floor": 1}.get(one["name"], 2))
