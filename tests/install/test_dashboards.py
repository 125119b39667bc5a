"""The dashboard and the alert rules: promtool takes the rules, and a running server has every metric that they name."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.request

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/clients"))

import servers  # noqa: E402 (found beside the other clients' tests)

RULES = REPOSITORY / "dashboards/alerts.yml"
DASHBOARD = REPOSITORY / "dashboards/farcache.json"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What a server with an SSD and a fabric shows."""
    folder = tmp_path_factory.mktemp("server")
    port = servers.free_port()
    options = ["--metrics", f"127.0.0.1:{port}", "--ssd", f"{folder}/ssd:64m", "--fabric", "require"]
    running = servers.Server(folder, options=options)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        yield answer.read().decode()
    assert running.stop() == 0


def named(text):
    return set(re.findall(r"\bfarcache_\w+", text))


def expressions():
    """Every expression of the dashboard."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
def test_promtool_takes_the_rules():
    checked = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True)
    assert checked.returncode == 0 and "SUCCESS" in checked.stdout, checked.stdout + checked.stderr


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
def test_promtool_takes_the_dashboard_s_expressions(tmp_path):
    lines = ["groups:", "- name: dashboard", "  rules:"]
    for number, expression in enumerate(expressions()):
        expression = expression.replace("$__rate_interval", "5m")
        lines += [f"  - record: panel:{number}", f"    expr: {json.dumps(expression)}"]
    rules = tmp_path / "rules.yml"
    rules.write_text("\n".join(lines) + "\n")
    checked = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_metric_that_is_named_exists(page):
    # A comment and the group's name are no metrics.
    wanted = named(" ".join(re.findall(r"expr: (.*)", RULES.read_text())) + " ".join(expressions()))
    assert len(wanted) > 20
    assert sorted(wanted - named(page)) == []
