"""A tree of messages becomes conversations: nothing is lost, and nothing but a question is told twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.interfaces.importers.branches import Node, branches
from mnemic.models.document import Turn


def tree(*edges: tuple[str, str | None]) -> dict[str, Node]:
    """Nodes by id; one whose id begins with u was said by the user, with a by the assistant, with anything else by nobody."""
    roles = {"u": "user", "a": "assistant"}
    return {key: Node(key, parent, [Turn(roles[key[0]], key)] if key[0] in roles else []) for key, parent in edges}


def told(nodes: dict[str, Node], current: str | None) -> dict[str, list[str]]:
    return {name: [turn.content for turn in turns] for name, turns in branches(nodes, current)}


def test_an_answer_asked_anew_stands_under_its_question() -> None:
    nodes = tree(("r", None), ("u1", "r"), ("a1", "u1"), ("a2", "u1"), ("u2", "a1"), ("a3", "u2"))
    assert told(nodes, "a2") == {"": ["u1", "a2"], "a1": ["u1", "a1", "u2", "a3"]}
    assert told(nodes, "a3") == {"": ["u1", "a1", "u2", "a3"], "a2": ["u1", "a2"]}


def test_without_a_current_message_the_last_one_is_meant() -> None:
    nodes = tree(("u1", None), ("a1", "u1"), ("u2", "a1"), ("u3", "a1"))
    assert told(nodes, None) == {"": ["u1", "a1", "u3"], "u2": ["u2"]}
    assert told(nodes, "gone") == told(nodes, None)


def test_a_current_message_in_the_middle_leaves_what_follows_to_a_branch() -> None:
    assert told(tree(("u1", None), ("a1", "u1"), ("u2", "a1")), "a1") == {"": ["u1", "a1"], "u2": ["u2"]}


def test_cycles_and_parents_that_are_not_there_end_where_they_are() -> None:
    assert told(tree(("u1", "a1"), ("a1", "u1")), "a1") == {"": ["u1", "a1"]}
    assert told(tree(("u1", "gone"), ("a1", "u1")), "a1") == {"": ["u1", "a1"]}
    assert told({}, None) == {}


def test_a_long_conversation_is_read_in_one_go() -> None:
    nodes = tree(*((f"{'ua'[n % 2]}{n}", f"{'ua'[(n - 1) % 2]}{n - 1}" if n else None) for n in range(20_000)))
    assert len(told(nodes, "a19999")[""]) == 20_000


@given(st.lists(st.integers(0, 30), max_size=30), st.integers(0, 30), st.lists(st.sampled_from("uax"), min_size=31, max_size=31))
def test_everything_said_is_told_and_only_questions_twice(parents: list[int], current: int, kinds: list[str]) -> None:
    names = [f"{kind}{number}" for number, kind in enumerate(kinds)]
    nodes = tree(*((names[n], names[parent] if parent != n else None) for n, parent in enumerate(parents)))
    said = [turn for _, turns in branches(nodes, names[current]) for turn in turns]
    spoken = [turn.content for node in nodes.values() for turn in node.turns]
    assert {turn.content for turn in said} == set(spoken)
    answers = [turn.content for turn in said if turn.role == "assistant"]
    assert len(answers) == len(set(answers))
