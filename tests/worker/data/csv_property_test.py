#!/usr/bin/env python3
"""The fields of made-up files of comma-separated values, as our reader gives them, are those that
Python's csv module gives.

  csv_property_test.py PROGRAM      PROGRAM: tests/programs/csv_fields"""

import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile

FILES = 200


def made_up_field(generator, delimiter):
    alphabet = ["a", "b", "7", ".", " ", '"', '""', delimiter, "\n", "\u00e9", "\u20ac", "'"]
    return "".join(generator.choice(alphabet) for _ in range(generator.choice([0, 1, 2, 5, 40])))


def made_up_text(generator, delimiter):
    """Half of the files by Python's writer, half by hand, with quotes wherever they fall."""
    end = generator.choice(["\n", "\r\n"])
    records = [[made_up_field(generator, delimiter) for _ in range(generator.randint(1, 6))]
               for _ in range(generator.randint(1, 60))]
    if generator.random() < 0.5:
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter, lineterminator=end,
                   quoting=generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])).writerows(records)
        return out.getvalue()
    lines = [delimiter.join(field.replace("\n", "") for field in record) for record in records]
    return end.join(lines) + (end if generator.random() < 0.5 else "")


def expected_records(text, delimiter):
    """Trimmed of spaces and tabs. None when a quote stays open, which Python ends in silence."""
    records = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False):
            records.append([field.strip(" \t") for field in record] or [""])
    except csv.Error:
        return None
    return records


def has_stray_quote(text, delimiter):
    """Whether the text ends inside quotes, or text follows a closing one, against RFC 4180: Python
    then reads on, and we take the quotes for characters that hide no newline."""
    state = "start"
    for c in text:
        if state == "quoted":
            state = "quote" if c == '"' else "quoted"
        elif state == "quote" and c == '"':
            state = "quoted"
        elif c in (delimiter, "\n"):
            state = "start"
        elif state in ("quote", "behind"):
            if c not in " \t\r":
                return True
            state = "behind"
        else:
            state = "quoted" if state == "start" and c == '"' else "plain"
    return state == "quoted"


def main():
    program = sys.argv[1]
    compared = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "f.csv")
        for seed in range(FILES):
            generator = random.Random(seed)
            delimiter = generator.choice([",", ";", "\t", "|"])
            text = made_up_text(generator, delimiter)
            expected = expected_records(text, delimiter)
            if not text.strip("\r\n") or expected is None or has_stray_quote(text, delimiter):
                continue
            with open(path, "w", encoding="utf-8", newline="") as f:
                f.write(text)
            out = subprocess.run([program, path, delimiter], capture_output=True, text=True,
                                 check=True, timeout=60).stdout
            found = [json.loads(line) for line in out.splitlines()]
            assert found == expected, "seed %d: %r\nours %r\nPython's %r" % (
                seed, text, found, expected)
            compared += 1
    assert compared > FILES / 3, "only %d files were compared" % compared
    print("%d files agree" % compared)


if __name__ == "__main__":
    main()
