"""make install into a folder of its own, use of what is there by what is there only, and make uninstall."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/clients"))

import servers  # noqa: E402 (found beside the other clients' tests)

PREFIX = "/opt/farcache"
C_TOOLS = ("memget", "ohb_memlat_nb", "ohb_nbio")


def make(target, place, check=True, **environment):
    """Runs a target with what is built for the tests anyway."""
    command = ["make", "-s", target, f"PREFIX={PREFIX}", f"DESTDIR={place}", f"LIBDIR={PREFIX}/lib64"]
    environment = {**os.environ, "CARGO_OPTIONS": "", **environment}
    return subprocess.run(command, cwd=REPOSITORY, env=environment, check=check, capture_output=True, text=True)


@pytest.fixture(scope="module")
def built():
    """Everything that can be installed has been built."""
    make("all", "")


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The folder under which everything is."""
    place = tmp_path_factory.mktemp("place")
    make("install", place)
    return place


@pytest.fixture(scope="module")
def server(installed, tmp_path_factory):
    """The installed server."""
    running = servers.Server(tmp_path_factory.mktemp("server"), path=f"{installed}{PREFIX}/bin/farcached")
    yield running
    assert running.stop() == 0


def package(installed, name):
    """What pkg-config says of how to build with a package."""
    environment = dict(
        os.environ, PKG_CONFIG_PATH=f"{installed}{PREFIX}/lib64/pkgconfig", PKG_CONFIG_SYSROOT_DIR=str(installed)
    )
    command = ["pkg-config", "--cflags", "--libs", name]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def build(installed, package_name, source, program):
    subprocess.run(["cc", "-Wall", "-Werror", "-o", program, source, *package(installed, package_name)], check=True)
    return program


def said_by(command, library_folder=None):
    """What a program says."""
    environment = dict(os.environ, UCX_LOG_LEVEL="error")
    if library_folder:
        environment["LD_LIBRARY_PATH"] = str(library_folder)
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_an_example_is_built_and_run(installed, server, tmp_path):
    program = build(installed, "farcache", REPOSITORY / "examples/c/blocking.c", tmp_path / "blocking")
    said = said_by([program, f"{server.host}:{server.port}"], f"{installed}{PREFIX}/lib64")
    assert said.startswith("greeting: hello\n")


def test_the_examples_build_by_their_makefile(installed, tmp_path):
    examples = tmp_path / "c"
    subprocess.run(["cp", "-r", REPOSITORY / "examples/c", examples], check=True)
    environment = dict(
        os.environ, PKG_CONFIG_PATH=f"{installed}{PREFIX}/lib64/pkgconfig", PKG_CONFIG_SYSROOT_DIR=str(installed)
    )
    subprocess.run(["make", "-s"], cwd=examples, env=environment, check=True)
    assert {source.stem for source in examples.glob("*.c")} <= {path.name for path in examples.iterdir()}


@pytest.mark.skipif(not os.path.exists("/usr/include/libmemcached/memcached.h"), reason="libmemcached has no headers here")
def test_the_non_blocking_operations_are_declared_and_found(installed, server, tmp_path):
    source = REPOSITORY / "tests/libmemcached/programs/nonblocking.c"
    program = build(installed, "farcache-libmemcached", source, tmp_path / "nonblocking")
    said = said_by([program, server.host, str(server.port)], f"{installed}{PREFIX}/lib/farcache")
    assert said == "everything holds\n"


def test_a_program_is_started_with_the_drop_in(installed, server):
    command = [f"{installed}{PREFIX}/bin/farcache-run", "--transport", "fabric", "--", "memcping"]
    said_by([*command, f"--servers={server.host}:{server.port}"])


def test_the_system_s_libraries_are_left_alone(installed):
    """What has the soname of a system library lies in a folder that no loader looks into by itself."""
    for library in ("libmemcached.so.11", "libmemcachedutil.so.2", "libhashkit.so.2"):
        found = [path.relative_to(installed) for path in installed.rglob(library)]
        assert found == [pathlib.Path(f"{PREFIX}/lib/farcache/{library}").relative_to("/")]


def programs(installed):
    """Every program that was installed, by its name."""
    return {path.name: path for path in pathlib.Path(f"{installed}{PREFIX}/bin").iterdir()}


