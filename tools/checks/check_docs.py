#!/usr/bin/env python3
"""Checks what pages and the comments of sources say of the tree, as far as a program can tell.

  tools/checks/check_docs.py [--root=DIR]

A link leads to a file that is there, and its #anchor to a heading of that file; a path of the
repository that stands in backticks or in a command, like `tools/test` or --config=configs/P.textproto,
exists; every name in summary.json (common/metrics/summary.cc) is in docs/reference/results.md, as code. A page
or path that a comment names exists, too: from the root, or beside the source or what it tests.
Pages are easy to read: the README has 120 lines at most, no line outside tables and code has more than 200
characters, and no page tells a commit, for figures and their commits are records of docs/results. Pages
made of those are as tools/pages/make_results.py makes them.
Prints each mistake as path:line: message and ends with 1 when there is one.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))
import make_results  # noqa: E402
from checking import Violation, parse_with_root, report, root_parser  # noqa: E402

FOLDERS = ("common", "server", "worker", "tools", "tests", "configs", "docs")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"#+ +(.*?)\s*$")
# Of the start of a word, so that build/tools/x is none.
TREE_PATH = re.compile(r"(?<![\w/.~-])(?:%s)/[\w./-]*[\w/]" % "|".join(FOLDERS))
# What stands for a name: a path before one of these, or with one of these in it.
GLOB = tuple("*<{[")
PLACEHOLDER = re.compile(r"\b(foo|bar|baz|P|X|NAME)(\b|_)")
SUMMARY, RESULTS = "common/metrics/summary.cc", "docs/reference/results.md"
README_LINES, LINE_CHARACTERS = 120, 200
COMMIT = re.compile(r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40}\b")
SOURCES = (".h", ".cc", ".proto", ".py", ".cmake", ".textproto", "CMakeLists.txt")
DOCSTRING = re.compile(r'\A(?:#![^\n]*\n)?"""(.*?)"""', re.DOTALL)
# Not OUT/table.md, which a tool writes.
PAGE = re.compile(r"(?<![\w/.~-])(?![A-Z]+/)[\w/-]+\.md\b")
# No page of ours has numbers.
NUMBERED = re.compile(r"\b(?:architecture|algorithms|design) \d+(?:\.\d+)*")
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


def reading_faults(name, line, in_code):
    if len(line) > LINE_CHARACTERS and not in_code and not line.startswith("|"):
        yield f"more than {LINE_CHARACTERS} characters in a line"
    found = COMMIT.search(line)
    if found and (name == "README.md" or name.startswith("docs/")):
        yield f"{found[0]} looks like a commit, which no page tells"


def check_page(root, page):
    name = page.relative_to(root).as_posix()
    in_code = False
    lines = page.read_text(encoding="utf-8").splitlines()
    if name == "README.md" and len(lines) > README_LINES:
        yield Violation(name, len(lines), f"more than {README_LINES} lines")
    for number, line in enumerate(lines, 1):
        in_code ^= line.startswith("```")
        for match in [] if in_code else LINK.finditer(line):
            fault = None if "://" in match[1] else link_fault(page, match[1])
            if fault:
                yield Violation(name, number, fault)
        for part in quoted(line, in_code):
            for fault in path_faults(root, part):
                yield Violation(name, number, fault)
        for fault in reading_faults(name, line, in_code):
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


def check_results(root):
    if not (root / make_results.RESULTS).is_dir():
        return
    try:
        for fault in make_results.stale_pages(root, make_results.make_pages(root)):
            yield Violation(make_results.RESULTS, 1, fault)
    except ValueError as error:
        yield Violation(make_results.RESULTS, 1, str(error))


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and (path.name.endswith(SOURCES) or not path.suffix):
                yield path


def comment_of(line, mark):
    """What a line says behind the mark of a comment that is in no string, or None."""
    for match in re.finditer(rf"(?:^|\s){mark}\s", line):
        if line.count('"', 0, match.start()) % 2 == 0:
            return line[match.end():]
    return None


def comments(text, mark):
    """(number, what it says) of the lines that are comments, or of the text that a module begins with."""
    said = DOCSTRING.match(text)
    last = text.count("\n", 0, said.end()) + 1 if said else 0
    for number, line in enumerate(text.splitlines(), 1):
        comment = line if number <= last else comment_of(line, mark)
        if comment is not None:
            yield number, comment


def comment_faults(root, folder, text):
    """What is wrong with a comment of a source in the folder, a path from the root."""
    yield from path_faults(root, text)
    for match in NUMBERED.finditer(text):
        yield f"{match[0]} is in no page: name the file, or the paper"
    tested = folder.relative_to("tests") if folder.parts[0] == "tests" else folder
    for match in PAGE.finditer(text):
        places = (root, root / folder, root / tested)
        if not TREE_PATH.match(match[0]) and not any((place / match[0]).exists() for place in places):
            yield f"there is no {match[0]}"


def check_source(root, source):
    path = source.relative_to(root)
    mark = "//" if path.suffix in (".h", ".cc", ".proto") else "#"
    for number, text in comments(source.read_text(encoding="utf-8", errors="replace"), mark):
        for fault in comment_faults(root, path.parent, text):
            yield Violation(path.as_posix(), number, fault)


def check(root):
    found = [violation for page in pages(root) for violation in check_page(root, page)]
    found += [violation for source in sources(root) for violation in check_source(root, source)]
    return [*found, *check_summary(root), *check_results(root)]


if __name__ == "__main__":
    sys.exit(report(check(parse_with_root(root_parser(__doc__)).root)))
