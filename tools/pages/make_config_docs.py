#!/usr/bin/env python3
"""Writes docs/reference/config.md from the comments of common/proto/config.proto: every field with its path,
type, default, range and meaning.

  tools/pages/make_config_docs.py [--check]

--check writes nothing and ends with 1 when the page is not what would be written. Both end with 1 when a
line of the file is not understood, or a field lacks a comment, a default ("Default 3." or "Required.") or,
if it is a number, a range ("1 to 64."). A list may do without the last two, for it may be empty; of a
uint64, which seeds are, every value will do.
"""

import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from scripting import tool_flags  # noqa: E402

PROTO = os.path.join(ROOT, "common", "proto", "config.proto")
PAGE = os.path.join(ROOT, "docs", "reference", "config.md")
SCALARS = {"int32": "whole number", "int64": "whole number", "uint64": "whole number",
           "double": "number", "bool": "true or false", "string": "text"}
NUMBERS = ("int32", "int64", "double")
INTRODUCTION = """# Every field of a config

A config is protobuf text: files laid over each other in order, and `--override` last ([how](../../configs/README.md)).
A field that is not there takes its default. `config.textproto` beside a run's results has every field with the value that it had.
Units end a field's name: `_ms`, `_bytes`, `_samples`, `_steps`.

This page is generated from the comments of [config.proto](../../common/proto/config.proto) by `tools/pages/make_config_docs.py`.
"""


class Field:
    def __init__(self, label, kind, name, comment, oneof):
        self.label, self.kind, self.name, self.oneof = label, kind, name, oneof
        self.comment = comment

    # A comment ends, or nearly, in "Default 3; 1 to 64." or "Required; above 0."
    ENDING = re.compile(r"\b(?:Required|Default:? (?P<default>[^;]*?))(?:; (?P<range>[^;]*?))?\.(?=\s|$)")

    def default(self):
        """What the comment says of it: "3", "required", or None."""
        found = self.ENDING.search(self.comment)
        if not found:
            return None
        return found.group("default") or "required"

    def range(self):
        found = self.ENDING.search(self.comment)
        return found.group("range") if found else None

    def meaning(self):
        return re.sub("  +", " ", self.ENDING.sub("", self.comment)).strip()


class Message:
    def __init__(self, name, comment):
        self.name, self.comment, self.fields = name, comment, []


class Parser:
    """Of a .proto file in the form of ours: {name: Message} and {name: [(value, comment)]}."""

    OPENED = re.compile(r"(message|enum|oneof) (\w+) \{(\}?)$")
    VALUE = re.compile(r"(\w+) = (\d+);$")
    FIELD = re.compile(r"(?:(optional|repeated) )?([\w.]+) (\w+) = \d+;$")
    PASSED_OVER = {True: re.compile(r'(syntax|package)\b.*;$'), False: re.compile(r"reserved .*;$")}

    def __init__(self):
        self.messages, self.enums, self.stack = {}, {}, []

    def take(self, line, note):
        """A line, and the comment above it. Whether it was understood."""
        opened = self.OPENED.match(line)
        if opened:
            self.open(*opened.groups(), note)
        elif line == "}" and self.stack:
            self.stack.pop()
        elif self.PASSED_OVER[not self.stack].match(line):
            pass
        elif self.stack and self.stack[-1][0] == "enum":
            return self.take_value(self.VALUE.match(line), note)
        else:
            return bool(self.stack) and self.take_field(self.FIELD.match(line), note)
        return True

    def open(self, kind, name, closed, note):
        if kind == "message":
            self.messages[name] = Message(name, note)
        if kind == "enum":
            self.enums[name] = []
        if not closed:
            self.stack.append((kind, name))

    def take_value(self, found, note):
        if found and int(found.group(2)) > 0:
            self.enums[self.stack[-1][1]].append((found.group(1), note))
        return bool(found)

    def take_field(self, found, note):
        if found:
            owner = next(name for kind, name in reversed(self.stack) if kind == "message")
            oneof = self.stack[-1][1] if self.stack[-1][0] == "oneof" else None
            self.messages[owner].fields.append(Field(*found.groups(), note, oneof))
        return bool(found)


