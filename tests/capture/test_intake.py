from __future__ import annotations

import pytest

from mnemic.errors import BadInput, Conflict
from mnemic.models.document import Turn
from mnemic.text.frame import Item, render
from tests.homes import Home, both

pytestmark = both

KEY = "AKIAQ3EGRIGHTKEY7ZXW"


def statuses(home: Home, *turns: tuple[str, str], session: str | None = "s") -> list[str]:
    return [receipt.status for receipt in home.capture(*turns, session=session).receipts]


def contents(home: Home, path: str) -> list[str]:
    document = home.store.document("default", path)
    assert document is not None
    messages = home.store.messages("default", document=document.id)
    return [home.store.text("default", item.text_id) or "" for item in messages]


def test_a_remembered_text_is_found_by_its_words(home: Home) -> None:
    receipt = home.remember("The lighthouse keeper drinks green tea.", title="Keeper")
    assert (receipt.status, receipt.path, receipt.nodes, receipt.seq) == ("stored", "/notes/keeper", 1, 1)
    assert home.search("lighthouses") == ["/notes/keeper"]
    assert home.search("coffee") == []
    assert home.sane()


def test_the_title_finds_a_text_that_does_not_say_it(home: Home) -> None:
    home.remember("It opens at nine.", title="Library")
    assert home.search("library") == ["/notes/library"]


def test_the_same_text_on_the_same_day_is_a_duplicate(home: Home) -> None:
    home.remember("tea", title="Drink")
    home.clock.advance(hours=11)
    again = home.remember("tea", title="Drink")
    assert (again.status, again.path, again.seq) == ("duplicate", "/notes/drink", None)
    assert home.store.counts("default")["documents"] == 1


def test_the_same_text_on_another_day_is_a_twin(home: Home) -> None:
    home.remember("tea", title="Drink")
    home.clock.advance(days=1)
    assert home.remember("tea", title="Drink").path == "/notes/drink~2"
    assert home.sane()


def test_a_repeated_operation_is_a_duplicate_and_its_id_is_not_for_another_text(home: Home) -> None:
    first = home.remember("tea", op_id="op-1")
    home.clock.advance(days=3)
    again = home.remember("tea", op_id="op-1")
    assert (first.status, again.status, again.path, again.seq) == ("stored", "duplicate", "/notes/tea", 1)
    with pytest.raises(Conflict, match="'op-1' was already used"):
        home.remember("coffee", op_id="op-1")


@pytest.mark.parametrize("text", ["", " \n\t ", "\u3000"])
def test_an_empty_text_is_nothing(home: Home, text: str) -> None:
    assert home.remember(text).status == "nothing"
    assert home.store.head("default") is None


def test_a_secret_is_counted_and_in_no_file(home: Home) -> None:
    receipt = home.remember(f"deploy with {KEY} today", title=f"key {KEY}", context=f"at {KEY}")
    assert receipt.redacted == 1
    assert home.capture(("user", f"my key is {KEY}"), ("assistant", "noted")).receipts[0].redacted == 1
    assert home.holds(KEY) == []
    home.store.close()
    assert home.holds(KEY) == []


def test_a_recalled_frame_is_taken_out(home: Home) -> None:
    item = Item("/notes/old", "the penguin sleeps", "2026-01-01", "user")
    frame = render([item], "0123456789abcdef")
    assert home.remember(frame).status == "nothing"
    home.remember(f"The walrus wakes.\n{frame}", title="Walrus")
    assert (home.search("walrus"), home.search("penguin")) == (["/notes/walrus"], [])
    assert statuses(home, ("user", frame)) == ["nothing"]
    home.capture(("user", f"I sail. {frame[:150]}"), ("user", frame[150:] + "Often."), ("assistant", "Nice."))
    texts = home.store.texts("default", [row.text_id for row in home.store.messages("default", session="s")])
    assert sorted(texts.values()) == ["I sail. ", "Nice.", "Often."]


def test_frontmatter_is_not_what_a_text_is_found_by(home: Home) -> None:
    home.remember("---\nauthor: zanzibar\n---\nThe kettle sings.", title="Kettle")
    assert (home.search("zanzibar"), home.search("kettle")) == ([], ["/notes/kettle"])


def test_a_text_that_begins_with_a_section_is_found_at_the_section(home: Home) -> None:
    home.remember("# Book\n\n## One\n\nfalcon\n\n## Two\n\nheron", title="Book")
    assert home.search("falcon") == ["/notes/book/one"]
    home.remember("1. Aim\n\nossifrage", title="Plan")
    assert home.search("ossifrage") == ["/notes/plan/1-aim"]


def test_a_second_reading_of_a_source_is_a_revision(home: Home) -> None:
    first = home.remember("old walrus", title="T", source="file:///t.md", kind="file")
    again = home.remember("old walrus", title="T", source="file:///t.md", kind="file")
    new = home.remember("new penguin", title="T", source="file:///t.md", kind="file")
    assert (first.path, again.status, new.status, new.path) == ("/files/t", "duplicate", "stored", "/files/t")
    assert (home.search("walrus"), home.search("penguin")) == ([], ["/files/t"])
    assert home.sane()


