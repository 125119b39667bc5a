"""Every block of the pages is run as it stands; see blocks.py for the comments by which a page says what is special."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
sys.path.append(str(HERE))

import blocks  # noqa: E402 (found beside this file)
import lookup  # noqa: E402 (found beside this file)

PAGES = [
    "ARCHITECTURE.md",
    "README.md",
    "bench/README.md",
    "bindings/python/README.md",
    "dashboards/README.md",
    "docs/c-api.md",
    "docs/client.md",
    "docs/cluster.md",
    "docs/design/burst-buffer.md",
    "docs/design/cluster.md",
    "docs/hadoop.md",
    "docs/java.md",
    "docs/layers.md",
    "docs/libmemcached.md",
    "docs/migration.md",
    "docs/operations.md",
    "docs/rdma.md",
    "docs/security.md",
]
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug"
# What was done once, to be read and not to be run again; and what is not ours.
RECORDS = ("docs/journal/", "fuzz/", "target/", ".cache/", ".git/")
UNSHARE = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def found():
    """Every page of the repository that is no record, with its path."""
    told = subprocess.check_output(["git", "ls-files", "*.md"], cwd=REPOSITORY, text=True).split()
    return [path for path in told if not path.startswith(RECORDS)]


def all_blocks():
    read = ((page, block) for page in PAGES for block in blocks.read((REPOSITORY / page).read_text()))
    return [pytest.param(page, block, id=f"{page}, {block.name}") for page, block in read]


@functools.cache
def results(page):
    """How each block of a page has ended, by its line."""
    with tempfile.TemporaryDirectory(prefix="farcache-docs-") as folder:
        command = [*UNSHARE, sys.executable, HERE / "run_page.py", REPOSITORY / page, folder]
        ran = subprocess.run(command, capture_output=True, text=True)
        path = pathlib.Path(folder) / "results.json"
        assert path.exists(), f"{page} could not be run: {ran.stdout}{ran.stderr}"
        return json.loads(path.read_text())


@pytest.mark.parametrize("page, block", all_blocks())
def test_block(page, block):
    if block.mark == "skipped":
        pytest.skip(f"{page}, line {block.line}: {block.about}")
    if subprocess.run([*UNSHARE, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine gives a process no namespaces of its own (unshare --net --mount)")
    fault = results(page)[str(block.line)]
    assert fault is None, f"{page}, line {block.line}:\n{block.text}\n{fault}"


def test_no_page_with_blocks_is_left_out():
    """A new page that shows commands is run as well."""
    assert [page for page in found() if page not in PAGES and "\n```" in (REPOSITORY / page).read_text()] == []


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("farcached --no-such-option", "has no option --no-such-option"),
        ("no-such-program --help", "there is no program no-such-program"),
        ("farcache-run -t fabric no-such-program", "there is no program no-such-program"),
        ("make no-such-target", "no-such-target"),
        ("scripts/compare-builds A B --no-such-option", "has no option"),
        ("farcached --memory-limit=64 # --no-such-option\n\nscripts/compare-builds A B --turns 3\nmake -n run", None),
    ],
)
def test_commands_are_looked_up(text, wrong):
    path = f"{BUILT}:{REPOSITORY / 'scripts'}:{os.environ['PATH']}"
    fault = lookup.fault(text, REPOSITORY, {**os.environ, "PATH": path})
    assert (fault is None) if wrong is None else (fault and wrong in fault), fault


def test_marks_are_read():
    page = (
        "<!-- docs: skipped: no hardware -->\n```\nibv_devinfo\n```\n<!-- docs: run true -->\n"
        "<!-- docs: file a.c -->\n```c\nint a;\n```\n```console\n$ echo a\na\n```\n"
    )
    read = [(block.line, block.kind, block.mark, block.about, block.text) for block in blocks.read(page)]
    assert read == [
        (2, "sh", "skipped", "no hardware", "ibv_devinfo\n"),
        (5, "sh", "run", "", "true\n"),
        (7, "c", "file", "a.c", "int a;\n"),
        (10, "console", "", "", "$ echo a\na\n"),
    ]
    for wrong in ("<!-- docs: skip -->", "```cobol\n```"):
        with pytest.raises(ValueError):
            blocks.read(wrong)


def test_blocks_that_fail_are_seen(tmp_path):
    """A page of which every block is wrong, but one."""
    if subprocess.run([*UNSHARE, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine gives a process no namespaces of its own (unshare --net --mount)")
    page = tmp_path / "page.md"
    page.write_text(
        "```\nexport WORD=kept\n```\n```\ntest $WORD = lost\n```\n```python\nraise SystemExit(1)\n```\n"
        "```console\n$ echo $WORD\nlost\n```\n<!-- docs: example README.md -->\n```rust\nnot there\n```\n"
        "<!-- docs: dry -->\n```\nmake no-such-target\n```\n<!-- docs: server false -->\n"
        '```toml\n[dependencies]\nno-such-crate-at-all = "1"\n```\n'
    )
    (tmp_path / "folder").mkdir()
    command = [*UNSHARE, sys.executable, HERE / "run_page.py", page, tmp_path / "folder"]
    subprocess.run(command, check=True, capture_output=True)
    ended = list(json.loads((tmp_path / "folder/results.json").read_text()).values())
    assert ended[0] is None and None not in ended[1:] and len(ended) == 8, ended


def test_the_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= 120
