#!/usr/bin/env python3
"""Makes a wheel of kiln/ and a runtime library, with the standard library alone.

    make_wheel.py --library libkiln-runtime.so.0 --version 0.1.0 --licence LICENSE --out FOLDER

The wheel is a function of its contents and SOURCE_DATE_EPOCH: files in order, one time for all, stored (what deflating
gives depends on the zlib). Its platform is what the library itself says: machine, and the newest version of glibc's
symbols that it asks for (PEP 600). A library that needs anything but libc and threads is refused.
Prints the wheel's path.
"""

import argparse
import base64
import hashlib
import os
import re
import struct
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
# and the oldest manylinux there is for it, or glibc
MACHINES = {62: ("x86_64", (2, 5)), 183: ("aarch64", (2, 17)), 243: ("riscv64", (2, 27))}
ALLOWED = re.compile(r"lib(c\.so\.6|pthread\.so\.0|m\.so\.6)|ld-linux-.*\.so\.\d+")
SHT_DYNAMIC, SHT_VERNEED, DT_NEEDED = 6, 0x6FFFFFFE, 1


class Refused(Exception):
    pass


class Elf:
    """What an ELF64 little-endian library asks for (System V ABI, chapter 4; LSB, symbol versions)."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise Refused(f"'{path}' is no ELF64 little-endian file")
        (self.machine,) = self.at("<H", 18)
        (table,) = self.at("<Q", 40)
        size, n = self.at("<HH", 58)
        # type, offset, bytes, link
        self.sections = [
            self.at("<I", table + i * size + 4) + self.at("<QQI", table + i * size + 24) for i in range(n)
        ]

    def at(self, form, offset):
        return struct.unpack_from(form, self.bytes, offset)

    def string(self, section, offset):
        begin = self.sections[section][1] + offset
        return self.bytes[begin : self.bytes.index(b"\0", begin)].decode()

    def needed(self):
        for kind, offset, n, link in self.sections:
            for i in range(offset, offset + n, 16) if kind == SHT_DYNAMIC else ():
                tag, value = self.at("<QQ", i)
                if tag == DT_NEEDED:
                    yield self.string(link, value)

    def versions(self):
        for kind, offset, n, link in self.sections:
            if kind != SHT_VERNEED or n == 0:
                continue
            while True:
                _, count, _, aux, following = self.at("<HHIII", offset)
                entry = offset + aux
                for _ in range(count):
                    _, _, _, name, step = self.at("<IHHII", entry)
                    yield self.string(link, name)
                    entry += step
                if following == 0:
                    break
                offset += following


def platform(path):
    elf = Elf(path)
    if elf.machine not in MACHINES:
        known = ", ".join(f"{number} ({machine})" for number, (machine, _) in MACHINES.items())
        raise Refused(f"'{path}' is for ELF machine {elf.machine}; there are wheels for {known}")
    for name in elf.needed():
        if not ALLOWED.fullmatch(name):
            raise Refused(f"'{path}' needs {name}: a wheel of it would not run on every Linux")
    machine, newest = MACHINES[elf.machine]
    for version in elf.versions():
        match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
        if match is None:
            raise Refused(f"'{path}' needs symbols of version {version}, which are not glibc's public ones")
        newest = max(newest, (int(match[1]), int(match[2])))
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"


def metadata(version):
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        text = f.read()
    return (
        f"Metadata-Version: 2.1\nName: kiln-runtime\nVersion: {version}\n"
        "Summary: Runs neural networks that kiln packaged\nLicense: Apache-2.0\n"
        "Classifier: Operating System :: POSIX :: Linux\nClassifier: Programming Language :: Python :: 3\n"
        "Requires-Python: >=3.8\nRequires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n" + text
    ).encode()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def contents(library, version, licence, tag):
    """(name, bytes) of everything but RECORD, in order."""
    info = f"kiln_runtime-{version}.dist-info"
    package = os.path.join(HERE, "kiln")
    files = {f"kiln/{n}": read(os.path.join(package, n)) for n in os.listdir(package) if n.endswith((".py", ".typed"))}
    files["kiln/libkiln-runtime.so.0"] = read(library)
    files[f"{info}/LICENSE"] = read(licence)
    files[f"{info}/METADATA"] = metadata(version)
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: kiln {version}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    return sorted(files.items()), f"{info}/RECORD"


def record(files, name):
    lines = []
    for path, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join(lines + [f"{name},,\n"]).encode()


def entry_time():
    """Zip knows no time before 1980; two seconds are its finest."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "315532800")
    if not epoch.isdigit():
        raise Refused(f"SOURCE_DATE_EPOCH must be a number of seconds, is '{epoch}'")
    return max(time.gmtime(int(epoch))[:6], (1980, 1, 1, 0, 0, 0))


def write(path, files, when):
    private = f"{path}.{os.getpid()}"
    with zipfile.ZipFile(private, "w", zipfile.ZIP_STORED) as wheel:
        for name, data in files:
            entry = zipfile.ZipInfo(name, when)
            entry.create_system = 3
            entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
            wheel.writestr(entry, data)
    os.replace(private, path)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("library", "version", "licence", "out"):
        p.add_argument(f"--{name}", required=True)
    o = p.parse_args()
    tag = f"py3-none-{platform(o.library)}"
    files, name = contents(o.library, o.version, o.licence, tag)
    files.append((name, record(files, name)))
    os.makedirs(o.out, exist_ok=True)
    path = os.path.join(o.out, f"kiln_runtime-{o.version}-{tag}.whl")
    write(path, files, entry_time())
    print(path)


if __name__ == "__main__":
    try:
        main()
    except (Refused, OSError) as e:
        sys.exit(f"make_wheel.py: {e}")
