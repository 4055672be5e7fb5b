"""Tables of the pages of results, from records. Each function gives Markdown, or a ValueError that says what of a
record is not there."""

from bench_parts import PARTS
from scripting.result_records import markdown, table as table_of


def renamed(text):
    """[(name, shown)] of "name=shown;name"; a name that holds an equals sign cannot be renamed."""
    return [(name, shown or name) for name, _, shown in (part.partition("=") for part in text.split(";"))]


def starts_with(row, name):
    """A row is called by its first cell, or by as many as tell it from others: "sgd;1;none"."""
    cells = name.split(";")
    return row[:len(cells)] == cells


def only(rows, name, where):
    found = [row for row in rows if starts_with(row, name)]
    if len(found) != 1:
        raise ValueError("%s: %d rows are called %r" % (where, len(found), name))
    return found[0]


def of_record(record, names):
    """The table of this name; of "a+b", those of b beside those of a, by the first cell."""
    first, *others = names.split("+")
    for name in (first, *others):
        if name not in record.get("tables", {}):
            raise ValueError("there is no table %s; there are %s" % (name, ", ".join(record.get("tables", {}))))
    whole = record["tables"][first]
    columns, rows = list(whole["columns"]), [list(row) for row in whole["rows"]]
    for name in others:
        more = record["tables"][name]
        columns += more["columns"][1:]
        for row in rows:
            row += only(more["rows"], row[0], name)[1:]
    return columns, rows


def column(columns, name):
    if name not in columns:
        raise ValueError("there is no column %r; there are %s" % (name, ", ".join(columns)))
    return columns.index(name)


def table(record, names, columns=None, rows=None):
    """A column that says nothing of any row is left out."""
    headings, lines = of_record(record, names)
    chosen = renamed(columns) if columns else [(name, name) for name in headings]
    places = [column(headings, name) for name, _ in chosen]
    if rows:
        lines = [[shown, *only(lines, name, names)[1:]] for name, shown in renamed(rows)]
    cells = [[line[place] for place in places] for line in lines]
    said = [i for i in range(len(places)) if any(line[i] for line in cells)]
    return markdown(table_of([chosen[i][1] for i in said], [[line[i] for i in said] for line in cells]))


def value(record, names, row, heading):
    headings, lines = of_record(record, names)
    return only(lines, row, names)[column(headings, heading)]


# ------------------------------------------------------------------------------ lines of weir-bench


def number(amount):
    """Four significant digits at most, and commas."""
    return "{:,.0f}".format(amount) if abs(amount) >= 1000 else "%.4g" % amount


def ratio(amount):
    """Three significant digits, and two decimals at least below ten."""
    return max("%.3g" % amount, "%.2f" % amount if amount < 10 else "", key=len)


def lines_of(records):
    """{name: line}; of two records that have a line the first counts."""
    found = {}
    for record in records:
        for line in record.get("lines", []):
            found.setdefault(line["name"], line)
    return found


def goal_of(line, in_unit):
    """As a ratio, or in the line's unit, which a record has in goal_value where nobody wrote down the peer's value."""
    if not in_unit:
        return line["goal"]
    if line.get("goal_value"):
        return line["goal_value"]
    return line["goal"] * line["peer_value"] if line["goal"] and line["peer_value"] else None


def measured(line, in_unit):
    """Bold misses its goal; empty where nobody measured it."""
    amount = line and line["value" if in_unit else "ratio"]
    if amount is None:
        return ""
    goal, told = goal_of(line, in_unit), number(amount) if in_unit else ratio(amount)
    return "**%s**" % told if goal and amount < goal else told


def cell(part, lines):
    """Of its lines, in their order; a dash is one that nobody measured where others were."""
    told = [measured(lines.get(name), part.in_unit) for name in part.names]
    return ", ".join(one or "-" for one in told) if any(told) else ""


def goals(part, lines):
    """One where all are the same."""
    told = ["%.3g" % (goal_of(line, part.in_unit) or 0) for line in lines]
    return ", ".join(told if len(set(told)) > 1 else told[:1]) if set(told) != {"0"} else ""


def bench(columns):
    """columns: [(heading, records)]. What, compared with what, the goal, a column of each, and what bounds it."""
    found = [(heading, lines_of(records)) for heading, records in columns]
    every = lines_of([record for _, records in columns for record in records])
    rows = []
    for part in PARTS:
        cells = [cell(part, lines) for _, lines in found]
        known = [every[name] for name in part.names if name in every]
        if any(cells):
            peers = part.peer or " / ".join(dict.fromkeys(line["peer"] for line in known))
            peer = "in " + known[0]["unit"] if part.in_unit else peers
            rows.append([part.what, peer, goals(part, known), *cells, part.bound])
    return markdown(table_of(["what", "compared with", "goal", *(heading for heading, _ in found), "bound by"], rows))


def grid(record, rows, columns):
    """A row for each of "NAME=shown;...", a column for each "heading=PATTERN;...": the line's value, or with a
    :ratio or :peer_value behind the pattern that, where * stands for the row's name."""
    lines = lines_of([record])
    chosen = [(heading, *pattern.partition(":")[::2]) for heading, pattern in renamed(columns)]
    cells = [[shown, *(picked(lines, pattern.replace("*", name), field or "value") for _, pattern, field in chosen)]
             for name, shown in renamed(rows)]
    for i, (heading, *_) in enumerate(chosen, 1):
        if not any(row[i] for row in cells):
            raise ValueError("no line for the column %s" % heading)
    return markdown(table_of(["", *(heading for heading, *_ in chosen)], cells))


def picked(lines, name, field):
    """Of a line; a ratio that misses its goal is bold."""
    if field == "ratio":
        return measured(lines.get(name), in_unit=False)
    amount = lines.get(name, {}).get(field)
    if amount is None:
        return ""
    return number(amount) if field in ("value", "peer_value") else ratio(amount)


def added(lines, names, field):
    """Of the lines of "a+b"."""
    for name in names.split("+"):
        if lines.get(name, {}).get(field) is None:
            raise ValueError("no line %s with a %s" % (name, field))
    return sum(lines[name][field] for name in names.split("+"))


def line_value(record, names, field, over=None):
    """Of "a+b" the sum. With over that sum of the field divided by the values of those lines."""
    lines = lines_of([record])
    if over:
        return ratio(added(lines, names, field) / added(lines, over, "value"))
    amount = added(lines, names, field)
    return number(amount) if "+" in names else picked(lines, names, field)
