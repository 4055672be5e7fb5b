"""Where the functions of a C++ source are and how long: a scanner of braces, for sources as
clang-format writes them.

What a brace at namespace or class scope begins is told by the words before it: a scope inside which
to look further, an initializer, or else a function. Local classes and lambdas are lines of the
function around them.
"""

import re
from typing import NamedTuple

# Comments, literals and directives: their braces are none.
NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/"""
    r"""|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'"""
    r"""|^[ \t]*\#(?:\\\n|[^\n])*""", re.DOTALL | re.MULTILINE)
MARKS = re.compile(r"[{};]|\b(?:public|private|protected)\s*:(?!:)")
SCOPE = re.compile(r'^(?:inline\s+)?(?:namespace|class|struct|union|extern\s*"")(?!\w)',
                   re.MULTILINE)
# A macro that stands alone and without a semicolon, before what follows.
LONE_MACRO = re.compile(r"\s*[A-Z][A-Z0-9_]*(?:\(\S*\))?\s*\n")
OPERATOR = re.compile(r"\boperator\s*(?:\(\)|[^\w\s(]+)")
INNERMOST = re.compile(r"\([^(){}]*\)|\{[^(){}]*\}")
# Of a CUDA kernel, before its name.
LAUNCH_BOUNDS = re.compile(r"__launch_bounds__\s*\([^()]*\)\s*")
FIRST_WORD = re.compile(r"\s*")
# The end of `: a_(a), b_` and of `: Base<T>`, before the braces of their value.
MEMBER_NAME = re.compile(r"\)(?:\s*noexcept)?\s*:(?!:)(?:.*,)?\s*[\w:]+(?:<[^()]*>)?$", re.DOTALL)


class Function(NamedTuple):
    line: int
    name: str
    line_count: int


class UnmatchedBraces(Exception):
    """Braces that do not match, as those in both branches of an #if; the argument: the line."""


def without_noise(text):
    """Text of as many lines, with no brace in it that is not code."""
    def blank(match):
        is_literal = match[0].endswith('"') and not match[0].lstrip().startswith("#")
        return ('""' if is_literal else "") + "\n" * match[0].count("\n")
    return NOISE.sub(blank, text)


def without_nested(text):
    """Without what parentheses and braces hold."""
    count = 1
    while count:
        text, count = INNERMOST.subn("", text)
    return text


def without_template(head):
    """The head of a declaration without `template <...>` before it."""
    while head.startswith("template"):
        depth = 0
        for place, letter in enumerate(head):
            depth += (letter == "<") - (letter == ">")
            if letter == ">" and depth == 0:
                break
        head = head[place + 1:].lstrip()
    return head


def is_initializer(head):
    """Whether braces after this head hold a value, or enumerators."""
    plain = OPERATOR.sub("operator_", head)
    if "(" not in plain or plain.count("(") > plain.count(")") or "=" in without_nested(plain):
        return True
    return MEMBER_NAME.search(head) is not None


def name_of(head):
    """Of a test, what its macro is given."""
    plain = LAUNCH_BOUNDS.sub("", head.replace("operator()", "operator_call"))
    name, _, arguments = plain.partition("(")
    name = name.split()[-1].replace("operator_call", "operator()")
    return f"{name}({arguments.rstrip(' )')})" if name.startswith(("TEST", "TYPED_TEST")) else name


class Scanner:
    """Goes from mark to mark; what comes next begins at self.start."""

    def __init__(self, text):
        self.text = without_noise(text)
        self.start = self.open_scopes = self.open_braces = 0
        self.head = None  # of the function whose body is open
        self.found = []

    def line_at(self, place):
        return self.text.count("\n", 0, place) + 1

    def scan(self):
        for mark in MARKS.finditer(self.text):
            if self.open_braces:
                self.go_on_inside(mark)
            elif mark[0] == "{":
                self.open(mark)
            else:
                self.open_scopes -= mark[0] == "}"
                self.start = mark.end()
            if self.open_scopes < 0:
                raise UnmatchedBraces(self.line_at(mark.start()))
        if self.open_scopes or self.open_braces:
            raise UnmatchedBraces(self.line_at(len(self.text)))
        return self.found

    def open(self, mark):
        while macro := LONE_MACRO.match(self.text, self.start, mark.start()):
            self.start = macro.end()
        head = without_template(self.text[self.start:mark.start()].strip())
        if SCOPE.search(head):
            self.open_scopes += 1
            self.start = mark.end()
            return
        self.open_braces = 1
        self.head = None if is_initializer(head) else head

    def go_on_inside(self, mark):
        self.open_braces += (mark[0] == "{") - (mark[0] == "}")
        if self.open_braces or self.head is None:
            return
        first = self.line_at(FIRST_WORD.match(self.text, self.start).end())
        count = self.line_at(mark.start()) - first + 1
        self.found.append(Function(first, name_of(self.head), count))
        self.start, self.head = mark.end(), None


def functions(text):
    """Every Function of a source, in order. Raises UnmatchedBraces."""
    return Scanner(text).scan()