@pytest.mark.parametrize(
    "more", [{"importance": 1.5}, {"importance": float("nan")}, {"kind": "a/b"}, {"at": 10**18}]
)
def test_what_cannot_be_is_refused(home: Home, more: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        home.remember("tea", "default", **more)
    assert home.store.head("default") is None


def test_lone_surrogates_are_replaced_everywhere(home: Home) -> None:
    home.remember("tea \ud800", title="a\udfff", context="\ud800")
    home.intake.capture("default", [Turn("user", "x\ud83d", name="\ud800n")], session="\udc00s")
    assert home.sane()


@pytest.mark.parametrize("query", ["猫", "记忆", "回声", "时间"])
def test_one_and_two_characters_of_chinese_find_their_text(home: Home, query: str) -> None:
    home.remember("记忆是时间的回声。猫", title="诗")
    home.remember("狗在跑", title="别的")
    assert home.search(query) == ["/notes/诗"]


def test_a_conversation_is_cut_into_exchanges(home: Home) -> None:
    report = home.capture(
        ("system", "be brief"), ("user", "what about walruses?"), ("user", "and seals?"), ("assistant", "both swim"),
        ("tool", "lookup"), ("user", "thanks"), ("assistant", "welcome"),
    )  # fmt: skip
    assert (report.sessions, report.exchanges, report.messages) == (1, 2, 6)
    assert [receipt.path for receipt in report.receipts] == [None, "/sessions/s/1", "/sessions/s/2"]
    assert home.search("walrus") == ["/sessions/s/1/user"]
    assert home.search("seals") == ["/sessions/s/1/user~2"]
    assert home.search("brief") == []
    assert [item.seq for item in home.store.messages("default", session="s")] == [1, 2, 3, 4, 5, 6]
    assert home.sane()


def test_each_turn_may_name_its_session(home: Home) -> None:
    home.intake.capture("default", [Turn("user", "one", session="a"), Turn("user", "two", session="b c")])
    assert home.search("one") == ["/sessions/a/1/user"]
    assert [path.startswith("/sessions/b-c-") for path in home.search("two")] == [True]


def test_an_answer_after_an_idle_flush_extends_the_exchange(home: Home) -> None:
    home.capture(("user", "where is the walrus?"))
    report = home.capture(("assistant", "on the ice"), ("user", "good"))
    assert [receipt.path for receipt in report.receipts] == ["/sessions/s/1", "/sessions/s/2"]
    assert contents(home, "/sessions/s/1") == ["where is the walrus?", "on the ice"]
    assert home.sane()


def test_the_same_transcript_again_adds_nothing(home: Home) -> None:
    turns = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")]
    home.capture(*turns)
    assert statuses(home, *turns) == ["duplicate", "duplicate"]
    assert statuses(home, ("assistant", "d")) == ["duplicate"]
    assert statuses(home, ("user", "c")) == ["duplicate"]
    assert home.store.counts("default")["messages"] == 4


def test_a_transcript_that_has_grown_adds_only_what_is_new(home: Home) -> None:
    turns = [("user", "a"), ("assistant", "b"), ("user", "c")]
    home.capture(*turns)
    report = home.capture(*turns, ("assistant", "d"), ("user", "e"))
    assert (report.messages, [r.status for r in report.receipts]) == (2, ["duplicate", "stored", "stored"])
    assert contents(home, "/sessions/s/2") == ["c", "d"]
    assert home.sane()


def test_a_long_exchange_grows_without_doubles(home: Home) -> None:
    turns = [("user", "go"), *(("assistant", f"step {n}") for n in range(69))]
    assert home.capture(*turns).exchanges == 2
    report = home.capture(*turns, ("assistant", "done"), ("tool", "ok"))
    assert (report.messages, [r.status for r in report.receipts]) == (2, ["duplicate", "stored"])
    assert home.store.counts("default")["messages"] == 72


def test_a_session_without_a_name_gets_the_same_one_again(home: Home) -> None:
    assert statuses(home, ("user", "hi there"), session=None) == ["stored"]
    assert statuses(home, ("user", "hi there"), session=None) == ["duplicate"]


def test_an_unknown_role_is_refused_before_anything_is_stored(home: Home) -> None:
    with pytest.raises(BadInput, match="message 2: role 'robot' is unknown"):
        home.capture(("user", "a"), ("robot", "b"))
    assert home.store.head("default") is None
    assert home.store.namespaces() == []


def test_a_long_message_is_found_by_its_parts(home: Home) -> None:
    home.capture(("user", "\n\n".join(f"Word{n} " + "filler " * 60 for n in range(6))))
    assert "/sessions/s/1/user/p6" in home.search("word5")
    assert home.sane()


def test_an_operation_that_was_undone_says_so_until_the_undo_is_undone(home: Home) -> None:
    first = home.remember("walrus", title="T", op_id="a")
    home.undo(1)
    again = home.remember("walrus", title="T", op_id="a")
    assert (again.status, again.path) == ("rejected", None)
    assert again.reason == (
        "operation a was done and then undone in entry 2: `mnemic undo 2` brings it back, a fresh --op-id stores it anew"
    )
    assert home.store.counts("default")["documents"] == 0
    home.undo(2)
    assert home.remember("walrus", title="T", op_id="a").status == "duplicate"
    home.undo(3)
    assert home.remember("walrus", title="T", op_id="b").path == first.path
