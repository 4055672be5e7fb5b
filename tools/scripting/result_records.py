"""Records of docs/results: what was measured, as JSON, from which tools/pages/make_results.py makes the pages.

A record is an object of
  what      one line: what was measured, on which rows, how often
  source    "measured", or whence else the figures come
  command   what makes it again; may be several lines
  commit    of the programs
  date      of the run, YYYY-MM-DD; not there where nobody wrote it down
  machine   processor, simd, cores, memory_gib, os, compiler; null where nobody wrote it down
  tables    {name: {"columns": [...], "rows": [[...]]}}, cells as they are shown
  lines     or, of weir-bench, its lines in the place of tables
  printed   {stage: what the command printed in it}, of a script that tells its stages (tools/stages.sh)
  pictures  {name: file beside the record}
  rows_of   the config of configs/data that its made-up rows were of, where that was not the default of today
  note      what else is to be known, where there is something
What the tools that measure and the script that makes the pages share."""

import argparse
import datetime
import json
import os
import re
import subprocess

from scripting.result_files import remove, write_whole

MEASURED = "measured"
REQUIRED = {"what": str, "source": str, "command": str, "commit": str, "machine": dict}
UNKNOWN = type(None)
MACHINE = {"processor": (str, UNKNOWN), "simd": (str, UNKNOWN), "cores": (int, UNKNOWN),
           "memory_gib": (int, float, UNKNOWN), "os": (str, UNKNOWN), "compiler": (str, UNKNOWN)}
# What a clone of the repository carries for ever.
LARGEST_BYTES = 200_000


def machine(program):
    """This one. program: one of those that were measured, which tells its compiler."""
    return {"processor": processor_field("model name") or None, "simd": simd(), "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
            "os": system(), "compiler": compiler(program)}


def processor_field(name):
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((line.partition(":")[2].strip() for line in f if line.partition(":")[0].strip() == name), "")


def simd():
    """As weir-bench calls it."""
    flags = (processor_field("flags") + " " + processor_field("Features")).split()
    for flag, told in (("amx_bf16", "AVX-512 with AMX"), ("avx512_bf16", "AVX-512 with BF16"), ("avx512f", "AVX-512"),
                       ("avx2", "AVX2"), ("asimd", "NEON with BF16" if "bf16" in flags else "NEON")):
        if flag in flags:
            return told
    return "none that is known"


def system():
    try:
        with open("/etc/os-release", encoding="utf-8") as f:
            found = re.search(r'^PRETTY_NAME="?([^"\n]*)', f.read(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else os.uname().sysname


def compiler(program):
    """Compilers leave their names in what they make."""
    try:
        with open(program, "rb") as f:
            content = f.read()
    except OSError:
        return None
    for name, pattern in (("clang", rb"clang version (\d[\d.]*)"), ("g++", rb"GCC: \([^)\0]*\) (\d[\d.]*)")):
        found = re.search(pattern, content)
        if found:
            return "%s %s" % (name, found[1].decode())
    return None


def source_commit():
    """What is checked out, where no program says what it was built from."""
    told = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "--short=12", "HEAD"],
                          stdout=subprocess.PIPE, text=True, check=False)
    return told.stdout.strip() or "unknown"


def add_flag(parser):
    parser.add_argument("--record", metavar="FILE", type=target,
                        help="of docs/results, to write the figures to as well")


def target(path):
    """The type of a flag: where a record can be written, which is said hours before it is."""
    folder = os.path.dirname(path) or "."
    if not path.endswith(".json") or not os.path.isdir(folder):
        raise argparse.ArgumentTypeError("%s: a file NAME.json in a folder that is there" % path)
    return path


def table(headings, lines):
    return {"columns": list(headings), "rows": [list(line) for line in lines]}


def markdown(content):
    """Of a table."""
    lines = [content["columns"], ["---"] * len(content["columns"]), *content["rows"]]
    return "".join("| %s |\n" % " | ".join(line) for line in lines)


