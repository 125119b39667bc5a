"""The programs that run on the disks."""

import subprocess


def build(repository):
    """Builds the server and the witness, and says where they are."""
    command = ["cargo", "build", "--quiet", "-p", "farcache-server", "-p", "farcache-power-witness"]
    command += ["--bin", "farcached", "--bin", "farcache-power-witness"]
    subprocess.run(command, cwd=repository, check=True)
    return repository / "target/debug"
