#!/usr/bin/env python3
"""Writes docs/reference/flags.md from the sources of the programs: of each what it is, its commands, and
every flag with its type, default and meaning, as --help tells them.

  tools/pages/make_flags_docs.py [--check]

--check writes nothing and ends with 1 when the page is not what would be written. Both end with 1 when a
flag of a program is not understood or says nothing of itself.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from scripting import tool_flags  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "reference", "flags.md")
# Each program and the folder of its main.cc, in the order of the page.
PROGRAMS = (("weir-local", "tools/local"), ("weir-data", "tools/data"), ("weir-predict", "tools/model"),
            ("weir-inspect", "tools/inspect"), ("weir-keygen", "tools/keygen"), ("weir-server", "server"),
            ("weir-worker", "worker"), ("weir-bench", "tools/bench"))
TYPES = {"string": "text", "bool": "true or false", "int32": "whole number", "int64": "whole number",
         "uint64": "whole number", "double": "number"}
TEXT = r'(?:"(?:[^"\\]|\\.)*"\s*)+'
DEFINITION = re.compile(r"^DEFINE_(\w+)\(\s*(\w+)\s*,\s*(" + TEXT + r"|[^,]+?)\s*,\s*(" + TEXT + r")\);", re.M)
USAGE = re.compile(r"(?:\bkUsage\s*=|\.usage\s*=|\bUsage\(\) \{\s*std::string text =)\s*(" + TEXT + ")")
INTRODUCTION = """# Every flag of every program

`PROGRAM --help` prints the same. Flags say who and where a process is; what affects the result of a run is in the [config](config.md).
A flag is given as `--name=value`. Each program also has `--help` and `--version`. Exit codes: [exit_codes.md](exit_codes.md).

This page is generated from the programs' sources by `tools/pages/make_flags_docs.py`.
"""


class Flag:
    def __init__(self, kind, name, default, meaning):
        self.kind, self.name, self.default, self.meaning = kind, name, default, meaning


def joined(literals):
    """What C++ makes of string literals that stand one behind the other."""
    texts = re.findall(r'"((?:[^"\\]|\\.)*)"', literals)
    return "".join(texts).replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


def flags_of(source):
    """The flags that a source defines, and how many lines begin as such a definition."""
    found = [Flag(kind, name, joined(default) if default.startswith('"') else default, joined(meaning))
             for kind, name, default, meaning in DEFINITION.findall(source)]
    return found, len(re.findall(r"^DEFINE_\w+\(", source, re.M))


def usage_of(source):
    found = USAGE.search(source)
    return joined(found[1]) if found else None


def row(flag):
    default = "`%s`" % flag.default if flag.default else ""
    return "| `--%s` | %s | %s | %s |" % (
        flag.name, TYPES[flag.kind], default, re.sub(r"\s+", " ", flag.meaning).replace("|", "\\|"))


def section(name, usage, flags):
    first, _, commands = usage.partition("\n")
    commands = re.sub(r"\n?[^\n]*:$", "", commands)  # what a list follows that the program makes itself
    lines = ["## %s\n" % name, first[:1].upper() + first[1:] + ".\n"]
    if commands:
        lines += ["```\n%s\n```\n" % re.sub(r"^  ", "", commands, flags=re.M)]
    if flags:
        lines += ["| flag | type | default | meaning |", "|---|---|---|---|", *map(row, flags), ""]
    return "\n".join(lines)


def sources_of(folder):
    for name in sorted(os.listdir(os.path.join(ROOT, folder))):
        if name.endswith(".cc"):
            with open(os.path.join(ROOT, folder, name), encoding="utf-8") as f:
                yield "%s/%s" % (folder, name), f.read()


def program(name, sources):
    """A program's section, and what is wrong with its flags."""
    flags, mistakes, usage = [], [], None
    for path, source in sources:
        found, begun = flags_of(source)
        if len(found) < begun:
            mistakes.append("%s: %d of its flags are not understood" % (path, begun - len(found)))
        mistakes += ["%s: --%s has no description" % (path, flag.name) for flag in found if not flag.meaning]
        mistakes += ["%s: --%s: no flag here is a %s" % (path, flag.name, flag.kind)
                     for flag in found if flag.kind not in TYPES]
        flags += [flag for flag in found if flag.kind in TYPES]
        usage = usage or usage_of(source)
    if usage is None:
        mistakes.append("%s: no source says what it is, as kUsage, .usage or Usage()" % name)
    return section(name, usage or "", sorted(flags, key=lambda flag: flag.name)), mistakes


def main():
    parser = tool_flags.parser(__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    parts, mistakes = [INTRODUCTION], []
    for name, folder in PROGRAMS:
        part, wrong = program(name, sources_of(folder))
        parts.append(part)
        mistakes += wrong
    for line in mistakes:
        print(line, file=sys.stderr)
    text = "\n".join(parts)
    if not check:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
        return 1 if mistakes else 0
    with open(PAGE, encoding="utf-8") as f:
        if f.read() != text:
            print("docs/reference/flags.md is not what tools/pages/make_flags_docs.py writes; run it", file=sys.stderr)
            return 1
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
