"""The examples, and the programs that try every function, over sockets and over the fabric."""

import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples/c"
SAYS = {
    "blocking": "greeting: hello\n4 bytes are too few for 5\nafterwards: not found\n",
    "outstanding": "1000 stored, 1000 got, 1000 with one request\n",
    "registered": "8 stored, 8 got, 8 are the same\n",
    "callbacks": "100 stored, 100 got\n",
}
PROGRAMS = ["operations.c", "blobs.c", "requests.c", "threads.c", "waiting.c", "plusplus.cc"]


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.c")} == set(SAYS)


@pytest.mark.parametrize("transport", ["tcp", "fabric"])
@pytest.mark.parametrize("name", SAYS)
def test_example(name, transport, compile_program, run, fabric_messages):
    program, before = compile_program(EXAMPLES / f"{name}.c"), fabric_messages()
    assert run(program, transport) == SAYS[name]
    assert (fabric_messages() > before) == (transport == "fabric")


@pytest.mark.parametrize("transport", ["tcp", "fabric"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, transport, compile_program, run):
    assert run(compile_program(HERE / "programs" / name), transport) == "everything holds\n"
