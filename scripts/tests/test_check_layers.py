"""The layer check fails on each kind of breach, and only then."""

import pathlib
import subprocess
import sys
import textwrap

import pytest

CHECK = pathlib.Path(__file__).parent.parent / "check-layers"

LAYERS = """
| crate | may depend on | `unsafe` | closed |
|---|---|---|---|
| low | | forbidden | std::net rustix |
| high | low | fenced | |

| crate | files that may contain `unsafe` |
|---|---|
| high | src/pool.rs |
"""


def manifest(name, *dependencies):
    return f'[package]\nname = "{name}"\nedition = "2024"\n[dependencies]\n' + "\n".join(dependencies)


@pytest.fixture
def repository(tmp_path):
    """A workspace of two crates that keeps its rules."""
    files = {
        "Cargo.toml": '[workspace]\nresolver = "3"\nmembers = ["low", "high"]\n',
        "docs/layers.md": LAYERS,
        "low/Cargo.toml": manifest("low"),
        "low/src/lib.rs": "#![forbid(unsafe_code)]\n",
        "high/Cargo.toml": manifest("high", 'low = { path = "../low" }'),
        "high/src/lib.rs": "mod pool;\n",
        "high/src/pool.rs": "// SAFETY: nothing is done.\nunsafe fn pool() {}\n",
    }
    for name, text in files.items():
        write(tmp_path, name, text)
    return tmp_path


def write(repository, name, text):
    path = repository / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


def check(repository):
    result = subprocess.run([sys.executable, CHECK, repository], capture_output=True, text=True)
    return result.returncode, result.stderr


def test_a_workspace_that_keeps_the_rules_passes(repository):
    assert check(repository) == (0, "")


def assert_fault(repository, sentence):
    code, message = check(repository)
    assert code == 1 and sentence in message, message


def test_a_forbidden_dependency_fails(repository):
    write(repository, "high/Cargo.toml", manifest("high"))
    write(repository, "low/Cargo.toml", manifest("low", 'high = { path = "../high" }'))
    assert_fault(repository, "low must not depend on high")


def test_a_forbidden_dependency_for_tests_only_fails_too(repository):
    write(repository, "high/Cargo.toml", manifest("high"))
    text = manifest("low") + '[dev-dependencies]\nhigh = { path = "../high" }\n'
    write(repository, "low/Cargo.toml", text)
    assert_fault(repository, "low must not depend on high")


def test_a_closed_outside_crate_fails(repository):
    write(repository, "low/Cargo.toml", manifest("low", 'rustix = "1"'))
    assert_fault(repository, "low must not depend on the crate rustix")


def test_a_closed_module_fails(repository):
    write(repository, "low/src/lib.rs", "#![forbid(unsafe_code)]\nuse std::net::TcpStream;\n")
    assert_fault(repository, "low must not use std::net")


def test_a_closed_module_in_a_group_fails(repository):
    text = "#![forbid(unsafe_code)]\nuse std::{\n    io,\n    net::TcpStream,\n};\n"
    write(repository, "low/src/lib.rs", text)
    assert_fault(repository, "lib.rs:2")


def test_a_closed_module_in_a_comment_passes(repository):
    write(repository, "low/src/lib.rs", "#![forbid(unsafe_code)]\n// Unlike std::net.\n")
    assert check(repository) == (0, "")


def test_a_root_that_does_not_forbid_unsafe_fails(repository):
    write(repository, "low/src/lib.rs", "//! Nothing.\n")
    assert_fault(repository, "low must forbid unsafe code")


def test_a_program_that_does_not_forbid_unsafe_fails(repository):
    write(repository, "low/src/main.rs", "fn main() {}\n")
    assert_fault(repository, "low must forbid unsafe code")


def test_unsafe_outside_the_fence_fails(repository):
    write(repository, "high/src/lib.rs", "mod pool;\nunsafe fn loose() {}\n")
    assert_fault(repository, "outside its fence")


def test_a_crate_without_a_row_fails(repository):
    members = '[workspace]\nresolver = "3"\nmembers = ["low", "high", "new"]\n'
    write(repository, "Cargo.toml", members)
    write(repository, "new/Cargo.toml", manifest("new"))
    write(repository, "new/src/lib.rs", "")
    assert_fault(repository, "new has no row")


