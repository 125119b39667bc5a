"""Where Farcache answers otherwise than Debian's memcached 1.6.18 on purpose, and why.

A rule names cases by a pattern, and turns memcached's comparable reply into the one that is wanted
instead. A rule that changes nothing in any case fails, so the list stays true.
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Difference:
    reason: str
    # Cases that it is about: a regular expression for the whole name.
    cases: str
    # What memcached answers, and what Farcache answers: a substitution of regular expressions.
    memcached: bytes
    farcache: bytes

    def covers(self, case):
        return re.fullmatch(self.cases, case.name, re.DOTALL) is not None

    def apply(self, reply):
        return re.sub(self.memcached, self.farcache, reply)


DIFFERENCES = [
]


def wanted(case, reply):
    """The reply that Farcache must give where memcached gives this one."""
    for difference in DIFFERENCES:
        if difference.covers(case):
            reply = difference.apply(reply)
    return reply
