"""Places in a page of documentation that a tool fills with what it measured: all between the lines
<!-- TOOL NAME --> and <!-- end of NAME -->. What compare_policies and reproduce_dct share."""

import os
import shlex

from scripting.result_files import remove, write_whole


def split(page, tool, name):
    """What the page has up to the place, and after it."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    first, last = "<!-- %s %s -->\n" % (tool, name), "<!-- end of %s -->\n" % name
    before, found, rest = text.partition(first)
    _, ended, after = rest.partition(last)
    if not found or not ended:
        raise ValueError("%s has no place %r: the lines %s and %s"
                         % (page, name, first.strip(), last.strip()))
    return before + first, last + after


def fill(page, tool, name, command, commits, table, pictures):
    """command: its words, so that it can be given again. pictures: {name, or nothing if there is one alone: file};
    one that is not there, or has no file, is left out, and an older one of its name goes. They come to lie beside the page."""
    before, after = split(page, tool, name)
    drawn = {picture: read(source) for picture, source in pictures.items()}
    shown = ["![%s](%s)\n" % (picture or name, os.path.basename(place(page, name, picture)))
             for picture, content in drawn.items() if content is not None]
    words = ["\n```\n%s\n```\n\n%s\n" % (" ".join(map(shlex.quote, command)), made_with(commits)), table, *shown]
    write_whole(page, before + "\n".join(words) + "\n" + after)
    for picture, content in drawn.items():
        target = place(page, name, picture)
        remove(target) if content is None else write_whole(target, content)


def place(page, name, picture):
    return "_".join(filter(None, (os.path.splitext(page)[0], name, picture))) + ".svg"


def read(source):
    try:
        with open(source, encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


def made_with(commits):
    return "At %s, on %s." % (commits, processor())


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        fields = dict(map(str.strip, line.split(":", 1)) for line in f if ":" in line)
    vectors = [told for flag, told in (("avx512f", "AVX-512"), ("avx512_bf16", "BF16 products"))
               if flag in fields.get("flags", "").split()]
    return ", ".join(["%d cores" % os.cpu_count(), fields.get("model name", "processor unknown"), *vectors])
