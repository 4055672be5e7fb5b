"""Functions and files that are too long, counted by folder: FILE says how many each may have, and
that number only falls. A source is a list of lines by its path from the root.
"""

from collections import defaultdict

import function_lengths
from checking import Violation

# What is too long, in the order of the numbers in FILE, and of how many lines.
KINDS = (("functions", 25), ("functions", 60), ("sources", 200), ("headers", 120))
FILE = "tools/checks/long_code.txt"
HEADING = f"""\
# How much of each folder's code is too long, counted as
# {", ".join(f"{kind} over {most}" for kind, most in KINDS)} lines.
# There may only be less. Written by: tools/checks/check_tree.py --sizes > {FILE}
"""


def sizes_of(path, lines):
    """Each thing of a source that may be too long: its kind, and where and how long it is."""
    header = path.endswith((".h", ".cuh"))
    yield "headers" if header else "sources", Violation(path, 1, f"{len(lines)} lines"), len(lines)
    for function in function_lengths.functions("\n".join(lines)):
        told = f"{function.name} has {function.line_count} lines"
        yield "functions", Violation(path, function.line, told), function.line_count


def find_long(sources):
    """Folder -> for each of KINDS the Violations that are too long; and what cannot be counted."""
    found, faults = defaultdict(lambda: [[] for _ in KINDS]), []
    for path, lines in sources.items():
        try:
            sizes = list(sizes_of(path, lines))
        except function_lengths.UnmatchedBraces as fault:
            faults.append(Violation(path, fault.args[0], "braces do not match, so functions cannot "
                                    "be counted; write them outside of #if and #else"))
            continue
        for kind, place, size in sizes:
            for column, (long_kind, most) in enumerate(KINDS):
                if kind == long_kind and size > most:
                    found[path.rpartition("/")[0]][column].append(place)
    return found, faults


def read_allowed(root):
    """Folder -> how many of each of KINDS it may have; and the lines that say nothing."""
    allowed, faults = defaultdict(lambda: [0] * len(KINDS)), []
    file = root / FILE
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    for number, line in enumerate(lines, 1):
        folder, *counts = line.split() or ["#"]
        if folder.startswith("#"):
            continue
        if len(counts) == len(KINDS) and all(count.isdecimal() for count in counts):
            allowed[folder] = [int(count) for count in counts]
        else:
            faults.append(Violation(FILE, number, f"not a folder and {len(KINDS)} numbers"))
    return allowed, faults


def check(root, sources):
    """No folder has more long code than FILE allows, nor is less of it left unsaid."""
    found, faults = find_long(sources)
    allowed, faults_of_file = read_allowed(root)
    yield from faults + faults_of_file
    for folder in sorted(found.keys() | allowed.keys()):
        for (kind, most), places, bound in zip(KINDS, found[folder], allowed[folder]):
            told = f"{folder} has {len(places)} {kind} over {most} lines"
            if len(places) > bound:
                for place in places:
                    yield place._replace(message=f"{place.message}; {told}, and {FILE} allows "
                                         f"{bound}: make one shorter")
            elif len(places) < bound:
                yield Violation(FILE, 1, f"{told}, and {bound} are allowed: run "
                                f"`tools/checks/check_tree.py --sizes > {FILE}`")


def table(sources):
    """The text of FILE for these sources."""
    found, _ = find_long(sources)
    rows = (f"{folder} {' '.join(str(len(places)) for places in found[folder])}\n"
            for folder in sorted(found))
    return HEADING + "".join(rows)
