"""Who is who: one name may be several people, and one person speaks in many conversations.

A home belongs to one user, so whoever speaks as the user under a name is one person. Others of a name are the same person
where they share a partner; elsewhere they are kept apart, as an encyclopedia does: "John", "John (with Tim)". Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mnemic.models.document import Message
from mnemic.text.tree import slug

ROLES = ("user", "assistant")
"""Who can be a person: what a tool says is nobody's word."""


@dataclass(frozen=True, slots=True)
class Person:
    """A speaker as articles know them."""

    key: str
    title: str
    """Of their article."""
    name: str
    """As sentences name them."""


UNNAMED = Person("person:user", "User", "The user")


def people(messages: Iterable[Message]) -> dict[tuple[str, str], Person]:
    """(session, speaker's name) → the person; the empty name is the user's."""
    speakers: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for row in messages:
        if row.role in ROLES and (row.name or row.role == "user"):
            speakers[row.session].setdefault(row.name, set()).add(row.role)
    by_name: dict[str, list[str]] = defaultdict(list)
    for session, names in speakers.items():
        for name in names:
            by_name[name.casefold()].append(session)
    found: dict[tuple[str, str], Person] = {}
    for folded, sessions in by_name.items():
        for group in _groups(folded, sessions, speakers):
            _take(group, folded, speakers, found)
    return found


def _take(
    group: list[str], folded: str, speakers: Mapping[str, Mapping[str, set[str]]], found: dict[tuple[str, str], Person]
) -> None:
    name = next(one for one in speakers[group[0]] if one.casefold() == folded)
    person = UNNAMED if not folded else Person(f"person:{slug(name)}", name, name)
    if any(person.key == other.key for (_, said), other in found.items() if said.casefold() == folded):
        partner = min(other for session in group for other in speakers[session] if other and other.casefold() != folded)
        person = Person(f"person:{slug(name)}~{slug(partner)}", f"{name} (with {partner})", name)
    for session in group:
        for one in speakers[session]:
            if one.casefold() == folded:
                found[session, one] = person


def _groups(folded: str, sessions: list[str], speakers: Mapping[str, Mapping[str, set[str]]]) -> list[list[str]]:
    """The sessions of each person of a name, in order; sessions that are joined by a partner, or by being the user's."""
    groups: list[tuple[set[str], list[str]]] = []
    for session in sessions:
        mine = next(roles for name, roles in speakers[session].items() if name.casefold() == folded)
        marks = {f"with:{name.casefold()}" for name in speakers[session] if name and name.casefold() != folded}
        if "user" in mine or not marks:
            marks.add("user")
        same = [group for group in groups if group[0] & marks]
        joined = (set().union(marks, *(group[0] for group in same)), [one for group in same for one in group[1]] + [session])
        groups = [group for group in groups if group not in same] + [joined]
    order = {session: place for place, session in enumerate(sessions)}
    return sorted((sorted(group[1], key=order.__getitem__) for group in groups), key=lambda group: order[group[0]])
