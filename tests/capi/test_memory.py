"""No example and no program loses or misuses memory: Valgrind, and AddressSanitizer with the undefined behaviour's."""

import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SUPPRESSIONS = HERE.parent / "valgrind.supp"
SOURCES = sorted((HERE.parents[1] / "examples/c").glob("*.c")) + [
    HERE / "programs" / name for name in ("operations.c", "blobs.c", "requests.c", "threads.c")
]
VALGRIND = [
    "valgrind", "-q", "--fair-sched=try", "--leak-check=full", "--show-leak-kinds=definite,indirect",
    "--errors-for-leak-kinds=definite,indirect", "--error-exitcode=9", f"--suppressions={SUPPRESSIONS}",
]


@pytest.mark.parametrize("transport", ["tcp", "fabric"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_valgrind(source, transport, compile_program, run):
    run(compile_program(source), transport, VALGRIND)


@pytest.mark.parametrize("transport", ["tcp", "fabric"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_address_sanitizer(source, transport, compile_program, run):
    program = compile_program(source, "-fsanitize=address,undefined", "-fno-sanitize-recover")
    run(program, transport, ASAN_OPTIONS="detect_leaks=1")
