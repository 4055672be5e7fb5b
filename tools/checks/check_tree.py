#!/usr/bin/env python3
"""Checks the shape of the source tree: who may include whom, and what every file must have.

The tables below are the architecture's floors; a new folder or dependency is an edit here, in plain
sight. Long functions and files are counted by folder, and long_code.txt beside this file says how
many each may have: there may only be fewer, and then the file says so. Prints one
`file:line: message` a violation and exits with 1 if there is any.
"""

import re
import sys
from typing import NamedTuple

import long_code
from checking import Violation, parse_with_root, report, root_parser

# Folders of common, and which others each may include besides itself.
COMMON_MAY_INCLUDE = {
    "base": (),
    "program": ("base",),
    "proto": (),
    "tensor": ("base",),
    "device": ("base", "tensor"),
    "layout": ("base", "proto"),
    "config": ("base", "proto", "layout"),
    "transport": ("base",),
    "keys": ("base", "transport"),
    "wire": ("base",),
    "kernels": ("base", "tensor", "device"),
    "metrics": ("base", "proto"),
    "eval": ("base",),
    "schedule": ("base",),
    "session": ("base", "proto", "config", "transport", "keys", "wire", "eval"),
    "log": ("base", "proto", "transport", "wire"),
    "cluster": ("base", "proto", "eval", "metrics"),
    "compress": ("base", "proto", "tensor", "device", "layout", "wire", "kernels", "config"),
    "split": ("base", "proto", "tensor", "wire", "kernels", "compress"),
    "store": ("base", "proto", "tensor", "layout", "kernels"),
    "saved_model": ("base", "proto", "config", "layout", "store", "wire"),
}

# Floors, and which others each may include besides itself.
FLOOR_MAY_INCLUDE = {
    "common": (),
    "gpu": ("common",),
    "server": ("common",),
    "worker": ("common",),
    "tests": ("common", "gpu", "server", "worker", "tools"),
    "tools": ("common", "gpu", "server", "worker"),
}
MAINS = ("server/main.cc", "worker/main.cc")

# Third-party headers, and the folders or files where each may be included.
FENCES = (
    ("ZeroMQ", re.compile(r"zmq(_addon)?\.h(pp)?$"), ("common/transport", "tools/bench")),
    # Kernels get CUDA's language from one header, which has it from the emulator where nvcc is not.
    ("CUDA", re.compile(r"(cuda|cooperative_groups|cublas|curand|cub/|thrust/|nv)"),
     ("gpu/cuda.h", "gpu/cublas_lt.h")),
    ("Boost.Context", re.compile(r"boost/context/"), ("gpu/emulator",)),
    ("gflags", re.compile(r"gflags/"), MAINS + ("common/program", "tests/common/program", "tools")),
    ("Highway", re.compile(r"hwy/"),
     ("common/compress", "common/kernels", "common/split", "tests")),
    ("libxsmm", re.compile(r"libxsmm"), ("common/kernels",)),
    ("oneDNN", re.compile(r"(oneapi/)?dnnl"), ("tools/bench",)),
    ("OpenBLAS", re.compile(r"cblas"), ("tools/bench",)),
    ("oneTBB", re.compile(r"(oneapi/)?tbb/"), ("server", "worker", "common/kernels")),
    ("nlohmann-json", re.compile(r"nlohmann/"), ("common/metrics", "tests", "tools")),
    ("xxHash", re.compile(r"xxh"), ("common/wire", "worker/data", "tests")),
    ("zlib", re.compile(r"z(lib|std)\.h$"), ("worker/data", "tests", "tools")),
)

TOP_LEVEL = {
    "CMakeLists.txt", "CMakePresets.json", "server", "worker", "common", "gpu", "configs", "tests",
    "tools", "docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE",
}

SOURCE_SUFFIXES = (".h", ".cc", ".cu", ".cuh")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
USING_NAMESPACE = re.compile(r"^\s*using\s+namespace\b")


class Include(NamedTuple):
    line: int
    header: str
    is_quoted: bool


def lies_in(path, places):
    """Whether path is one of the places or below one."""
    return any(path == place or path.startswith(place + "/") for place in places)


