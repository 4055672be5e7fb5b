#!/usr/bin/env python3
"""What tools/cmake/options.cmake asks of compiler and linker is in the programs. Usage: hardening_test.py BIN_DIR"""

import os
import struct
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAMS = ("weir-server", "weir-worker", "weir-local")

TYPE_DYN = 3
SEGMENT_DYNAMIC, SEGMENT_INTERPRETER = 2, 3
SEGMENT_STACK, SEGMENT_RELRO = 0x6474E551, 0x6474E552
MAY_EXECUTE = 1
DYNAMIC_FLAGS, DYNAMIC_FLAGS_1 = 30, 0x6FFFFFFB
FLAG_BIND_NOW, FLAG_1_NOW, FLAG_1_PIE = 8, 1, 0x08000000


class Elf:
    """A 64-bit little-endian file, as far as is asked for here."""

    def __init__(self, path):
        self.bytes = Path(path).read_bytes()
        self.type, = struct.unpack_from("<H", self.bytes, 16)
        start, = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        # type, flags, offset, address, address, bytes in the file
        self.segments = [struct.unpack_from("<IIQQQQ", self.bytes, start + i * size) for i in range(count)]

    def segment(self, kind):
        return next((segment for segment in self.segments if segment[0] == kind), None)

    def dynamic(self, tag):
        _, _, offset, _, _, size = self.segment(SEGMENT_DYNAMIC)
        entries = struct.iter_unpack("<QQ", self.bytes[offset:offset + size])
        return next((value for key, value in entries if key == tag), 0)


# What a program has not that it should have, or has that it should not.
def lacks(path):
    elf, missing = Elf(path), []
    stack = elf.segment(SEGMENT_STACK)
    flags_1 = elf.dynamic(DYNAMIC_FLAGS_1)
    if elf.type != TYPE_DYN or not elf.segment(SEGMENT_INTERPRETER) or not flags_1 & FLAG_1_PIE:
        missing.append("no PIE")
    if not elf.segment(SEGMENT_RELRO):
        missing.append("no RELRO")
    if not (flags_1 & FLAG_1_NOW or elf.dynamic(DYNAMIC_FLAGS) & FLAG_BIND_NOW):
        missing.append("no BIND_NOW")
    if stack is None or stack[1] & MAY_EXECUTE:
        missing.append("an executable stack")
    if b"\0__stack_chk_fail\0" not in elf.bytes:
        missing.append("no stack protector")
    if b"_chk\0" not in elf.bytes.replace(b"__stack_chk", b""):
        missing.append("no _FORTIFY_SOURCE")
    return missing


# A file of a header, segments and what is dynamic, and the names that it has.
def make_elf(kind=TYPE_DYN, stack=6, segments=(SEGMENT_INTERPRETER, SEGMENT_RELRO), flags_1=FLAG_1_NOW | FLAG_1_PIE,
             names=b"\0__stack_chk_fail\0__memcpy_chk\0"):
    entries = struct.pack("<QQQQ", DYNAMIC_FLAGS_1, flags_1, 0, 0)
    listed = [(name, 4, 0, 0) for name in segments] + [(SEGMENT_STACK, stack, 0, 0)]
    begin = 64 + 56 * (len(listed) + 1)
    listed.append((SEGMENT_DYNAMIC, 4, begin, len(entries)))
    header = b"\x7fELF".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", kind, 62, 1, 0, 64, 0, 0, 64, 56, len(listed),
                                                       0, 0, 0)
    table = b"".join(struct.pack("<IIQQQQQQ", name, flags, offset, 0, 0, size, size, 8)
                     for name, flags, offset, size in listed)
    return header + table + entries + names


class Hardening(unittest.TestCase):
    bin_dir = None

    def lacks_of(self, **parts):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program"
            path.write_bytes(make_elf(**parts))
            return lacks(path)

    def test_the_programs_lack_nothing(self):
        for name in PROGRAMS:
            with self.subTest(name):
                self.assertEqual(lacks(os.path.join(self.bin_dir, name)), [])

    def test_whatever_is_missing_is_seen(self):
        self.assertEqual(self.lacks_of(), [])
        self.assertEqual(self.lacks_of(kind=2), ["no PIE"])
        self.assertEqual(self.lacks_of(segments=(SEGMENT_INTERPRETER,)), ["no RELRO"])
        self.assertEqual(self.lacks_of(flags_1=FLAG_1_PIE), ["no BIND_NOW"])
        self.assertEqual(self.lacks_of(stack=7), ["an executable stack"])
        self.assertEqual(self.lacks_of(names=b"\0__memcpy_chk\0"), ["no stack protector"])
        self.assertEqual(self.lacks_of(names=b"\0__stack_chk_fail\0"), ["no _FORTIFY_SOURCE"])


if __name__ == "__main__":
    Hardening.bin_dir = sys.argv.pop(1)
    unittest.main()
