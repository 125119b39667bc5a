"""The libraries' faces: what they export, what they are called, and what docs/libmemcached.md says of both."""

import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "tests/libmemcached/programs"
PAGE = REPOSITORY / "docs/libmemcached.md"
LIBRARIES = ["libhashkit.so.2", "libmemcached.so.11", "libmemcachedutil.so.2"]


def system_library(name):
    """Where the loader finds the system's library."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^\s*{re.escape(name)} .* => (.*)$", listed, re.MULTILINE)
    assert found, f"{name} is not installed"
    return found[1]


def exported(path):
    """The functions that a library exports."""
    lines = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[2] for line in lines.splitlines() if line.split()[1] in "TWi"}


def listed(library, title):
    """The functions in the page's list of that title below the library's heading."""
    section = PAGE.read_text().split(f"## {library}\n", 1)[1].split("\n## ", 1)[0]
    found = re.search(rf"^{title}:(.*?)(?:\n\n|\Z)", section, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`(\w+)`", found[1])) if found else set()


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_function_is_there_or_named_as_missing(library, drop_in):
    theirs, ours = exported(system_library(library)), exported(drop_in / library)
    assert len(theirs) >= 15
    assert theirs - ours == listed(library, "Missing")


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_function_is_called_by_a_program(library):
    """The programs run with the system's library and with ours, and what they say is compared."""
    called = set()
    for program in PROGRAMS.glob("*.c"):
        called.update(re.findall(r"\w+", program.read_text()))
    theirs = exported(system_library(library))
    assert len(theirs) >= 15
    assert theirs - called == set()


@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_else_is_exported(library, drop_in):
    theirs, ours = exported(system_library(library)), exported(drop_in / library)
    assert ours - theirs == listed(library, "Added")


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_loader_finds_it_by_its_name(library, drop_in):
    headers = subprocess.run(["objdump", "-p", drop_in / library], capture_output=True, text=True, check=True).stdout
    assert re.search(r"SONAME\s+(\S+)", headers)[1] == library
    symbols = subprocess.run(["objdump", "-T", drop_in / library], capture_output=True, text=True, check=True).stdout
    # Debian's have no versions of their own, so a program that was linked with them asks for none.
    own = [line for line in symbols.splitlines() if re.search(r"\.text\s+\w+\s+(?!Base)\S+\s+\S+$", line)]
    assert not [line for line in own if "Base" not in line]
