"""The report: what fits into the time is run, and everything that a run leaves behind stands on one page."""

import html.parser
import json
import pathlib
import re
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts/report"
sys.path.insert(0, str(REPOSITORY / "bench"))

from report import page, published, suites  # noqa: E402 (found beside the benchmarks)

# Elements that have no end.
VOID = {"meta", "br", "rect", "line", "circle", "polyline"}


def suite(name, *seconds):
    forms = tuple(suites.Form(f"{count} s", count, (f"--for={count}",)) for count in seconds)
    return suites.Suite(name, name.title(), name, forms)


def planned(seconds, *asked):
    return {one.name: form and form.seconds for one, form in suites.plan(asked, seconds)}


def test_the_longest_forms_that_fit_are_taken():
    one, other = suite("one", 100, 50, 10), suite("other", 60, 20)
    assert planned(1000, one, other) == {"one": 100, "other": 60}
    # The first is lengthened before the second, but every one has its short form.
    assert planned(120, one, other) == {"one": 100, "other": 20}
    assert planned(75, one, other) == {"one": 50, "other": 20}
    assert planned(15, one, other) == {"one": 10, "other": None}


def test_the_shortest_forms_of_all_suites_fit_into_a_quarter_of_an_hour():
    assert sum(one.forms[-1].seconds for one in suites.SUITES) <= 15 * 60
    for one in suites.SUITES:
        lengths = [form.seconds for form in one.forms]
        assert lengths == sorted(lengths, reverse=True), one.name


class Balance(html.parser.HTMLParser):
    """Notices an element that is not closed, and what leads out of the page."""

    def __init__(self):
        super().__init__()
        self.open, self.faults = [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "href") and not (value or "").startswith("#"):
                self.faults.append(f"{tag} leads to {value}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"{tag} ends where it should not")


def faults_of(text):
    balance = Balance()
    balance.feed(text)
    return balance.faults + [f"{tag} does not end" for tag in balance.open]


def ycsb_results(ratio):
    def measured(subject, rate):
        return {"subject": subject, "turns": [{"sum": {"operations_per_s": rate * turn}} for turn in (1, 2, 4)]}
    rows = [{"condition": {"workload": "b", "clients": clients, "depth": 1},
             "measured": [measured("memcached", 100.0), measured("fabric", 100.0 * more)]} for clients, more in ((1, 1.5), (8, ratio))]
    return {"machine": {"processor": "A <fast> one", "cores": 2}, "report": {"rows": rows}}


@pytest.fixture
def results(tmp_path):
    record = {"date": "2026-11-24T10:00", "minutes": 5, "note": "Beside & other work.", "commit": "abc", "changed": False, "suites": [
        {"name": "ycsb", "title": "YCSB", "form": "short", "command": "farcache-ycsb --x", "seconds": 3, "load": 1.5, "status": 0,
         "complaint": []},
        {"name": "expiry", "title": "Expiry", "form": "short", "command": "farcache-expiry", "seconds": 3, "load": 1.5, "status": 1,
         "complaint": ["3 reads found another's value"]},
        {"name": "workloads", "title": "Databases", "left_out": "not here: /usr/sbin/mariadbd"},
    ]}
    (tmp_path / suites.RECORD).write_text(json.dumps(record))
    (tmp_path / "ycsb.json").write_text(json.dumps(ycsb_results(5.25)))
    (tmp_path / "ycsb.md").write_text("3 servers, `none`.\n\n### B: reads\n\n| clients | rate |\n| --- | --- |\n| 1 | 2 < 3 |\n\n- one\n- two\n")
    (tmp_path / "ycsb.svg").write_text("<svg xmlns=\"x\"><rect width=\"1\"/><text>1,000/s</text></svg>\n")
    return tmp_path


def test_a_page_has_tables_pictures_conditions_and_what_went_wrong(results):
    text = page.render(results)
    assert faults_of(text) == []
    assert "<th>clients</th><th>rate</th>" in text and "<td>2 &lt; 3</td>" in text
    assert "<li>one</li><li>two</li>" in text and "<h4>B: reads</h4>" in text
    assert "<text>1,000/s</text>" in text
    assert "A &lt;fast&gt; one" in text and "Beside &amp; other work." in text
    assert "3 reads found another&#x27;s value" in text and "It ended with 1" in text
    assert "Left out: not here: /usr/sbin/mariadbd." in text


def test_published_figures_stand_beside_ours_and_are_marked_as_from_other_hardware(results):
    text = page.render(results)
    assert "published, other hardware" in text and page.HARDWARE in text
    row = re.search(r"<tr><td>YCSB B: [^<]*</td>(.*?)</tr>", text)[1]
    # The best number of clients counts, and of its turns the median ratio.
    assert row.startswith("<td>5.70</td><td>5.25</td>")
    row = re.search(r"<tr><td>TATP: [^<]*</td>(.*?)</tr>", text)[1]
    assert row.startswith("<td>1.29</td><td>not measured</td>")


def test_a_subject_without_turns_has_no_ratio():
    row = {"measured": [{"subject": "memcached", "turns": [{"all": 1}]}]}
    assert published.turn_ratio(row, "fabric", "memcached", lambda turn: turn["all"]) is None


def write_program(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_run_leaves_a_page_and_says_what_is_missing(tmp_path):
    programs, results = tmp_path / "programs", tmp_path / "results"
    programs.mkdir()
    write_program(programs, "farcache-replay", 'echo "hit ratio: 0.5"; while [ $# -gt 0 ]; do [ "$1" = --json ] && echo "{}" >"$2"; shift; done')
    command = [sys.executable, SCRIPT, "--minutes=5", "--suites=replay,expiry", f"--programs={programs}", f"--results={results}",
               f"--page={tmp_path}/page.html", "--note=a test"]
    subprocess.run(command, check=True)
    text = (tmp_path / "page.html").read_text()
    assert faults_of(text) == []
    assert "hit ratio: 0.5" in text and "a test" in text
    assert "Left out: not here: farcache-expiry" in text


def test_a_suite_that_is_late_is_asked_to_end_and_can_stop_its_servers(tmp_path):
    write_program(tmp_path, "late", f"trap 'echo stopped >{tmp_path}/stopped; exit 1' TERM; echo >{tmp_path}/started; while :; do sleep 0.05; done")
    status, _, complaint = suites.run_within([str(tmp_path / "late")], 0.5)
    assert (status, complaint) == ("too slow", "ended after 0 s")
    assert (tmp_path / "started").exists() and (tmp_path / "stopped").read_text() == "stopped\n"


def test_an_unknown_suite_is_refused(tmp_path):
    ended = subprocess.run([sys.executable, SCRIPT, "--suites=nothing", f"--results={tmp_path}"], capture_output=True, text=True)
    assert ended.returncode == 1 and "no such suite: nothing" in ended.stderr
