"""What the programs here share: what they report, and that they take the root of a repository."""

import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from scripting import tool_flags  # noqa: E402


class Violation(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def root_parser(description):
    parser = tool_flags.parser(description)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    return parser


def parse_with_root(parser):
    """The arguments, with the root of a repository."""
    arguments = parser.parse_args()
    arguments.root = arguments.root.resolve()
    if not (arguments.root / "common").is_dir():
        parser.error(f"{arguments.root} has no folder common; "
                     "--root takes the root of the repository")
    return arguments


def report(violations):
    """Prints them; the exit code of the program."""
    for violation in violations:
        print(violation)
    return 1 if violations else 0
