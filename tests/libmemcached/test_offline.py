"""Functions that need no server: the same program says the same with the system's library and with ours."""

import os
import subprocess

import pytest
import runs

# Each with the fewest lines that it says: a program that says nothing would compare equal.
PROGRAMS = {"hashkit.c": 150, "settings.c": 1300}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_libraries_say_the_same(name, compile_program, drop_in):
    program = compile_program(name)
    expected = runs.run(program)
    assert len(expected) >= PROGRAMS[name]
    assert runs.run(program, library_folder=drop_in) == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_memory_is_lost_or_misused(name, compile_program, drop_in):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(drop_in))
    command = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9"]
    result = subprocess.run([*command, compile_program(name)], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
