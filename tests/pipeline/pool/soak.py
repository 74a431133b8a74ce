#!/usr/bin/env python3
"""A pool of 8 runners and 3 tuners for some minutes, with kills, hangs, restarts and packet loss.

    tests/pipeline/pool/soak.py FOLDER-OF-KILN [SECONDS [SEED]]

As root each runner is in a network namespace of its own, behind a link that loses one packet of a hundred and takes a
millisecond: two taps, and a process between them that passes frames on, as kernels need not have tc's netem. Else all
are on the loopback. Says at the end what was lost, doubled and idle; exits with 1 where a trial was lost or doubled, a
device that hung was still lent a minute later, or healthy devices stood idle for more than a tenth of the time.
"""
import collections
import ctypes
import fcntl
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

N = 8
# Of each tuner; the k-th is as much larger: who has nothing to gain any more goes on with the next.
OPS = [lambda k: f"conv A{k} {16 + 8 * k} 28 32 3 1", lambda k: f"conv B{k} {32 + 16 * k} 14 64 1 1",
       lambda k: f"mm C{k} 64 {128 + 32 * k} 96"]


def forward(host, port, to):
    """Connections to host:port go to the loopback's port `to`: one process each."""
    listener = socket.create_server((host, port))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        a, _ = listener.accept()
        if os.fork() > 0:
            a.close()
            continue
        listener.close()
        try:
            b = socket.create_connection(("127.0.0.1", to), timeout=5)
        except OSError:
            os._exit(0)
        b.settimeout(None)
        while True:
            for s in select.select([a, b], [], [])[0]:
                try:
                    data = s.recv(65536)
                    if not data:
                        os._exit(0)
                    (b if s is a else a).sendall(data)
                except OSError:
                    os._exit(0)


LOSS, DELAY_S = 0.01, 0.001
TUNSETIFF, IFF_TAP, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0002, 0x1000, 0x40000000


def open_tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def link(i):
    """Frames between tap kp<i> here and eth0 in namespace kilnp<i>: late, and some of them not at all."""
    rng, late = random.Random(i), collections.deque()
    lost = passed = 0
    here = open_tap(f"kp{i}")
    if ctypes.CDLL(None, use_errno=True).setns(os.open(f"/run/netns/kilnp{i}", os.O_RDONLY), CLONE_NEWNET) != 0:
        sys.exit(f"cannot enter the namespace: {os.strerror(ctypes.get_errno())}")
    there = open_tap("eth0")

    def tell(*_):
        print(lost, passed, flush=True)
        os._exit(0)

    signal.signal(signal.SIGTERM, tell)
    print("up", flush=True)
    while True:
        wait = max(late[0][0] - time.monotonic(), 0) if late else None
        for fd in select.select([here, there], [], [], wait)[0]:
            try:
                frame = os.read(fd, 65536)
            except OSError:  # the link is down
                time.sleep(0.01)
                continue
            if rng.random() < LOSS:
                lost += 1
            else:
                late.append((time.monotonic() + DELAY_S, there if fd == here else here, frame))
        while late and late[0][0] <= time.monotonic():
            _, to, frame = late.popleft()
            try:
                passed += os.write(to, frame) > 0
            except OSError:
                lost += 1