def test_a_row_without_a_crate_fails(repository):
    row = "| gone | | fenced | |\n"
    write(repository, "docs/layers.md", LAYERS.replace("| high | low |", row + "| high | low |"))
    assert_fault(repository, "a row for gone")


MODULES = """
| crate | modules, lowest first |
|---|---|
| high | pool ring server |
"""


@pytest.fixture
def ordered(repository):
    """The workspace with an order of modules, which it keeps."""
    write(repository, "docs/layers.md", LAYERS + MODULES)
    write(repository, "high/src/ring.rs", "use crate::pool::Pool;\n")
    write(repository, "high/src/server/mod.rs", "mod read;\n#[cfg(test)]\nmod tests;\nuse crate::{pool, ring::Ring};\n")
    write(repository, "high/src/server/read.rs", "use super::super::ring::Ring;\nuse super::Server;\n")
    write(repository, "high/src/server/tests.rs", "use crate::later::Later;\n")
    return repository


def test_modules_that_use_what_stands_before_them_pass(ordered):
    assert check(ordered) == (0, "")


@pytest.mark.parametrize(
    "text",
    [
        "use crate::server::Server;\n",
        "fn late() { crate::server::start() }\n",
        "use crate::{pool, server::Server};\n",
        "use super::server::Server;\n",
    ],
)
def test_a_module_that_uses_a_later_one_fails(ordered, text):
    write(ordered, "high/src/ring.rs", text)
    assert_fault(ordered, "high: the module ring must not use server")


@pytest.mark.parametrize(
    "given_on", ["pub use server::Server;\n", "pub use server::{Server, Late};\n", "use {pool::Pool, server::Server};\n"]
)
def test_a_module_that_uses_a_later_one_by_the_root_fails(ordered, given_on):
    write(ordered, "high/src/lib.rs", "mod pool;\nmod ring;\nmod server;\n" + given_on)
    write(ordered, "high/src/ring.rs", "use crate::Server;\n")
    assert_fault(ordered, "high: the module ring must not use server")


def test_a_part_of_a_module_that_uses_a_later_one_fails(ordered):
    write(ordered, "docs/layers.md", LAYERS + MODULES.replace("pool ring server", "pool server ring"))
    assert_fault(ordered, "read.rs:1")


def test_what_only_tests_use_is_free(ordered):
    write(ordered, "high/src/ring.rs", "fn ring() {}\n#[cfg(test)]\nmod tests {\n    use crate::server::Server;\n}\n")
    assert check(ordered) == (0, "")


RING_METHODS = "impl Pool {\n    fn turn(&self) {\n        self%s()\n    }\n}\n"
LATE_METHODS = "use crate::pool::Pool;\nimpl<'a> Pool {\n    fn late(&self) {}\n}\n"


@pytest.mark.parametrize("call", [".late", "\n            .late"])
def test_a_call_of_a_method_that_a_later_module_gives_fails(ordered, call):
    write(ordered, "high/src/ring.rs", RING_METHODS % call)
    write(ordered, "high/src/server/read.rs", LATE_METHODS)
    assert_fault(ordered, "high: the module ring must not call late of server")


def test_methods_that_a_module_before_it_gives_may_be_called(ordered):
    write(ordered, "high/src/ring.rs", RING_METHODS % ".late")
    write(ordered, "high/src/server/read.rs", LATE_METHODS)
    write(ordered, "docs/layers.md", LAYERS + MODULES.replace("ring server", "server ring"))
    write(ordered, "high/src/server/mod.rs", "mod read;\n")
    assert check(ordered) == (0, "")


def test_a_method_of_another_type_may_have_the_name_of_one_that_a_later_module_gives(ordered):
    write(ordered, "high/src/ring.rs", (RING_METHODS % ".late").replace("Pool", "Ring"))
    write(ordered, "high/src/server/read.rs", LATE_METHODS)
    assert check(ordered) == (0, "")


def test_a_module_without_a_place_fails(ordered):
    write(ordered, "high/src/extra.rs", "")
    assert_fault(ordered, "high has the module extra, which has no place")
