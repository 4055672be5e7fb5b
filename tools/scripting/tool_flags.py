"""Flags of the tools in Python: all of a tool's own description as its help, and kinds of values."""

import argparse


def parser(description):
    return argparse.ArgumentParser(description=description.strip(),
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def once(values):
    """A flag's values, each of which may be there once."""
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError("each once")
    return values


def some(known):
    """The type of a flag that takes some of these words, with commas between them."""
    def parse(text):
        found = text.split(",")
        unknown = [word for word in found if word not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                "no %s; there are %s" % (", ".join(unknown), ", ".join(known)))
        return once(found)
    return parse


def counts(text):
    """The type of a flag that takes whole numbers, with commas between them."""
    try:
        return once([int(word) for word in text.split(",")])
    except ValueError:
        raise argparse.ArgumentTypeError("numbers, with commas between them") from None