def test_the_programs_are_there(installed):
    wanted = {"farcached", "farcache", "farcache-run", "farcache-load", "farcache-compare", "farcache-fabric", "ohb_memlat"}
    assert wanted <= set(programs(installed))
    if os.path.exists("/usr/include/libmemcached/memcached.h"):
        assert set(C_TOOLS) <= set(programs(installed))


def complaint_of(installed, command, status=1):
    """What a program says that cannot do what it is asked to."""
    environment = dict(os.environ, UCX_LOG_LEVEL="error", LD_LIBRARY_PATH=f"{installed}{PREFIX}/lib/farcache")
    command = [f"{installed}{PREFIX}/bin/{command[0]}", *command[1:]]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == status, result.stdout + result.stderr
    return result.stderr


LOADS = (("farcache-load",), ("ohb_memlat", "--sizes=64"), ("ohb_memthr", "--sizes=64"))


@pytest.mark.parametrize("option", ["--server", "--servers"])
def test_who_finds_no_server_hears_where_he_looked(installed, option):
    nowhere = f"127.0.0.1:{servers.free_port()}"
    tools = [(tool,) for tool in C_TOOLS if tool in programs(installed)]
    for command in (*LOADS, *tools):
        said = complaint_of(installed, [*command, option, nowhere])
        assert nowhere in said and "is a server running there?" in said, f"{command}: {said}"


def test_words_that_are_no_options_are_refused(installed):
    for tool in C_TOOLS:
        if tool in programs(installed):
            assert "'stray' is not an option" in complaint_of(installed, [tool, "stray"])
    assert "stray" in complaint_of(installed, ["ohb_memlat", "stray"], status=2)


