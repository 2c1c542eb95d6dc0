"""A conversation that was edited and asked anew is a tree of messages; here it becomes conversations.

The one on the screen, from its first message to the current one, is the conversation. What else was said stands in
branches of its own, each from the question that it answers on, and only what no earlier branch has: nothing is lost, and
nothing but such a question is kept twice. A branch is named by the message with which it begins, so that it keeps
its name while it grows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mnemic.models.document import Turn


@dataclass(frozen=True, slots=True)
class Node:
    """A message of the tree; without turns where nobody said it."""

    id: str
    parent: str | None
    turns: Sequence[Turn]


def branches(nodes: Mapping[str, Node], current: str | None) -> Iterator[tuple[str, list[Turn]]]:
    """The conversation under the name "", then each branch under that of its first message. Order is that of `nodes`.

    A current message that is not there stands for the last one. Cycles end where they close.
    """
    parents = {node.parent for node in nodes.values()}
    leaves = [number for number in nodes if number not in parents]
    if current not in nodes:
        current = next(iter((leaves or list(nodes))[::-1]), None)
    if current is None:
        return
    main = _upwards(nodes, current)
    taken = {node.id for node in main}
    yield "", [turn for node in main for turn in node.turns]
    for leaf in [*leaves, *nodes]:  # after the leaves come what only cycles lead to
        if leaf in taken:
            continue
        path = _upwards(nodes, leaf)
        own = [place for place, node in enumerate(path) if node.id not in taken]
        taken.update(node.id for node in path)
        said = [turn for place in own for turn in path[place].turns]
        if not said:
            continue
        if said[0].role != "user":
            said = [*_question(path[: own[0]]), *said]
        yield next(path[place].id for place in own if path[place].turns), said


def _upwards(nodes: Mapping[str, Node], leaf: str) -> list[Node]:
    """The messages from the first one to this."""
    path, seen = list[Node](), set[str]()
    at: str | None = leaf
    while at is not None and at in nodes and at not in seen:
        seen.add(at)
        path.append(nodes[at])
        at = nodes[at].parent
    return path[::-1]


def _question(path: Sequence[Node]) -> list[Turn]:
    """The last thing that the user said on a path."""
    return next((list(node.turns) for node in reversed(path) if any(turn.role == "user" for turn in node.turns)), [])
