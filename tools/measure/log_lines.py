"""What programs have written into their logs so far."""

import datetime
import os
import re

STAMP = re.compile(r"[IWEF](\d{8} \d\d:\d\d:\d\d\.\d{6}) ")
LAST_LINES = 6


def lines(path, begin=0):
    try:
        with open(path, "rb") as f:
            f.seek(begin)
            return f.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def has(path, begin, text):
    """Behind `begin` bytes."""
    return any(text in line for line in lines(path, begin))


def last_time(path, *texts):
    """In seconds since 1970, of the last line with all of these; 0: there is none."""
    for line in reversed(lines(path)):
        stamp = STAMP.match(line)
        if stamp and all(text in line for text in texts):
            return datetime.datetime.strptime(stamp.group(1), "%Y%m%d %H:%M:%S.%f").timestamp()
    return 0


def ends(paths):
    """The last lines of each."""
    return "\n".join("%s:\n  %s" % (os.path.basename(path), "\n  ".join(lines(path)[-LAST_LINES:])) for path in paths)
