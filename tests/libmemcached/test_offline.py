"""Functions that need no server: the same program says the same with the system's library and with ours."""

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