def write(path, what, command, commit, measured_on, results, pictures=None, keep_what=True):
    """results: {"tables": ...} or {"lines": ...}. pictures: {name: file that was drawn}; one that is not there is left
    out, and an older one of its name goes. What an earlier record of this path says that it is stays, if keep_what.
    A ValueError, as load would raise, instead of a record that is none: what was there stays."""
    beside = {name: "%s-%s.svg" % (os.path.splitext(os.path.basename(path))[0], name) for name in pictures or {}}
    drawn = {name: text(source) for name, source in (pictures or {}).items()}
    record = {"what": (keep_what and said_before(path)) or what, "source": MEASURED, "command": command,
              "commit": commit, "date": datetime.date.today().isoformat(), "machine": measured_on, **results}
    shown = {name: beside[name] for name, content in drawn.items() if content is not None}
    if shown:
        record["pictures"] = shown
    content_to_write = as_text(record)
    refuse(path, content_mistakes(record, len(content_to_write.encode())))
    for name, content in drawn.items():
        target = os.path.join(os.path.dirname(path), beside[name])
        remove(target) if content is None else write_whole(target, content)
    write_whole(path, content_to_write)


def said_before(path):
    try:
        return load(path)["what"]
    except (OSError, ValueError):
        return None


def text(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return None


def as_text(record):
    """JSON with a line for each row of a table, or line of weir-bench: changes show line by line."""
    rows = []

    def fold(value, is_row=False):
        if isinstance(value, dict) and not is_row:
            return {key: [fold(item, True) for item in part]
                    if key in ("rows", "lines") and isinstance(part, list) else fold(part)
                    for key, part in value.items()}
        if is_row or isinstance(value, list):
            rows.append(json.dumps(value, ensure_ascii=False))
            return "<<row %d>>" % (len(rows) - 1)
        return value

    whole = json.dumps(fold(record), indent=1, ensure_ascii=False)
    return re.sub(r'"<<row (\d+)>>"', lambda found: rows[int(found[1])], whole) + "\n"


def load(path):
    """The record; a ValueError that names the file and all that is wrong with it."""
    with open(path, encoding="utf-8") as f:
        try:
            record = json.load(f)
        except ValueError as error:
            raise ValueError("%s: no JSON: %s" % (path, error)) from None
    refuse(path, content_mistakes(record, os.path.getsize(path)))
    refuse(path, list(picture_mistakes(record, os.path.dirname(path))))
    return record


def refuse(path, wrong):
    if wrong:
        raise ValueError("%s: %s" % (path, "; ".join(wrong)))


def content_mistakes(record, byte_count):
    return [*mistakes(record), *(["more than %d bytes" % LARGEST_BYTES] if byte_count > LARGEST_BYTES else [])]


def picture_mistakes(record, folder):
    for name in record.get("pictures", {}).values():
        picture = os.path.join(folder, name)
        if not os.path.isfile(picture):
            yield "there is no %s" % name
        elif os.path.getsize(picture) > LARGEST_BYTES:
            yield "%s has more than %d bytes" % (name, LARGEST_BYTES)


def mistakes(record):
    if not isinstance(record, dict):
        yield "no object"
        return
    yield from missing(record, REQUIRED, "")
    if isinstance(record.get("machine"), dict):
        yield from missing(record["machine"], MACHINE, "machine.")
    if ("tables" in record) == ("lines" in record):
        yield "either tables or lines"
    for name, content in record.get("tables", {}).items():
        if not isinstance(content, dict) or set(content) != {"columns", "rows"}:
            yield "tables.%s: it has columns and rows" % name
        elif {len(row) for row in content["rows"]} - {len(content["columns"])}:
            yield "tables.%s: a row has more or fewer cells than there are columns" % name
    for name, content in record.get("printed", {}).items():
        if not isinstance(content, str):
            yield "printed.%s is no text" % name
    for line in record.get("lines", []):
        if not {"name", "value", "unit", "peer", "peer_value", "ratio", "goal"} <= set(line):
            yield "lines: %s is no line of weir-bench" % line.get("name")


def missing(found, wanted, prefix):
    for key, kind in wanted.items():
        if key not in found:
            yield "%s%s is missing" % (prefix, key)
        elif not isinstance(found[key], kind):
            yield "%s%s is of another kind" % (prefix, key)