def sh(text):
    return subprocess.run(text, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Tuner:
    """One after the other until the time is up, into one database."""

    def __init__(self, i, kiln, folder, address, end):
        self.i, self.kiln, self.folder, self.address, self.end = i, kiln, folder, address, end
        self.n, self.process = 0, None
        self.go_on()

    def go_on(self):
        left = int(self.end - time.time())
        if self.process is not None and (self.process.poll() is None or left < 20):
            return self.process.poll() is None
        at = f"{self.folder}/{self.i}-{self.n}"
        self.process = subprocess.Popen(
            [self.kiln + "/kiln", "tune", "--op", OPS[self.i](self.n), "--pool", self.address, "--devices", "8", "--db",
             f"{self.folder}/{self.i}.db", "--trials", "100000", "--time-limit", f"{left}s", "--json", at + ".json"],
            stdout=open(at + ".out", "w"), stderr=subprocess.STDOUT)
        self.n += 1
        return True

    def summaries(self):
        return [json.load(open(f"{self.folder}/{self.i}-{k}.json")) for k in range(self.n)]


class Board:
    def __init__(self, i, kiln, is_apart):
        self.i, self.kiln, self.is_apart, self.runner = i, kiln, is_apart, None
        self.back = self.stopped = None
        self.host = f"10.77.3.{10 + i}" if is_apart else "127.0.0.1"
        self.port = 9001 if is_apart else 19100 + i
        self.address = f"tcp:{self.host}:{self.port}"
        self.inside = 9000 if is_apart else self.port
        self.prefix = ["ip", "netns", "exec", f"kilnp{i}"] if is_apart else []
        self.down_s = 0.0
        if is_apart:
            sh(f"ip netns add kilnp{i}")
            self.link = subprocess.Popen([sys.executable, __file__, "--link", str(i)], stdout=subprocess.PIPE,
                                         text=True)
            if self.link.stdout.readline() != "up\n":
                sys.exit(f"there is no link to namespace {i}")
            sh(f"ip link set kp{i} master kilnpool up; ip netns exec kilnp{i} ip addr add {self.host}/24 dev eth0;"
               f"ip netns exec kilnp{i} ip link set eth0 up; ip netns exec kilnp{i} ip link set lo up")
            self.forwarder = subprocess.Popen(self.prefix + [sys.executable, __file__, "--forward", self.host,
                                                             str(self.port), str(self.inside)])
        self.start()

    def start(self):
        self.runner = subprocess.Popen(self.prefix + [self.kiln + "/kiln-runner", "--serve",
                                                      f"tcp:127.0.0.1:{self.inside}"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        self.back = self.stopped = None

    def end(self):
        self.runner.kill()
        self.runner.wait()

    def close(self):
        self.end()
        if self.is_apart:
            self.forwarder.kill()
            self.link.terminate()
            self.frames = [int(n) for n in self.link.stdout.readline().split()]
            sh(f"ip netns pids kilnp{self.i} | xargs -r kill -9; ip netns del kilnp{self.i}")


def records(kiln, db):
    out = subprocess.run([kiln + "/kiln", "db", "export", "--db", db], capture_output=True, text=True).stdout
    return [line for line in out.splitlines() if line.startswith("{")]


def disturb(rng, boards, log):
    b = rng.choice(boards)
    if b.back is not None or b.stopped is not None:
        return
    what = rng.choice(["kill", "stop", "session"] + (["link"] if b.is_apart else []))
    log.append(what)
    if what == "kill":
        b.end()
        b.back = time.time() + 2
        b.down_s += 2
    elif what == "stop":
        os.kill(b.runner.pid, signal.SIGSTOP)
        b.stopped = time.time()
    elif what == "session":
        sh(f"pkill -KILL -P {b.runner.pid}")
    else:
        sh(f"ip link set kp{b.i} down; sleep 3; ip link set kp{b.i} up")


def main(kiln, seconds, seed):
    rng = random.Random(seed)
    is_apart = os.geteuid() == 0 and sh("ip link add kilnpool type bridge && ip addr add 10.77.3.1/24 dev kilnpool"
                                        " && ip link set kilnpool up")
    folder = tempfile.mkdtemp(prefix="kiln-soak-")
    boards = [Board(i, kiln, is_apart) for i in range(N)]
    restarts = folder + "/restarts"
    open(restarts, "w").close()
    address = f"unix:{folder}/pool"
    command = [kiln + "/kiln", "device", "pool", "--listen", address, "--slice", "10s", "--restart-command",
               f"echo $2 >> {restarts}"]
    for b in boards:
        command += ["--device", b.address]
    pool = subprocess.Popen(command, env=dict(os.environ, KILN_LOG="pool=info"), stderr=open(folder + "/pool.log", "w"))
    time.sleep(2)
    begin = time.time()
    tuners = [Tuner(i, kiln, folder, address, begin + seconds) for i in range(len(OPS))]
    done, seen, log, worst, next_at, last = 0, 0, [], 0.0, begin + 15, {}
    asked = owed = 0
    while any([t.go_on() for t in tuners]) and time.time() < begin + seconds + 240:
        time.sleep(0.5)
        now = time.time()
        for b in boards:
            if b.back is not None and now >= b.back:
                b.start()
        names = open(restarts).read().splitlines()
        for name in names[done:]:
            for b in boards:
                if b.address == name:
                    b.end()
                    b.start()
        done = len(names)
        out = subprocess.run([kiln + "/kiln", "device", "list", "--pool", address, "--json", "-"], capture_output=True,
                             text=True).stdout
        if out:
            last = json.loads(out)
            for d in last["devices"]:
                b = next(x for x in boards if x.address == d["address"])
                asked += d["state"] != "joining" and d["state"] != "quarantined"
                owed += d["state"] == "lent"
                if b.stopped is not None and d["state"] in ("lent", "free"):
                    worst = max(worst, now - b.stopped)
        if now >= next_at and now < begin + seconds - 10:
            disturb(rng, boards, log)
            next_at = now + rng.uniform(5, 12)
    for t in tuners:
        if t.process.poll() is None:
            print("a tuner did not end")
            t.process.kill()
    pool.send_signal(signal.SIGTERM)
    pool.wait()
    failed = worst > 60 or owed < 0.9 * asked
    for i, t in enumerate(tuners):
        try:
            told = t.summaries()
        except (OSError, ValueError) as e:
            print(f"tuner {i}: no summary: {e}; see {folder}")
            failed = True
            continue
        kinds = collections.Counter()
        for s in told:
            kinds.update({c["name"]: c["n"] for c in s["trials"]})
        rows = records(kiln, f"{folder}/{i}.db")
        keys = collections.Counter()
        work = None
        for r in map(json.loads, rows):  # a line says whose it is where that is another than the line's before
            work = r.get("workload", work)
            if "template" in r:
                keys[work, r["template"], r["config"]] += 1
        doubled = sum(n - 1 for n in keys.values()) - sum(s["measured_again"] for s in told)
        print(f"tuner {i}: {sum(s['new_trials'] for s in told)} trials {dict(kinds)} in {t.n} runs, {len(rows)} records, "
              f"{max(doubled, 0)} doubled")
        failed |= kinds.get("lost", 0) > 0 or doubled > 0
    for d in last.get("devices", []):
        print(f"  {d['address']}: {d['loans']} loans, {d['hangs']} hangs, {d['losses']} losses, {d['state']}")
    for b in boards:
        b.close()
    lost, passed = [sum(b.frames[k] for b in boards) if is_apart else 0 for k in range(2)]
    print(f"{time.time() - begin:.0f} s, {'namespaces' if is_apart else 'loopback'}, {lost} of {lost + passed} packets lost; "
          f"{dict(collections.Counter(log))}, {done} restarts; a hung device was out after {worst:.1f} s at most; "
          f"healthy devices were lent {100.0 * owed / max(asked, 1):.1f}% of the time")
    if is_apart:
        sh("ip link del kilnpool")
    print("failed" if failed else "good", folder)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1] == "--forward":
        forward(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    if sys.argv[1] == "--link":
        link(int(sys.argv[2]))
    sys.exit(main(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 600,
                  int(sys.argv[3]) if len(sys.argv) > 3 else 1))
