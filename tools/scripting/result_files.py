"""Files of results: a folder for them, what is in them, and never half of one in a place where a whole one was."""

import json
import os
import sys


def make_folder(path):
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        sys.exit("error: --out: %s" % error)


def load(path):
    """What a JSON file holds; None when there is none, or a damaged one."""
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def write_whole(path, text):
    aside = path + ".partial"
    with open(aside, "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(aside, path)


def remove(path):
    """What may not be there."""
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
