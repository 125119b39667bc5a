"""The tables of docs/benchmarks.md come from the results and nothing else of the page changes."""

import json
import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parent.parent / "readme-table"
LINES = [
    {"title": "GET", "unit": "M/s", "memcached": 0.2, "farcached": 0.35, "ratio": 1.75},
    {"title": "idle CPU", "unit": "%", "memcached": None, "farcached": 0.04, "ratio": None},
]
FABRIC_LINES = [
    {"title": "GET", "unit": "us", "limit": 1.0, "tuned": 0.9, "fabric": 1.3, "sockets": 13.5, "memcached": 14.25,
     "judgements": [{"wanted": "<= 1.4x limit", "figure": 1.44, "interval": [1.4, 1.5], "met": "unclear"}]},
]
PAGE = "# Top\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nbottom\n"


def run(folder, page, lines=LINES):
    readme, results = folder / "README.md", folder / "results.json"
    readme.write_text(page)
    results.write_text(json.dumps({"rows": lines}))
    result = subprocess.run([sys.executable, SCRIPT, results, readme], capture_output=True, text=True)
    return result.returncode, readme.read_text()


def test_the_table_replaces_the_old_one(tmp_path):
    code, page = run(tmp_path, PAGE)
    assert code == 0
    assert page == (
        "# Top\n<!-- measured: begin -->\nRate in million requests a second: more is better.\n\n"
        "| | memcached | Farcache | ratio |\n|---|--:|--:|--:|\n| GET | 0.200 | 0.350 | 1.75 |\n\n"
        "In %.\n\n| | Farcache |\n|---|--:|\n| idle CPU | 0.040 |\n<!-- measured: end -->\nbottom\n")


def test_a_ratio_that_is_no_quotient_of_its_columns_is_marked(tmp_path):
    turns = [{**LINES[0], "ratio": 1.9}, {**LINES[0], "title": "SET", "ratio": 1.74}]
    _, page = run(tmp_path, PAGE, turns)
    assert "| GET | 0.200 | 0.350 | 1.90\\* |\n| SET | 0.200 | 0.350 | 1.74 |\n" in page


def test_the_page_explains_the_mark():
    """And every table of the page has one unit: none is a column."""
    page = (SCRIPT.parents[1] / "docs/benchmarks.md").read_text()
    assert "\\*" not in page or "asterisk" in page
    assert "| unit |" not in page


def test_a_page_without_marks_is_left_alone(tmp_path):
    assert run(tmp_path, "# Top\n") == (1, "# Top\n")


def test_the_fabrics_tables_have_marks_of_its_own(tmp_path):
    marked = PAGE + "<!-- measured fabric: begin -->\n<!-- measured fabric: end -->\n"
    code, page = run(tmp_path, marked, FABRIC_LINES)
    assert code == 0
    assert page == PAGE + (
        "<!-- measured fabric: begin -->\nLatency in microseconds: less is better.\n\n"
        "| | bare UCX | with our settings | fabric | sockets | memcached | fabric over bare UCX |\n"
        "|---|--:|--:|--:|--:|--:|--:|\n| GET | 1.000 | 0.900 | 1.300 | 13.5 | 14.2 | 1.44 (1.40 to 1.50) |\n<!-- measured fabric: end -->\n")
    assert run(tmp_path, PAGE, FABRIC_LINES) == (1, PAGE)