def parse(text):
    """Messages and enums of a file, and the lines that are not understood, as (number, line)."""
    parser, comment, strange, fields = Parser(), [], [], []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line.startswith("//"):
            comment.append(line[2:].strip())
        elif line:
            if not parser.take(line, " ".join(comment)):
                strange.append((number, line))
            elif Parser.FIELD.match(line):
                fields.append((number, line))
            comment = []
    kinds = {*parser.messages, *parser.enums, *SCALARS}
    strange += [(number, line) for number, line in fields if Parser.FIELD.match(line).group(2) not in kinds]
    return parser.messages, parser.enums, sorted(strange)


def has_section(message):
    return bool(message.fields or message.comment)


def type_text(field, messages, enums):
    if field.kind in enums:
        text = ", ".join("`%s`" % value for value, _ in enums[field.kind])
    elif field.kind in SCALARS:
        text = SCALARS[field.kind]
    elif has_section(messages[field.kind]):
        text = "[%s](#%s)" % (field.kind, field.kind.lower())
    else:
        text = "`{}`"
    return ("list of " if field.label == "repeated" else "") + text


def reachable(name, messages, found):
    if name in found:
        return
    found.append(name)
    for field in messages[name].fields:
        if field.kind in messages:
            reachable(field.kind, messages, found)


def meaning(field, enums):
    text = field.meaning()
    for value, note in enums.get(field.kind, []):
        if note:
            text += " `%s`: %s" % (value, note)
    return text.strip().replace("|", "\\|")


def prose(comment):
    """A message's comment as paragraphs, an empty line of it being two blanks, in lines of a page."""
    return "\n\n".join(textwrap.fill(paragraph, 150, break_long_words=False, break_on_hyphens=False)
                       for paragraph in re.split("  +", comment)) + "\n"


def page(messages, enums):
    lines = [INTRODUCTION]
    order = []
    reachable("Config", messages, order)
    for name in order:
        message = messages[name]
        if not has_section(message):
            continue
        lines += ["## %s\n" % name]
        if message.comment:
            lines += [prose(message.comment)]
        if not message.fields:
            continue
        lines += ["| field | type | default | range | meaning |", "|---|---|---|---|---|"]
        for field in message.fields:
            choice = " (one of `%s`)" % field.oneof if field.oneof else ""
            lines += ["| `%s`%s | %s | %s | %s | %s |" % (
                field.name, choice, type_text(field, messages, enums), field.default() or "",
                field.range() or "", meaning(field, enums))]
        lines += [""]
    return "\n".join(lines)


def mistakes(messages, enums):
    found = []
    order = []
    reachable("Config", messages, order)
    for name in order:
        for field in messages[name].fields:
            path = "%s.%s" % (name, field.name)
            if field.kind in SCALARS and not field.comment:
                found.append("%s has no comment" % path)
            is_one = field.label == "optional" or (field.kind in enums and field.label != "repeated")
            if is_one and field.default() is None:
                found.append("%s: the comment says neither \"Default ...\" nor \"Required.\"" % path)
            if field.label == "optional" and field.kind in NUMBERS and field.range() is None:
                found.append("%s: the comment has no range, as in \"1 to 64.\"" % path)
    return found


def main():
    parser = tool_flags.parser(__doc__)
    parser.add_argument("--check", action="store_true")
    flags = parser.parse_args()
    with open(PROTO, encoding="utf-8") as f:
        messages, enums, strange = parse(f.read())
    if strange:
        sys.exit("\n".join("%s:%d: not understood: %s" % (PROTO, *line) for line in strange))
    text = page(messages, enums)
    found = mistakes(messages, enums)
    for line in found:
        print(line, file=sys.stderr)
    if not flags.check:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
        return 1 if found else 0
    with open(PAGE, encoding="utf-8") as f:
        if f.read() != text:
            print("docs/reference/config.md is not what tools/pages/make_config_docs.py writes; run it",
                  file=sys.stderr)
            return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
