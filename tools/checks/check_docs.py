#!/usr/bin/env python3
"""Checks what the Markdown pages say of the tree, as far as a program can tell.

  tools/checks/check_docs.py [--root=DIR]

A link leads to a file that is there, and its #anchor to a heading of that file; a path of the
repository that stands in backticks or in a command, like `tools/test` or --config=configs/a.textproto,
exists; every name in summary.json (common/metrics/summary.cc) is in docs/results.md, as code.
Prints each mistake as path:line: message and ends with 1 when there is one.
"""

import re
import sys
from pathlib import Path

from check_tree import Violation, run

FOLDERS = ("common", "server", "worker", "tools", "tests", "configs", "docs")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"#+ +(.*?)\s*$")
# Of the start of a word, so that build/tools/x is none.
TREE_PATH = re.compile(r"(?<![\w/.~-])(?:%s)/[\w./-]*[\w/]" % "|".join(FOLDERS))
# What stands for a name: a path before one of these, or with one of these in it.
GLOB = tuple("*<{[")
PLACEHOLDER = re.compile(r"\b(foo|bar|baz|P|X)(\b|_)")
SUMMARY, RESULTS = "common/metrics/summary.cc", "docs/results.md"
SUMMARY_NAME = re.compile(r'\{"(\w+)",|json\["(\w+)"\]')


def pages(root):
    found = [path for path in root.glob("*.md")]
    for folder in FOLDERS:
        found += (root / folder).rglob("*.md")
    return sorted(found)


def anchors(text):
    """What GitHub makes of the headings: lower case, without punctuation, blanks as hyphens."""
    found = set()
    in_code = False
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        heading = None if in_code else HEADING.match(line)
        if heading:
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            found.add(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"))
    return found


def link_fault(page, target):
    """What is wrong with a relative link, or None."""
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return f"the link {target} leads to no file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
        return f"the link {target} leads to no heading of {file.name}"
    return None


def quoted(line, in_code):
    """The parts of a line that are commands or names, not prose."""
    return [line] if in_code else re.findall(r"`([^`]+)`", line)


def path_faults(root, text):
    for match in TREE_PATH.finditer(text):
        path = match[0]
        if PLACEHOLDER.search(path) or text.startswith(GLOB, match.end()):
            continue
        # A name without its suffix, too: common/base/hogwild of hogwild.h and hogwild.cc.
        if not (root / path).exists() and not list((root / path).parent.glob(Path(path).name + ".*")):
            yield f"there is no {path}"


def check_page(root, page):
    name = page.relative_to(root).as_posix()
    in_code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        in_code ^= line.startswith("```")
        for match in [] if in_code else LINK.finditer(line):
            fault = None if "://" in match[1] else link_fault(page, match[1])
            if fault:
                yield Violation(name, number, fault)
        for part in quoted(line, in_code):
            for fault in path_faults(root, part):
                yield Violation(name, number, fault)


def check_summary(root):
    source, page = root / SUMMARY, root / RESULTS
    if not source.is_file():
        return
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    named = set(re.findall(r"`(\w+)`", text))
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        for match in SUMMARY_NAME.finditer(line):
            key = match[1] or match[2]
            if key.removesuffix("_dense") not in named:
                yield Violation(SUMMARY, number, f"{RESULTS} does not say what {key} is")


def check(root):
    found = [violation for page in pages(root) for violation in check_page(root, page)]
    return found + list(check_summary(root))


if __name__ == "__main__":
    sys.exit(run(__doc__, check))