def read_sources(root):
    """Path from the root -> lines, of every source file."""
    sources = {}
    for floor in FLOOR_MAY_INCLUDE:
        for path in sorted((root / floor).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                sources[path.relative_to(root).as_posix()] = text.splitlines()
    return sources


def includes_of(lines):
    for number, line in enumerate(lines, 1):
        if match := INCLUDE.match(line):
            yield Include(number, match[2], match[1] == '"')


def floor_fault(path, header):
    """Why path may not include a header of ours, or None."""
    source, target = path.split("/"), header.split("/")
    if source[0] == target[0] == "common":
        return common_fault(source[1], target[1])
    if lies_in(path, ("worker/data",)) and lies_in(header, ("worker/model",)):
        return "worker/data must not include worker/model"
    if source[0] == target[0] or target[0] in FLOOR_MAY_INCLUDE[source[0]]:
        return None
    if target[0] == "gpu" and path in MAINS:
        return None
    if target[0] == "gpu" and source[0] in ("server", "worker"):
        return f"only {' and '.join(MAINS)} may include {header}"
    return f"{source[0]} must not include {target[0]}"


def common_fault(source, target):
    for folder in (source, target):
        if folder not in COMMON_MAY_INCLUDE:
            return f"common/{folder} has no row in the table of tools/checks/check_tree.py"
    if source == target or target in COMMON_MAY_INCLUDE[source]:
        return None
    allowed = ", ".join(COMMON_MAY_INCLUDE[source]) or "nothing"
    return f"common/{source} must not include common/{target} (it may include: {allowed})"


def check_includes(path, sources):
    for include in includes_of(sources[path]):
        if include.header.split("/")[0] in FLOOR_MAY_INCLUDE:
            fault = floor_fault(path, include.header)
            if fault is None and not include.is_quoted:
                fault = f"our own {include.header} is included with quotes"
            if fault:
                yield Violation(path, include.line, fault)
            continue
        beside = f"{path.rpartition('/')[0]}/{include.header}"
        if include.is_quoted and (beside in sources or include.header.startswith(".")):
            yield Violation(path, include.line,
                            f'"{include.header}" is not a path from the repository root')
        for name, pattern, places in FENCES:
            if pattern.match(include.header) and not lies_in(path, places):
                yield Violation(path, include.line,
                                f"{name} is fenced: {include.header} may be included only in "
                                f"{', '.join(places)}")


def check_text(path, lines):
    if path.endswith((".h", ".cuh")) and "#pragma once" not in lines:
        yield Violation(path, 1, "a header needs #pragma once")
    for number, line in enumerate(lines, 1):
        if USING_NAMESPACE.match(line):
            yield Violation(path, number, "no `using namespace`")


def check_cycles(sources):
    """Each cycle of includes once, at the include that closes it."""
    done, stack, found = set(), [], []

    def visit(path):
        stack.append(path)
        for include in includes_of(sources[path]):
            if include.header in stack:
                cycle = stack[stack.index(include.header):] + [include.header]
                found.append(Violation(path, include.line, "include cycle: " + " -> ".join(cycle)))
            elif include.header in sources and include.header not in done:
                visit(include.header)
        done.add(stack.pop())

    for path in sources:
        if path not in done:
            visit(path)
    return found


def check_tests_exist(root, sources):
    """Every folder of product code has tests at the mirrored place."""
    folders = {}
    for path in sources:
        if path.endswith((".cc", ".cu")) and path not in MAINS and not lies_in(path, ("tests", "tools")):
            folders.setdefault(path.rpartition("/")[0], path)
    for folder, example in sorted(folders.items()):
        if not any((root / "tests" / folder).glob("*_test.c[cu]")):
            yield Violation(example, 1, f"{folder} has no test: add tests/{folder}/*_test.cc")


def check_top_level(root):
    ignored = set()
    if (root / ".gitignore").is_file():
        lines = (root / ".gitignore").read_text().split()
        ignored = {line.strip("/") for line in lines if line.startswith("/")}
    for entry in sorted(root.iterdir()):
        if entry.name not in TOP_LEVEL | ignored and not entry.name.startswith("."):
            yield Violation(entry.name, 1, "does not belong at the top level")


def check(root):
    """All violations under the repository root, in order."""
    sources = read_sources(root)
    violations = list(check_top_level(root)) + list(long_code.check(root, sources))
    for path, lines in sources.items():
        violations += check_includes(path, sources)
        violations += check_text(path, lines)
    violations += check_cycles(sources)
    violations += check_tests_exist(root, sources)
    return sorted(violations)


def main():
    parser = root_parser(__doc__)
    parser.add_argument("--sizes", action="store_true",
                        help=f"print what {long_code.FILE} would be, and check nothing")
    arguments = parse_with_root(parser)
    if arguments.sizes:
        print(long_code.table(read_sources(arguments.root)), end="")
        return 0
    return report(check(arguments.root))


if __name__ == "__main__":
    sys.exit(main())
