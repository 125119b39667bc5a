"""The library's face: its name, its functions and their versions, its header."""

import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "bindings/c/include/farcache.h"


def declared():
    """The functions of the header."""
    return set(re.findall(r"\b(farcache_\w+)\(", re.sub(r"//.*", "", HEADER.read_text())))


def test_the_loader_finds_it_by_its_name(library):
    told = subprocess.run(["objdump", "-p", library / "libfarcache.so.1"], capture_output=True, text=True, check=True)
    assert re.search(r"SONAME\s+(\S+)", told.stdout)[1] == "libfarcache.so.1"


def test_every_function_has_a_version_and_nothing_else_is_exported(library):
    command = ["nm", "-D", "--defined-only", "--with-symbol-versions", library / "libfarcache.so.1"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[1:] for line in told.splitlines()]
    functions = {name for kind, name in symbols if kind == "T"}
    assert functions == {f"{name}@@FARCACHE_1" for name in declared()}
    assert [name for kind, name in symbols if kind != "T"] == ["FARCACHE_1"]


def test_the_header_stands_alone():
    for compiler, standard in [("cc", "c99"), ("cc", "c17"), ("c++", "c++98"), ("c++", "c++20")]:
        language = "c" if compiler == "cc" else "c++"
        command = [compiler, "-Wall", "-Wextra", "-Werror", f"-std={standard}", "-fsyntax-only", "-x", language, "-"]
        text = f'#include "{HEADER}"\n'
        subprocess.run(command, input=text, text=True, check=True)
