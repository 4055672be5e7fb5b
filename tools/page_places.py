"""Places in a page of documentation that a tool fills with what it measured: all between the lines
<!-- TOOL NAME --> and <!-- end of NAME -->. What compare_policies and reproduce_dct share."""

import os
import shlex
import shutil


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
    shown = [place_picture(page, name, picture, source) for picture, source in pictures.items()]
    words = ["\n```\n%s\n```\n\nAt %s, on %s.\n" % (" ".join(map(shlex.quote, command)), commits, processor()),
             table, *filter(None, shown)]
    aside = page + ".partial"
    with open(aside, "w", encoding="utf-8") as f:
        f.write(before + "\n".join(words) + "\n" + after)
    os.replace(aside, page)


def place_picture(page, name, picture, source):
    target = "_".join(filter(None, (os.path.splitext(page)[0], name, picture))) + ".svg"
    if os.path.exists(target):
        os.remove(target)
    if not os.path.exists(source):
        return None
    shutil.copyfile(source, target)
    return "![%s](%s)\n" % (picture or name, os.path.basename(target))


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        fields = dict(map(str.strip, line.split(":", 1)) for line in f if ":" in line)
    vectors = [told for flag, told in (("avx512f", "AVX-512"), ("avx512_bf16", "BF16 products"))
               if flag in fields.get("flags", "").split()]
    return ", ".join(["%d cores" % os.cpu_count(), fields.get("model name", "processor unknown"), *vectors])
