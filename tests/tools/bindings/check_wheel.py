"""Holds wheels against the format's own rules: check_wheel.py WHEEL..."""

import base64
import csv
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile


def check_record(wheel, names):
    (record,) = [n for n in names if n.endswith(".dist-info/RECORD")]
    rows = {r[0]: r[1:] for r in csv.reader(wheel.read(record).decode().splitlines())}
    assert set(rows) == set(names), set(rows) ^ set(names)
    assert rows.pop(record) == ["", ""]
    for name, (digest, size) in rows.items():
        data = wheel.read(name)
        want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert digest == f"sha256={want}" and int(size) == len(data), name


def check_platform(wheel, tag):
    """By binutils, not by the parser that made the tag."""
    library = wheel.read("kiln/libkiln-runtime.so.0")
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "lib.so")
        with open(path, "wb") as f:
            f.write(library)
        text = subprocess.run(["readelf", "-WhdV", path], check=True, capture_output=True, text=True).stdout
    words = {"X86-64": "x86_64", "AArch64": "aarch64", "RISC-V": "riscv64"}
    (machine,) = [word for name, word in words.items() if re.search(rf"Machine: .*\b{name}$", text, re.M)]
    asked = {tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_([0-9.]+)", text)}
    newest = max(asked)[:2]
    assert tag == f"py3-none-manylinux_{newest[0]}_{newest[1]}_{machine}", (tag, newest)
    assert set(re.findall(r"NEEDED.*\[(.*)\]", text)) <= {
        "libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
        "ld-linux-riscv64-lp64d.so.1"
    }, text


for path in sys.argv[1:]:
    name, version, tag = re.fullmatch(r"([^-]+)-([^-]+)-(.*)\.whl", os.path.basename(path)).groups()
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        names = wheel.namelist()
        assert names[-1].endswith("RECORD") and len(set(names)) == len(names)
        check_record(wheel, names)
        check_platform(wheel, tag)
        info = f"{name}-{version}.dist-info"
        assert f"Tag: {tag}\n" in wheel.read(f"{info}/WHEEL").decode()
        text = wheel.read(f"{info}/METADATA").decode()
        assert text.startswith("Metadata-Version: 2.1\nName: kiln-runtime\n") and f"\nVersion: {version}\n" in text
        assert {i.external_attr >> 16 for i in wheel.infolist()} == {0o100644, 0o100755}
assert len(sys.argv) > 1
