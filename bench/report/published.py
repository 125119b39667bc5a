"""What has been published of the systems that Farcache follows, and the figure of ours that stands beside each.

All of it was measured by others, on other hardware, over real InfiniBand. It is here to show which way and how far things went
there, not as a measure of ours.
"""

import dataclasses
import statistics
import typing

SHANKAR = "D. Shankar et al., ISPASS 2015 (RDMA-Memcached over InfiniBand FDR, beside Memcached over IP on the same network)"
YCSB = "RDMA-Memcached's own figures: YCSB, 3 servers, 80 to 640 clients, InfiniBand FDR, beside Memcached over IP"


@dataclasses.dataclass(frozen=True)
class Published:
    """A published ratio to memcached, and how ours is found in the results of a suite."""

    what: str
    ratio: float
    source: str
    suite: str
    ours: typing.Callable
    # Whether a smaller ratio is the better one.
    is_cost: bool = False


def turns_of(row, subject):
    """The turns of a subject in a row of a report; none where it took none."""
    return next((measured["turns"] for measured in row["measured"] if measured["subject"] == subject), [])


def turn_ratio(row, ours, theirs, figure):
    """The median of the turns' ratios; none where one of them took no turn."""
    pairs = list(zip(turns_of(row, ours), turns_of(row, theirs)))
    return statistics.median(figure(our) / figure(their) for our, their in pairs) if pairs else None


def best(ratios, choose):
    """The best of the ratios that there are."""
    found = [ratio for ratio in ratios if ratio is not None]
    return choose(found) if found else None


def throughput(turn):
    return sum(operation["count"] for operation in turn["operations"]) / turn["seconds"]


def database(workload, figure, choose):
    """Of a workload with a database behind it: the fabric over memcached with the system's library."""
    def ours(results):
        rows = [row for row in results["report"]["rows"] if row["condition"]["workload"] == workload]
        return best([turn_ratio(row, "fabric", "memcached", figure) for row in rows], choose)
    return ours


def ycsb(workload):
    """Of one of YCSB's workloads: the fabric over memcached, by the number of clients with which it is greatest."""
    def ours(results):
        rows = [row for row in results["report"]["rows"] if row["condition"]["workload"] == workload]
        return best([turn_ratio(row, "fabric", "memcached", lambda turn: turn["sum"]["operations_per_s"]) for row in rows], max)
    return ours


PUBLISHED = (
    Published("query cache: mean latency of a lookup, least", 0.34, SHANKAR, "workloads",
              database("query-cache", lambda turn: turn["all"]["mean_us"], min), is_cost=True),
    Published("query cache: throughput, most", 1.69, SHANKAR, "workloads", database("query-cache", throughput, max)),
    Published("TATP: throughput", 1.29, SHANKAR, "workloads", database("tatp", throughput, max)),
    Published("Twitter: throughput", 1.42, SHANKAR, "workloads", database("twitter", throughput, max)),
    Published("YCSB A: throughput, three servers", 6.7, YCSB, "ycsb", ycsb("a")),
    Published("YCSB B: throughput, three servers", 5.7, YCSB, "ycsb", ycsb("b")),
    Published("YCSB C: throughput, three servers", 6.4, YCSB, "ycsb", ycsb("c")),
)
