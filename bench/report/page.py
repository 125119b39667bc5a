"""The page: everything that a run has left behind, in one HTML file that needs no other."""

import html
import itertools
import json
import re

from report import suites
from report.published import PUBLISHED

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { border-top: 1px solid #ccc; padding-top: 1.5rem; margin-top: 2.5rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: .7rem 0; font-size: 13px; }
th, td { border: 1px solid #ccc; padding: .2rem .5rem; text-align: left; } th { background: #f3f3f3; }
code, pre { background: #f3f3f3; font-size: 13px; } pre { padding: .7rem; overflow-x: auto; }
.warning { background: #fff4d6; border-left: 4px solid #e69f00; padding: .5rem 1rem; }
svg { max-width: 100%; height: auto; }
""".strip()

HARDWARE = ("The published figures come from other hardware: clusters with InfiniBand, one server per machine. "
            "Ours come from the machine named above, where servers and clients share all cores and the fabric is shared memory. "
            "The ratios stand side by side to show the direction and the size of the effect. They do not compare the systems.")


def inline(text):
    """A text with what Markdown marks in it: code, bold, links to other pages without their target."""
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return text.replace("\\*", "*").replace("\\|", "|")


def table(lines):
    """A table of Markdown's."""
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]] for line in lines]
    head, body = rows[0], rows[2:]
    def cells(row, mark):
        return "".join(f"<{mark}>{inline(cell)}</{mark}>" for cell in row)
    lines = [f"<tr>{cells(row, 'td')}</tr>" for row in body]
    return f"<div class=scroll><table><tr>{cells(head, 'th')}</tr>{''.join(lines)}</table></div>"


def markdown(text):
    """HTML of the Markdown that our programs write: headings, tables, lists, paragraphs."""
    parts = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        heading = re.match(r"(#+) (.*)", lines[0]) if lines else None
        if heading:
            # Those of the page are above.
            level = min(len(heading[1]) + 1, 6)
            parts.append(f"<h{level}>{inline(heading[2])}</h{level}>")
            lines = lines[1:]
        for kind, run in itertools.groupby(lines, kind_of):
            if kind == "table":
                parts.append(table(list(run)))
            elif kind == "item":
                items = "".join(f"<li>{inline(line[2:])}</li>" for line in run)
                parts.append(f"<ul>{items}</ul>")
            else:
                parts.append(f"<p>{inline(' '.join(run))}</p>")
    return "\n".join(parts)


def kind_of(line):
    return "table" if line.startswith("|") else "item" if line.startswith("- ") else "text"


def section(told, results):
    """A suite's part of the page."""
    name = told["name"]
    parts = [f"<h2 id={name}>{html.escape(told['title'])}</h2>"]
    if "left_out" in told:
        return parts[0] + f"<p>Left out: {html.escape(told['left_out'])}.</p>"
    parts.append(f"<p>{html.escape(told['form'])}: <code>{html.escape(told['command'])}</code>, {told['seconds']} s; "
                 f"load of the machine at the end {told['load']:.1f}.</p>")
    if told["status"] != 0:
        parts.append(f"<p class=warning>It ended with {told['status']}: {html.escape(' '.join(told['complaint']))}</p>")
    written = results / f"{name}.md"
    if written.exists():
        parts.append(markdown(written.read_text()))
    printed = results / f"{name}.txt"
    if printed.exists() and printed.read_text().strip():
        parts.append(f"<pre>{html.escape(printed.read_text())}</pre>")
    pictures = [results / f"{name}.svg", *sorted((results / name).glob("*.svg"))]
    parts += [picture.read_text() for picture in pictures if picture.exists()]
    return "\n".join(parts)


def loaded(results):
    """The figures of each suite that has some."""
    found = {}
    for suite in suites.SUITES:
        path = results / f"{suite.name}.json"
        if path.exists():
            found[suite.name] = json.loads(path.read_text())
    return found


def published(figures):
    """The published figures with ours beside them."""
    rows = []
    for one in PUBLISHED:
        ours = one.ours(figures[one.suite]) if one.suite in figures else None
        told = "not measured" if ours is None else f"{ours:.2f}"
        better = "less" if one.is_cost else "more"
        rows.append(f"<tr><td>{html.escape(one.what)}</td><td>{one.ratio:.2f}</td><td>{told}</td><td>{better}</td>"
                    f"<td>{html.escape(one.source)}</td></tr>")
    return ("<h2 id=published>Published figures of reference systems, and ours</h2>"
            f"<p class=warning>{HARDWARE}</p>"
            "<div class=scroll><table><tr><th>ratio to memcached</th><th>published, other hardware</th><th>ours, here</th>"
            f"<th>better is</th><th>source of the published figure</th></tr>{''.join(rows)}</table></div>")


def conditions(record, figures):
    """Where and when, with which versions."""
    machine = next((one["machine"] for one in figures.values() if isinstance(one, dict) and "machine" in one), {})
    database = figures.get("workloads", {}).get("mariadb", "")
    facts = {
        "measured": record["date"],
        "time given": f"{record['minutes']:g} minutes",
        "commit": record["commit"] + (", with changes that are not committed" if record["changed"] else ""),
        "processor": machine.get("processor"),
        "cores": machine.get("cores"),
        "memory, MiB": machine.get("memory_mib"),
        "kernel": machine.get("kernel"),
        "TCP's congestion control": machine.get("congestion_control"),
        "memcached": machine.get("memcached"),
        "farcached": machine.get("farcached"),
        "database": database,
    }
    rows = [f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(fact))}</td></tr>" for name, fact in facts.items() if fact]
    note = f"<p class=warning>{html.escape(record['note'])}</p>" if record["note"] else ""
    return f"<div class=scroll><table>{''.join(rows)}</table></div>{note}"


def render(results):
    """The page of the results in a folder."""
    record = json.loads((results / suites.RECORD).read_text())
    figures = loaded(results)
    links = "".join(f"<li><a href=#{told['name']}>{html.escape(told['title'])}</a></li>" for told in record["suites"])
    sections = "\n".join(section(told, results) for told in record["suites"])
    return "\n".join([
        "<!doctype html>", "<html lang=en>", "<head><meta charset=utf-8>", "<title>Farcache: measurements</title>",
        f"<style>{STYLE}</style></head>", "<body>", "<h1>Farcache: measurements</h1>",
        "<p>Servers, clients and databases of one run on one machine. Ratios are medians of turns that the servers took one "
        "after the other; compare figures within a table only.</p>",
        conditions(record, figures), f"<ul>{links}<li><a href=#published>Published figures, and ours</a></li></ul>",
        sections, published(figures), "</body>", "</html>", "",
    ])
