from __future__ import annotations

import pytest

from mnemic.errors import BadInput, Refused
from mnemic.knowledge.origin import approve, external, human, lowered, lowest, seal


def test_what_is_derived_bears_the_lowest_origin_of_its_parents() -> None:
    assert lowest(["user", "agent", "web", "user"]) == "web"
    assert lowest(["human-file", "agent"]) == "agent"


def test_a_writer_may_call_its_text_lower_than_its_channel_but_never_higher() -> None:
    assert lowered("agent", None) == "agent"
    assert lowered("agent", "web") == "web"
    with pytest.raises(Refused, match="'user' stands above 'agent'"):
        lowered("agent", "user")
    with pytest.raises(BadInput, match="'admin' is unknown"):
        lowered("user", "admin")


def test_a_person_stands_behind_user_and_human_file_alone() -> None:
    origins = ("user", "human-file", "agent", "tool", "web", "import")
    assert [human(origin) for origin in origins] == [True, True, False, False, False, False]
    assert [external(origin) for origin in origins] == [False, False, False, True, True, True]


def test_an_approval_is_bound_to_what_was_shown() -> None:
    shown, now = seal(gist="a"), seal(gist="b")
    assert approve("user", now, None) == now
    assert approve("user", now, now) == now
    with pytest.raises(Refused, match="changed since it was shown"):
        approve("user", now, shown)


def test_no_channel_but_a_persons_can_approve() -> None:
    with pytest.raises(Refused, match="only a person"):
        approve("agent", seal(gist="a"), None)
