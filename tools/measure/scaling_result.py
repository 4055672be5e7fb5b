"""What a part of tools/measure/reproduce_scaling gives."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Result:
    content: dict  # {"tables": {name: table}} or {"lines": [...]}, as a record has it
    commit: str    # of the programs
    met: bool      # no bound is broken
    pictures: dict = field(default_factory=dict)  # {name: file}
