"""The code blocks of a page, and what the page says about how a test is to treat them.

A comment in front of a block, which readers do not see, says what is special about it:

    <!-- docs: skipped: WHY -->     it cannot run in a test
    <!-- docs: dry -->              its commands are only looked up: programs, their options, targets of make
    <!-- docs: starts ADDRESS -->   it is a server that is started, in place of the one before, and listens there
                                    (127.0.0.1:11211 where no address is given)
    <!-- docs: file NAME -->        it is the text of a file that later blocks use
    <!-- docs: example PATH -->     it is a part of this file of the repository
    <!-- docs: run COMMAND -->      no block: a command for the test alone
    <!-- docs: server COMMAND -->   no block: a server that is started, in place of the one before

Everything else is run as it stands: shell commands (a block without a language, or sh), Python, and what `$ ` begins in a console
block, whose other lines are what the command before them prints. A toml block is what a Cargo.toml holds; text is for reading. Java,
C, Rust, XML and YAML are files or parts of files.
"""

import re
from dataclasses import dataclass

MARK = re.compile(r"^<!-- docs: (\w+):? ?(.*?) ?-->$")
FENCE = re.compile(r"^```(\w*)$")
# What is a file, or a part of one.
FILES = ("c", "rust", "java", "xml", "yaml")
KINDS = {"": "sh", **{kind: kind for kind in ("sh", "python", "toml", "console", "text", *FILES)}}


@dataclass
class Block:
    """One block, or one command for the test alone."""

    line: int
    kind: str
    text: str
    mark: str = ""
    about: str = ""

    @property
    def name(self):
        """For the list of tests."""
        return f"line {self.line}, {self.mark or self.kind}"


def read(page):
    """All blocks of a page's text, in order."""
    blocks, mark, about, inside = [], "", "", None
    for number, line in enumerate(page.splitlines(), 1):
        fence, marked = FENCE.match(line), MARK.match(line)
        if inside is not None:
            if line == "```":
                blocks.append(Block(inside[0], inside[1], "\n".join(inside[2]) + "\n", mark, about))
                mark, about, inside = "", "", None
            else:
                inside[2].append(line)
        elif fence:
            if fence[1] not in KINDS:
                raise ValueError(f"line {number}: nobody knows how to run {fence[1]}")
            inside = number, KINDS[fence[1]], []
        elif marked and marked[1] in ("run", "server"):
            blocks.append(Block(number, "sh", marked[2] + "\n", marked[1]))
        elif marked and marked[1] in ("skipped", "dry", "starts", "file", "example"):
            mark, about = marked[1], marked[2]
        elif line.startswith("<!-- docs:"):
            raise ValueError(f"line {number}: nobody knows what this means: {line}")
    return blocks


def console(text):
    """The commands of a console block, each with what it prints."""
    commands = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        else:
            commands[-1][1].append(line)
    return commands
