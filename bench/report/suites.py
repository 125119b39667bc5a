"""The suites of the report: how each is run, how long that takes, and what it leaves behind."""

import dataclasses
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# A suite may take so many times its stated time on a busy machine before it is ended.
PATIENCE = 4
# One that is asked to end may take so long.
END_SECONDS_MAX = 20
# The record of a run, beside the results of its suites.
RECORD = "run.json"


@dataclasses.dataclass(frozen=True)
class Form:
    """A way to run a suite: options, and about how many seconds they take."""

    name: str
    seconds: int
    options: tuple


@dataclasses.dataclass(frozen=True)
class Suite:
    """One program with its forms, the longest first. `needs` names programs or files without which it cannot run."""

    name: str
    title: str
    program: str
    forms: tuple
    needs: tuple = ()
    # What pictures it writes: a file, or a folder of them.
    svg: str = ""
    # A text beside the JSON: Markdown, or what it prints.
    text: str = "markdown"

    def command(self, form, programs, results):
        """The command line, and the files that it writes."""
        program = programs / self.program
        command = [str(program), *form.options, "--json", str(results / f"{self.name}.json")]
        if self.text == "markdown":
            command += ["--markdown", str(results / f"{self.name}.md")]
        if self.svg == "file":
            command += ["--svg", str(results / f"{self.name}.svg")]
        if self.svg == "folder":
            command += ["--svg", str(results / self.name)]
        return command


def words(text):
    return tuple(text.split())


SUITES = (
    Suite("compare", "farcached beside memcached: speed, memory, hit ratio", "farcache-compare", (
        Form("all rows", 900, ()),
        Form("main rows", 60, ("--short",)),
    ), needs=("memcached",)),
    Suite("fabric", "The fabric beside bare UCX, sockets and memcached", "farcache-fabric", (
        Form("all sections", 420, ()),
        Form("main sections", 45, ("--short",)),
    ), needs=("memcached",), svg="file"),
    Suite("ycsb", "YCSB on three servers", "farcache-ycsb", (
        Form("A, B, C, D, F to 640 clients", 460, words("--clients 1,8,80,640 --depth 1,16 --turns 5 --seconds 0.5 --warm-up 0.2")),
        Form("A, B, C to 640 clients", 150, words("--workloads a,b,c --subjects memcached,sockets,fabric --clients 1,80,640 --turns 4 --seconds 0.4 --warm-up 0.2")),
        Form("A, B, C to 80 clients", 45, words("--workloads a,b,c --subjects memcached,fabric --clients 1,80 --turns 4 --seconds 0.4 --warm-up 0.2")),
    ), needs=("memcached",), svg="file"),
    Suite("failures", "A server is killed and comes back", "farcache-failures", (
        Form("three and five servers", 130, words("--seconds 16")),
        Form("three servers", 45, words("--servers 3 --seconds 10")),
    ), needs=("memcached",), svg="folder"),
    Suite("expiry", "Values that expire: after the statistics of Twitter's clusters", "farcache-expiry", (
        Form("all clusters", 120, ()),
        Form("two clusters", 40, words("--clusters 12,37 --seconds 10 --turns 4")),
    ), needs=("memcached",), svg="file"),
    Suite("workloads", "Caches in front of a database: query cache, TATP, Twitter", "farcache-workloads", (
        Form("all servers", 1500, words("--turns 5 --seconds 1")),
        Form("main servers", 240, words("--servers memcached,extstore,fabric,fabric-ssd --spill 1.5,4 --turns 5 --seconds 0.8 --warm-up 0.3")),
        Form("main servers, short turns", 100, words("--servers memcached,fabric,fabric-ssd --spill 1.5 --turns 4 --seconds 0.4 --warm-up 0.2 --subscribers 20000 --users 1000")),
    ), needs=("memcached", "/usr/sbin/mariadbd", "target/workloads/workload-client", "target/drop-in"), svg="folder"),
    Suite("replay", "Hit ratios on a trace made after published statistics", "farcache-replay", (
        Form("Facebook's ETC", 60, words("--synthetic etc")),
    ), svg="file", text="printed"),
    Suite("hybrid", "More data than memory", "ohb_memhybrid", (
        Form("1.5 times the memory", 60, words("--server-cpu 0 --client-cpu 1")),
    ), needs=("memcached",), svg="file", text="printed"),
)


def missing(suite, programs):
    """What a suite needs and is not here."""
    def is_here(need):
        return (REPOSITORY / need).exists() if "/" in need else shutil.which(need)
    needs = [need for need in suite.needs if not is_here(need)]
    return needs if (programs / suite.program).exists() else [suite.program, *needs]


def plan(suites, seconds):
    """Each suite with its form, or none: short forms first for all, in their order, then longer ones while there is time."""
    forms = {}
    left = seconds
    for suite in suites:
        if suite.forms[-1].seconds <= left:
            forms[suite.name] = suite.forms[-1]
            left -= suite.forms[-1].seconds
    for suite in suites:
        for form in suite.forms:
            taken = forms.get(suite.name)
            if taken and form.seconds - taken.seconds <= left:
                forms[suite.name] = form
                left -= form.seconds - taken.seconds
                break
    return [(suite, forms.get(suite.name)) for suite in suites]


def run(planned, programs, results, minutes, note):
    """Runs what is planned, and leaves a record of it beside the results."""
    record = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "minutes": minutes,
        "note": note,
        "commit": said("git", "rev-parse", "--short=12", "HEAD"),
        "changed": bool(said("git", "status", "--porcelain", "--untracked-files=no")),
        "suites": [],
    }
    for suite, form in planned:
        record["suites"].append(run_one(suite, form, programs, results))
        (results / RECORD).write_text(json.dumps(record, indent=1))


def run_one(suite, form, programs, results):
    """Runs a suite; what became of it."""
    told = {"name": suite.name, "title": suite.title}
    for old in (f"{suite.name}.json", f"{suite.name}.md", f"{suite.name}.svg", f"{suite.name}.txt"):
        (results / old).unlink(missing_ok=True)
    shutil.rmtree(results / suite.name, ignore_errors=True)
    if form is None:
        return {**told, "left_out": "it does not fit into the time"}
    lacks = missing(suite, programs)
    if lacks:
        return {**told, "left_out": f"not here: {', '.join(lacks)}"}
    command = suite.command(form, programs, results)
    print(f"report: {suite.name}: {form.name}, about {form.seconds} s", flush=True)
    began = time.monotonic()
    status, printed, complaint = run_within(command, PATIENCE * form.seconds)
    if suite.text == "printed":
        (results / f"{suite.name}.txt").write_text(printed)
    shown = [os.path.basename(command[0]), *form.options]
    return {**told, "form": form.name, "command": " ".join(shown), "seconds": round(time.monotonic() - began),
            "load": os.getloadavg()[0], "status": status, "complaint": complaint.strip().splitlines()[-1:] if status else []}


def run_within(command, seconds):
    """Runs a command for so long at most; its status, output and complaint. One that is late is asked to end, so that it stops its servers."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY)
    try:
        printed, complaint = process.communicate(timeout=seconds)
        return process.returncode, printed, complaint
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            process.communicate(timeout=END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return "too slow", "", f"ended after {seconds:.0f} s"


def said(*command):
    ended = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY)
    return ended.stdout.strip() if ended.returncode == 0 else ""
