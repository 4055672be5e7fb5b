#!/usr/bin/env python3
"""Writes the pages of docs/results, and the README, from the records there: what was measured is copied, never
typed again.

  tools/pages/make_results.py [--check] [--root=DIR]

A page is made of its template in tools/pages: results/ are pages of docs/results, start/ one of docs/start,
README.md.in is the README. A template is prose, and in double braces what a record has to say. A record is named without its ending, docs/results/NAME.json; a word with blanks stands
in quotes. A page has
  {{record R}}                     what was measured, on which machine, on which made-up rows, and the command
  {{on R}}, {{note R}}             the machine alone; what the record says beside its figures
  {{table R T [columns=a;b=shown] [rows=x;y=shown]}}   a table; T+U sets one beside another
  {{value R T ROW COLUMN}}         one cell
  {{bench HEADING=R+R ...}}        parts of the system as weir-bench measured them, a column for each
  {{grid R rows=... columns=...}}  lines of weir-bench, by row and column
  {{line R NAME FIELD}}            one figure of such a line; of A+B the sum, with over=C+D divided by the values of those
  {{speedups R R policies=a;b trainers=2;4}}   what compression does for the time of communication, by a model of its cost:
                                   bytes of the first record, start-up of a message of the second
  {{picture R NAME}}               a picture beside the record
  {{printed R STAGE}}              what a command printed, as code
  {{machines}}, {{records}}        all of them, each in a line
--check writes nothing and ends with 1 when a page is not what would be written. Both end with 1 when a
record is damaged or has not what a template asks for.
"""

import os
import re
import shlex
import sys
import textwrap
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools" / "pages")]
import cost_model  # noqa: E402
import result_tables  # noqa: E402
from scripting import result_records, tool_flags  # noqa: E402
from scripting.result_files import write_whole  # noqa: E402

RESULTS, TEMPLATES = "docs/results", "tools/pages/results"
# Pages elsewhere that have figures.
OTHERS = {"tools/pages/README.md.in": "README.md", "tools/pages/start/quickstart.md.in": "docs/start/quickstart.md"}
MADE = "<!-- Made by tools/pages/make_results.py from %s and records of docs/results. Edit those. -->\n\n"
WIDTH = 150  # of prose that is made
CALL = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def load_records(root):
    """{name: record}; a ValueError with every mistake of all."""
    found, wrong = {}, []
    for path in sorted((root / RESULTS).glob("*.json")):
        try:
            found[path.stem] = result_records.load(str(path))
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        raise ValueError("\n".join(wrong))
    return found


def record_of(records, name):
    if name not in records:
        raise ValueError("there is no record %s/%s.json" % (RESULTS, name))
    return records[name]


def machine(record):
    """In short."""
    on = record["machine"]
    words = ", ".join(on[key] for key in ("processor", "simd") if on[key])
    return ("%d cores of %s" % (on["cores"], words) if on["cores"] else words) or "an unknown machine"


def machines(records):
    """Each in a line, with all that is known of it."""
    found = {tuple(record["machine"].get(key) for key in result_records.MACHINE): 0 for record in records.values()}
    lines = [["" if value is None else value if isinstance(value, str) else "%.3g" % value for value in values]
             for values in found if any(values)]
    return result_records.markdown(result_records.table(
        ["processor", "vectors", "cores", "memory, GiB", "system", "compiler"], sorted(lines)))


def told(record):
    rows = "; made-up rows of `%s`" % record["rows_of"] if "rows_of" in record else ""
    words = textwrap.fill("%s On %s%s:" % (record["what"], machine(record), rows), WIDTH, break_on_hyphens=False)
    return words + "\n\n```\n%s\n```\n" % record["command"]


def note(record):
    if "note" not in record:
        raise ValueError("the record has no note")
    return textwrap.fill(record["note"], WIDTH, break_on_hyphens=False)


def named(words):
    """The words of a call that are NAME=text, apart from the others."""
    plain = [word for word in words if not re.match(r"(columns|rows|over|policies|trainers)=", word)]
    return plain, dict(word.split("=", 1) for word in words if word not in plain)


def bench(records, columns):
    split = [column.rpartition("=") for column in columns]
    return result_tables.bench([(heading, [record_of(records, name) for name in names.split("+")])
                                for heading, _, names in split])


def picture(record, name):
    if name not in record.get("pictures", {}):
        raise ValueError("the record has no picture %s" % name)
    return "![%s](%s)" % (name, record["pictures"][name])


def printed(record, stage):
    if stage not in record.get("printed", {}):
        raise ValueError("the record has nothing printed by %s" % stage)
    return "```\n%s\n```" % record["printed"][stage]


def list_of(records):
    return result_records.markdown(result_records.table(["record", "what", "machine"], [
        ["[%s](%s.json)" % (name, name), record["what"], record["machine"]["processor"] or ""]
        for name, record in records.items()]))


LISTS = {"records": list_of, "machines": machines}


def call(records, words):
    """What stands in the place of {{words}}."""
    name, *rest = words
    plain, options = named(rest)
    if name in LISTS:
        return LISTS[name](records)
    if name == "bench":
        return bench(records, rest)
    if name == "speedups":
        return cost_model.speedup_table(*(record_of(records, record) for record in plain), **options)
    functions = {"record": told, "on": machine, "note": note, "table": result_tables.table, "value": result_tables.value,
                 "grid": result_tables.grid, "line": result_tables.line_value, "picture": picture, "printed": printed}
    if name not in functions or not plain:
        raise ValueError("no call of a template")
    return functions[name](record_of(records, plain[0]), *plain[1:], **options)


def fill(records, template, name):
    """The page; a ValueError that says where in the template something is wrong."""
    def replace(found):
        try:
            return call(records, shlex.split(found[1])).rstrip("\n")
        except (TypeError, ValueError) as error:
            line = template.count("\n", 0, found.start()) + 1
            raise ValueError("%s:%d: {{%s}}: %s" % (name, line, found[1], error)) from None
    return MADE % name + CALL.sub(replace, template)


def make_pages(root):
    """{path: text} of every page."""
    records = load_records(root)
    places = {path: root / RESULTS / path.stem for path in sorted((root / TEMPLATES).glob("*.md.in"))}
    places |= {root / template: root / page for template, page in OTHERS.items() if (root / template).is_file()}
    return {place: fill(records, path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
            for path, place in places.items()}


def stale_pages(root, pages):
    """Those that are not as they would be made, and those of which there is no template."""
    for path, text in pages.items():
        if result_records.text(path) != text:
            yield "%s is not what its records say: run tools/pages/make_results.py" % path.relative_to(root)
    for path in sorted(set((root / RESULTS).glob("*.md")) - set(pages)):
        yield "%s has no template in %s" % (path.relative_to(root), TEMPLATES)


def main():
    parser = tool_flags.parser(__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=ROOT)
    flags = parser.parse_args()
    try:
        pages = make_pages(flags.root)
    except (OSError, ValueError) as error:
        sys.exit("error: %s" % error)
    if flags.check:
        wrong = list(stale_pages(flags.root, pages))
        print("".join(line + "\n" for line in wrong), end="")
        return 1 if wrong else 0
    for path, text in pages.items():
        write_whole(os.fspath(path), text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
