"""The counting of the test command: it sees failures, skips and steps that ran nothing."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys

PATH = str(pathlib.Path(__file__).parent.parent / "run-tests")
LOADER = importlib.machinery.SourceFileLoader("run_tests", PATH)
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", LOADER))
LOADER.exec_module(run_tests)


def counts_of(runner, output, status=0):
    counts = run_tests.Counts()
    for line in output.splitlines():
        counts.read(runner, line)
    counts.close(runner, status)
    return counts.passed, counts.failed, counts.skipped


def test_cargo_results_are_summed():
    output = (
        "test a ... ok\n"
        "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n"
        "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n"
    )
    assert counts_of("cargo", output, status=101) == (7, 2, 1)


def test_pytest_results_are_read_plain_and_framed():
    assert counts_of("pytest", "120 passed, 3 skipped in 4.20s") == (120, 0, 3)
    assert counts_of("pytest", "= 1 failed, 2 passed, 2 errors in 61.00s (0:01:01) =", 1) == (2, 3, 0)


def test_surefire_results_are_summed_over_modules_and_not_over_classes():
    output = (
        "[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1.2 s -- in a.ATest\n"
        "[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 1\n"
        "[ERROR] Tests run: 5, Failures: 1, Errors: 2, Skipped: 0"
    )
    assert counts_of("surefire", output, status=1) == (10, 3, 1)


def test_a_version_of_java_that_is_not_here_is_told():
    counts = run_tests.Counts()
    for line in ("SKIPPED: java-tests: Java 11 is not here", "[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 0"):
        counts.read("surefire", line)
    assert (counts.passed, counts.skips) == (9, ["SKIPPED: java-tests: Java 11 is not here"])


def test_a_runner_that_breaks_down_has_failed():
    assert counts_of("cargo", "error: could not compile", status=101) == (0, 1, 0)


def test_a_runner_that_ran_nothing_has_failed():
    assert counts_of("pytest", "no tests ran in 0.01s") == (0, 1, 0)


def test_a_plain_step_counts_as_one():
    assert counts_of(None, "") == (1, 0, 0)
    assert counts_of(None, "", status=1) == (0, 1, 0)


def test_a_step_that_this_machine_cannot_run_is_skipped():
    counts = run_tests.run("echo 'SKIPPED: no QEMU'; exit 77", "cargo")
    assert (counts.passed, counts.failed, counts.skipped) == (0, 0, 1)
    assert counts.skips == ["SKIPPED: no QEMU"]


def test_a_step_that_hangs_is_killed_and_has_failed():
    counts = run_tests.run("sleep 60 & wait", None, seconds_max=1)
    assert (counts.passed, counts.failed) == (0, 1)


def test_skipped_tests_are_named():
    counts = run_tests.run("echo 'SKIPPED [1] a.py:3: no tool'; echo '1 passed, 1 skipped in 0.1s'", "pytest")
    assert counts.skips == ["SKIPPED [1] a.py:3: no tool"]


def test_what_a_rust_test_left_out_is_named():
    counts = run_tests.run("echo 'SKIPPED: no such library'; echo 'test result: ok. 1 passed; 0 failed; 0 ignored'", "cargo")
    assert counts.skips == ["SKIPPED: no such library"]


def test_a_failed_rust_test_is_told_with_its_file_and_its_panic():
    counts = run_tests.Counts()
    for line in (
        "     Running tests/calm.rs (target/debug/deps/calm-0)",
        "     Running tests/storm.rs (target/debug/deps/storm-1)",
        "test holds ... ok",
        "test breaks ... FAILED",
        "failures:",
        "---- breaks stdout ----",
        "thread 'breaks' panicked at tests/storm.rs:7:5:",
        "left: 1, right: 2",
        "failures:",
        "    breaks",
    ):
        counts.read("cargo", line)
    assert counts.failures == [
        "test breaks ... FAILED in tests/storm.rs (target/debug/deps/storm-1)",
        "---- breaks stdout ----",
        "thread 'breaks' panicked at tests/storm.rs:7:5:",
        "left: 1, right: 2",
    ]


def test_what_failed_stands_above_the_last_line(tmp_path):
    script = tmp_path / "scripts" / "run-tests"
    script.parent.mkdir()
    text = pathlib.Path(PATH).read_text()
    steps = 'STEPS = [("one", "echo FAILED a.py::b - why; echo 1 failed in 0.1s; false", "pytest"), ("two", "true", None)]\n'
    script.write_text(text.replace("# Rows of steps", steps + "# Rows of steps"))
    told = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert told.returncode == 1
    assert told.stdout.splitlines()[-3:] == ["=== failed: one", "  FAILED a.py::b - why", "1 passed, 1 failed, 0 skipped"]


def test_rows_of_steps_run_at_the_same_time(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "TOGETHER", [[["one", "three"], ["two"]]])
    # Each of two waits for the other.
    waits = "touch {0} && until [ -e {1} ]; do sleep 0.01; done && echo '2 passed in 0.1s'"
    one, other = tmp_path / "one", tmp_path / "other"
    three = f"[ -e {one} ]"
    steps = [
        ("one", waits.format(one, other), "pytest"),
        ("two", waits.format(other, one), None),
        ("between", "true", None),
        ("three", three, None),
        ("last", "false", None),
    ]
    groups = run_tests.in_groups(steps)
    names = [[[step[0] for step in row] for row in group] for group in groups]
    assert names == [[["one", "three"], ["two"]], [["between"]], [["last"]]]
    rows = [(name, counts.passed, counts.failed) for group in groups for name, counts, _ in run_tests.run_group(group)]
    assert rows == [("one", 2, 0), ("three", 1, 0), ("two", 1, 0), ("between", 1, 0), ("last", 0, 1)]


def test_every_step_of_a_row_is_one():
    names = [step[0] for step in run_tests.STEPS]
    in_rows = [name for group in run_tests.TOGETHER for row in group for name in row]
    assert set(in_rows) <= set(names) and len(in_rows) == len(set(in_rows))
    groups = run_tests.in_groups(run_tests.STEPS)
    assert sorted(step[0] for group in groups for row in group for step in row) == sorted(names)


def test_what_was_built_once_is_not_built_again(monkeypatch, tmp_path):
    monkeypatch.setenv("FARCACHE_BUILT", "")
    called = tmp_path / "called"
    cargo = tmp_path / "cargo"
    cargo.write_text(f'#!/bin/sh\necho "$@" >>{called}\n')
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def build(*options):
        subprocess.run([pathlib.Path(PATH).parent / "cargo-build", *options], check=True)
        return called.exists()

    run_tests.run_group([[(run_tests.BUILDS_ALL, "false", None)]])
    assert build("-p", "server"), "where building has failed"
    called.unlink()
    run_tests.run_group([[(run_tests.BUILDS_ALL, "true", None)]])
    assert not build("-p", "server")
    assert build("--release", "-p", "server"), "the tests have built another profile"