@pytest.mark.parametrize("tool", ["ohb_memlat_nb", "ohb_nbio"])
def test_who_forgets_farcache_run_hears_so(installed, server, tool):
    """These programs need calls that the system's libmemcached, which the loader finds, does not have."""
    if tool not in programs(installed):
        pytest.skip("libmemcached has no headers here")
    command = [f"{installed}{PREFIX}/bin/{tool}", f"--servers={server.host}:{server.port}"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (told.returncode, "start the program by farcache-run" in told.stderr) == (1, True), told.stderr


def test_too_large_values_are_told_what_they_need(installed, server):
    command = ["--servers", f"{server.host}:{server.port}"]
    assert "farcached -I" in complaint_of(installed, ["ohb_memlat", "--sizes=2M", *command])
    if "ohb_nbio" in programs(installed):
        said = complaint_of(installed, ["ohb_nbio", "--total=4M", "--chunk=2M", *command])
        assert "farcached -I 3m" in said and "SUCCESS" not in said, said


def test_who_must_log_in_hears_so(installed, tmp_path):
    (tmp_path / "users").write_text("anna:secret\n")
    running = servers.Server(
        tmp_path, path=f"{installed}{PREFIX}/bin/farcached", options=["-Y", str(tmp_path / "users"), "--fabric", "off"]
    )
    command = [f"{installed}{PREFIX}/bin/farcache-load", "--server", running.address, "--requests=1", "--keys=1"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "authentication required" in result.stdout + result.stderr
    assert running.stop() == 0


def test_a_reader_that_has_gone_is_no_panic(installed, server):
    read, write = os.pipe()
    os.close(read)
    command = [f"{installed}{PREFIX}/bin/farcache-load", "--server", f"{server.host}:{server.port}", "--requests=1", "--keys=1"]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert "panicked" not in result.stderr and result.returncode != 101, result.stderr


def test_every_page_can_be_read(installed):
    pages = list(pathlib.Path(f"{installed}{PREFIX}/share/man").glob("man*/*"))
    assert "farcache.3" in [page.name for page in pages]
    for page in pages:
        rendered = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True)
        assert rendered.returncode == 0 and "SYNOPSIS" in rendered.stdout and not rendered.stderr, rendered.stderr


def whole_help(command, libraries):
    """What a program says of itself, and of each of its commands."""
    told = said_by([*command, "--help"], libraries)
    commands = re.search(r"^Commands:\n(( +.*\n)+)", told, re.MULTILINE)
    names = re.findall(r"^  (\w+)", commands[1], re.MULTILINE) if commands else []
    return told + "".join(whole_help([*command, name], libraries) for name in names if name != "help")


def test_every_program_has_a_page_with_all_its_options(installed):
    for name, path in programs(installed).items():
        help_text = whole_help([path], f"{installed}{PREFIX}/lib/farcache")
        lines = re.findall(r"^ {2,6}(-\w)?(?:, |    )?(--[\w-]+)?", help_text, re.MULTILINE)
        options = [option for line in lines for option in line if option]
        assert len(options) >= 6, f"{name} --help: {help_text}"
        page = pathlib.Path(f"{installed}{PREFIX}/share/man/man1/{name}.1").read_text().replace("\\-", "-")
        told = set(re.findall(r"(?<![\w-])--?\w[\w-]*", re.sub(r"\\f.", "", page)))
        assert [option for option in options if option not in told] == [], name


def test_the_service_names_the_prefix(installed):
    text = pathlib.Path(f"{installed}{PREFIX}/lib/systemd/system/farcached.service").read_text()
    assert f"ExecStart={PREFIX}/bin/farcached" in text and not re.search("@[A-Z]+@", text)


def test_uninstall_leaves_nothing(built, tmp_path):
    make("install", tmp_path)
    other = tmp_path / "opt/farcache/bin/other"
    other.write_text("somebody else's")
    make("uninstall", tmp_path)
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == [other]
    assert not (tmp_path / "opt/farcache/lib/farcache").exists()


@pytest.fixture
def empty_path(tmp_path):
    """A folder in front of the PATH, for commands that must not be called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("cargo", "rustc", "curl", "apt-get"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} >>{tmp_path}/called\nexit 1\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def test_installing_builds_nothing(built, tmp_path, empty_path):
    make("install", tmp_path / "place", **empty_path)
    assert not (tmp_path / "called").exists()


def test_installing_before_building_says_what_to_do(tmp_path, empty_path):
    ended = make("install", tmp_path / "place", check=False, CARGO_TARGET_DIR=str(tmp_path / "target"), **empty_path)
    assert ended.returncode != 0 and "run 'make all' first" in ended.stderr
    assert not (tmp_path / "place").exists() and not (tmp_path / "called").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_does_not_build_for_sudo(tmp_path, empty_path):
    tools = dict(empty_path, SUDO_UID="1000")
    script = REPOSITORY / "scripts/install-deps.sh"
    for command in (["scripts/install", "build"], [script, "build"]):
        environment = {**os.environ, **tools}
        ended = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
        assert ended.returncode != 0 and "as yourself" in ended.stderr, ended.stderr
    called = tmp_path / "called"
    assert not called.exists() or not {"curl", "cargo"} & set(called.read_text().split())


def test_what_is_left_to_do_is_said(built, tmp_path):
    """For a folder that neither the loader nor pkg-config looks into."""
    command = ["scripts/install", "install"]
    environment = {**os.environ, "CARGO_OPTIONS": "", "PREFIX": str(tmp_path / "own")}
    said = subprocess.run(command, cwd=REPOSITORY, env=environment, check=True, capture_output=True, text=True).stdout
    assert f"LD_LIBRARY_PATH={tmp_path}/own/lib" in said and f"PKG_CONFIG_PATH={tmp_path}/own/lib/pkgconfig" in said


def test_a_program_finds_the_library_by_itself(built, server, tmp_path):
    environment = {**os.environ, "CARGO_OPTIONS": "", "PREFIX": str(tmp_path / "own")}
    subprocess.run(["scripts/install", "install"], cwd=REPOSITORY, env=environment, check=True, capture_output=True)
    command = ["pkg-config", "--cflags", "--libs", "farcache"]
    environment = dict(os.environ, PKG_CONFIG_PATH=str(tmp_path / "own/lib/pkgconfig"))
    flags = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
    program = tmp_path / "blocking"
    subprocess.run(["cc", "-o", program, REPOSITORY / "examples/c/blocking.c", *flags], check=True)
    assert said_by([program, f"{server.host}:{server.port}"]).startswith("greeting: hello\n")


def test_the_oldest_compiler_is_named_once():
    """What installs a compiler and what the crates say agree."""
    wanted = re.search(r'^rust-version = "1\.(\d+)"$', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE)[1]
    assert f"\nrust_minor_min={wanted}\n" in (REPOSITORY / "scripts/install-deps.sh").read_text()
