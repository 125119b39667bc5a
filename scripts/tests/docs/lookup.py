"""Commands that take too long for a test are looked up instead: the program is there, and has each option that the page gives it."""

import pathlib
import re
import shlex
import shutil
import subprocess

OPTION = re.compile(r"--[a-z][\w-]*")
# Starts the program that its arguments name; its own options with a letter take a word each.
STARTER = "farcache-run"


def fault(text, repository, environment):
    """What is wrong with the first command that cannot be as the page says; None where all can."""
    for line in text.replace("\\\n", " ").splitlines():
        for words in commands(line):
            wrong = command_fault(words, repository, environment)
            if wrong:
                return f"{line}\n{wrong}"
    return None


def commands(line):
    """The words of each command of a line: farcache-run and what it runs are two."""
    words = shlex.split(line, comments=True)
    if not words:
        return []
    if pathlib.Path(words[0]).name != STARTER:
        return [words]
    end = 1
    while end < len(words) and words[end].startswith("-"):
        end += 1 if words[end].startswith("--") else 2
    return [words[:end], words[end:]]


def command_fault(words, repository, environment):
    """What is wrong with one command."""
    if words[0] == "make":
        # No option of make's own, and no target that is not there.
        done = subprocess.run(["make", "-n", *words[1:]], cwd=repository, env=environment, capture_output=True, text=True)
        return done.stderr if done.returncode else None
    told = options_told(words[0], repository, environment)
    if told is None:
        return f"there is no program {words[0]}"
    given = [OPTION.match(word)[0] for word in words[1:] if OPTION.match(word)]
    unknown = [option for option in given if option not in told]
    return f"{words[0]} has no option {' '.join(unknown)}" if unknown else None


def options_told(name, repository, environment):
    """The options that a program tells of; None where it is not there. A script may pass its options on to a program."""
    script = repository / name
    if name.startswith("scripts/") and script.is_file():
        behind = shutil.which(f"farcache-{script.name}", path=environment["PATH"])
        return set(OPTION.findall(script.read_text())) | (options_of(behind, environment) if behind else set())
    program = shutil.which(pathlib.Path(name).name, path=environment["PATH"])
    return options_of(program, environment) if program else None


def options_of(program, environment):
    """What its help names."""
    done = subprocess.run([program, "--help"], env=environment, capture_output=True, text=True)
    return set(OPTION.findall(done.stdout))
