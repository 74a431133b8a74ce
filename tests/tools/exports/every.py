"""What each program here does with its architectures: one process each, and a line for what is not right."""
import argparse
import concurrent.futures
import contextlib
import os
import subprocess
import sys


def part(text):
    n, _, m = text.partition("/")
    if not 1 <= int(n) <= int(m):
        raise ValueError(text)
    return int(n), int(m)


def options(**extra):
    """What all of them take, and `extra`: a name and what argparse is told of it."""
    p = argparse.ArgumentParser()
    p.add_argument("--kiln", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--filter", default="")
    p.add_argument("--part", type=part, default=(1, 1), metavar="N/M", help="the Nth of M parts of what --filter leaves")
    for name, how in extra.items():
        p.add_argument(f"--{name}", **how)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--keep", action="store_true", help="keep the models that are right, too")
    return p.parse_args()


@contextlib.contextmanager
def quiet():
    """Exporters print whole graphs where they refuse one, from C++ too."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        for fd, old in zip((1, 2), kept):
            os.dup2(old, fd)
            os.close(old)
        os.close(null)


def call(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    return None if done.returncode == 0 else (done.stderr + done.stdout).strip()[-800:]


def all_of(run, names, o, what, refuser, runtime):
    """Ends the program. run(name, o) gives rows of title, outcome and words; runtime: what they are held to, with its version."""
    chosen = [name for name in names if o.filter in name][o.part[0] - 1::o.part[1]]
    count = {"right": 0, "refused": 0, "failed": 0}
    with concurrent.futures.ProcessPoolExecutor(o.jobs, max_tasks_per_child=1) as pool:
        running = {pool.submit(run, name, o): name for name in chosen}
        for done in concurrent.futures.as_completed(running):
            try:
                rows = done.result()
            except Exception as e:
                rows = [(running[done], "failed", f"{type(e).__name__}: {e}")]
            for title, outcome, words in rows:
                count[outcome] += 1
                if outcome != "right":
                    print(f"{outcome.upper()} {title}: {words}", flush=True)
    program = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    print(f"{program}: {runtime}: {len(chosen)} architectures, {sum(count.values())} {what}: "
          f"{count['right']} right, {count['failed']} failed, {count['refused']} refused by {refuser} itself")
    sys.exit(1 if count["failed"] or count["right"] == 0 else 0)
