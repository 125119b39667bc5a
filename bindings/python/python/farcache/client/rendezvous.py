"""On which server a key lives."""

from typing import Any

from farcache._farcache import rendezvous

__all__ = ["RendezvousHash"]


class RendezvousHash:
    """The choice of pymemcache's `RendezvousHash`, so that both find a key on the same server.

    As there, a key given as text may live elsewhere than the same key given as bytes.
    """

    def __init__(self, nodes: list[str] | None = None) -> None:
        self.nodes = list(nodes or [])

    def add_node(self, node: str) -> None:
        """Adds a server, by its name."""
        if node not in self.nodes:
            self.nodes.append(node)

    def remove_node(self, node: str) -> None:
        """Removes a server; its keys go to the others."""
        if node not in self.nodes:
            raise ValueError(f"No such node {node} to remove")
        self.nodes.remove(node)

    def get_node(self, key: Any) -> str | None:
        """The name of a key's server."""
        if len(self.nodes) == 1:
            return self.nodes[0]
        index = rendezvous(self.nodes, f"{key}")
        return None if index is None else self.nodes[index]
