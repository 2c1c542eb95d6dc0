from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.clock import FixedClock, to_ms
from mnemic.errors import BadInput
from mnemic.models.answer import Answer, Budget, Scope
from mnemic.models.document import Turn
from tests.homes import NOON
from tests.recall.meaning import Meaning, opened

NOW = to_ms(NOON)
DAY = 86_400_000


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A home that only counts words."""
    with opened(tmp_path) as made:
        yield made


@pytest.fixture
def meaning(tmp_path: Path) -> Iterator[Memory]:
    """A home whose embedder knows synonyms."""
    with opened(tmp_path, embedder=Meaning()) as made:
        yield made


def texts(answer: Answer) -> list[str]:
    return [hit.text for hit in answer.hits]


def say(memory: Memory, *lines: str, session: str = "s", **more: object) -> list[str]:
    """Messages of a user and an assistant in turn; their paths."""
    turns = [Turn("assistant" if place % 2 else "user", line) for place, line in enumerate(lines)]
    memory.capture(turns, session=session, **more)  # type: ignore[arg-type]
    return [row["path"] for row in memory.tree(f"/sessions/{session}", depth=3) if row["kind"] == "message"]


def crowd(memory: Memory, word: str, count: int, session: str = "crowd") -> None:
    """Short messages that fit a word better than any longer text does."""
    memory.capture([Turn("user", f"{word} {n:04x}") for n in range(count)], session=session)


def stage(memory: Memory, query: str, path: str, **more: object) -> tuple[str, str]:
    (why,) = memory.recall(query, why_not=[path], **more).why_not  # type: ignore[arg-type]
    return why.stage, why.detail


# candidates


def test_a_text_is_found_by_its_words_in_any_inflection(memory: Memory) -> None:
    memory.remember("The lighthouse keeper paints boats.")
    memory.remember("Nothing of the kind.")
    assert texts(memory.recall("Who painted the boat?")) == ["The lighthouse keeper paints boats."]


def test_a_text_is_found_by_what_it_means(meaning: Memory) -> None:
    meaning.remember("Her kitten sleeps on the sofa.")
    meaning.remember("The vehicle needs new tyres.")
    assert texts(meaning.recall("feline"))[0] == "Her kitten sleeps on the sofa."
    assert meaning.recall("feline").hits[0].signals["lexical"] == 0


def test_an_embedder_that_counts_words_adds_nothing_to_the_words(memory: Memory) -> None:
    memory.remember("The lighthouse keeper paints boats.")
    (hit,) = memory.recall("lighthouse").hits
    assert hit.signals["vector"] == 0
    assert hit.signals["lexical"] > 0


def test_of_two_texts_with_the_same_words_the_one_that_holds_the_quoted_phrase_comes_first(memory: Memory) -> None:
    memory.remember("She likes green tea and milk.", title="phrase", at=NOON - timedelta(days=9))
    memory.remember("Green milk and tea she likes.", title="words")
    first, second = memory.recall('"green tea"').hits
    assert [(hit.title, hit.signals["phrase"]) for hit in (first, second)] == [("phrase", 3), ("words", 0)]


def test_a_phrase_counts_in_a_narrow_scope_whatever_holds_it_elsewhere(memory: Memory) -> None:
    crowd(memory, "green tea", 200)
    memory.remember("Of all drinks she likes green tea with milk.", title="drinks")
    (hit,) = memory.recall('"green tea"', scope=Scope(within="/notes")).hits
    assert hit.signals["phrase"] == 3


@pytest.mark.parametrize("query", ["猫", "橘猫", "橘猫怕", "貓が"])
def test_a_query_of_one_to_three_characters_finds_a_text_without_spaces(memory: Memory, query: str) -> None:
    memory.remember("我家的橘猫怕打雷。")
    memory.remember("貓が窓で寝ている。")
    memory.remember("明天去公园散步。")
    found = texts(memory.recall(query))
    assert len(found) == 1
    assert query[:2] in found[0]


def test_one_character_beside_a_word_counts_only_for_texts_that_hold_it(memory: Memory) -> None:
    memory.remember("the harbour at dusk", title="without")
    memory.remember("the harbour 猫", title="with")
    first, second = memory.recall("harbour 猫").hits
    assert (first.title, second.title) == ("with", "without")
    assert first.signals["lexical"] > 1.5 * second.signals["lexical"]


# cues


def test_what_was_said_in_the_time_a_question_names_is_preferred(memory: Memory) -> None:
    for days in (1, 8, 40):
        memory.remember(f"The harbour was calm, note {days}.", title=str(days), at=NOON - timedelta(days=days))
    first, *rest = memory.recall("how was the harbour yesterday").hits
    assert (first.title, first.signals["time"]) == ("1", 1)
    assert [hit.signals["time"] for hit in rest] == [0, 0]


def test_a_named_speaker_is_preferred(memory: Memory) -> None:
    turns = [Turn("user", "I adore the harbour.", name="Ada"), Turn("user", "I adore the harbour too.", name="Bob")]
    memory.capture(turns, session="s")
    first = memory.recall("What does Bob adore at the harbour?").hits[0]
    assert (first.speaker, first.signals["speaker"]) == ("Bob", 1.5)


def test_a_question_about_oneself_prefers_ones_own_words(memory: Memory) -> None:
    say(memory, "The passport expires in June.", "A passport expires after ten years.")
    first, second = memory.recall("When does my passport expire?").hits
    assert [(hit.origin, hit.signals["role"]) for hit in (first, second)] == [("user", 2), ("agent", 0)]
    assert {hit.signals["role"] for hit in memory.recall("When did the US passport expire?").hits} == {0}


# neighbours


def test_a_reply_is_found_by_the_question_before_it(memory: Memory) -> None:
    say(memory, "Which wallpaper did the tenants choose?", "Blue with small stars.")
    reply = memory.recall("wallpaper of the tenants").hits[1]
    assert reply.text == "Blue with small stars."
    assert reply.signals["lexical"] == 0
    assert reply.signals["window"] > 0


def test_a_message_is_lifted_by_the_answer_that_echoes_the_question(memory: Memory) -> None:
    say(memory, "Blue with small stars?", "Yes, that wallpaper for the tenants.")
    question = next(hit for hit in memory.recall("wallpaper tenants").hits if hit.text.startswith("Blue"))
    assert question.signals["reply"] > 0


def test_neighbours_of_another_conversation_lend_nothing(memory: Memory) -> None:
    say(memory, "Which wallpaper did the tenants choose?", session="a")
    say(memory, "Blue with small stars.", session="b")
    assert texts(memory.recall("wallpaper of the tenants")) == ["Which wallpaper did the tenants choose?"]


# units


PARTS = "\n\n".join(f"## Part {n}\n\n" + f"Plain talk of kind {n} about rope and tar. " * 8 for n in range(6))
LONG = PARTS + "\n\n## Anchors\n\nThe bronze anchor hangs in the hall.\n"


def test_a_long_message_is_one_hit_and_shows_the_part_that_fits_best(memory: Memory) -> None:
    memory.capture([Turn("user", LONG)], session="s")
    (hit,) = memory.recall("Where does the bronze anchor hang?").hits
    assert "bronze anchor" in hit.text
    assert "Plain talk" not in hit.text
    assert len(memory.recall("rope and tar").hits) == 1


def test_the_opening_of_a_long_message_counts_as_one_of_its_parts(memory: Memory) -> None:
    memory.capture([Turn("user", "The zeppelin again.\n\n" + LONG)], session="s")
    (hit,) = memory.recall("zeppelin").hits
    assert hit.signals["lexical"] > 0
    assert hit.text.startswith("The zeppelin again.")


# scope


def test_a_scope_lets_only_through_what_it_names(memory: Memory) -> None:
    memory.remember("The harbour in spring.", title="spring", context="work", at=NOON - timedelta(days=30))
    memory.remember("The harbour in autumn.", title="autumn", context="home", at=NOON - timedelta(days=3))
    memory.remember("The harbour as a file.", title="plan", kind="file", at=NOON - timedelta(days=1))
    say(memory, "The harbour as a message.")

    def titles(**scope: object) -> set[str]:
        return {hit.title.split(".")[0] for hit in memory.recall("harbour", scope=Scope(**scope)).hits}  # type: ignore[arg-type]

    everything = {"spring", "autumn", "plan", "The harbour as a message"}
    assert titles() == everything
    assert titles(within="/notes") == titles(within="/notes/") == {"spring", "autumn"}
    assert titles(within="/notes/spring") == {"spring"}
    assert titles(within="/not") == set()
    assert titles(within="/") == everything
    assert titles(documents=frozenset({"/notes/spring", "/files/plan", "/notes/nothing"})) == {"spring", "plan"}
    assert titles(documents=frozenset({"/notes/spring", "/files/plan"}), within="/notes") == {"spring"}
    assert titles(documents=frozenset()) == set()
    assert titles(context="work") == {"spring"}
    assert titles(kinds=("file",)) == {"plan"}
    assert titles(kinds=("file", "message")) == {"plan", "The harbour as a message"}
    assert titles(since=NOW - 4 * DAY) == {"autumn", "plan", "The harbour as a message"}
    assert titles(until=NOW - 3 * DAY) == {"spring"}
    assert titles(until=NOW - 3 * DAY + 1) == {"spring", "autumn"}


def test_a_path_in_the_question_narrows_it_if_something_stands_there(memory: Memory) -> None:
    memory.remember("The harbour in spring.", title="spring")
    say(memory, "The harbour as a message.")
    assert [hit.path for hit in memory.recall("/notes harbour").hits] == ["/notes/spring"]
    assert len(memory.recall("/usr/bin harbour").hits) == 2


def test_what_was_recorded_later_was_not_known_then(memory: Memory) -> None:
    clock = memory.clock
    assert isinstance(clock, FixedClock)
    memory.remember("The harbour is open.", title="old")
    clock.advance(days=2)
    memory.remember("The harbour is closed.", title="new")
    path = "/notes/new"
    assert {hit.title for hit in memory.recall("harbour").hits} == {"old", "new"}
    assert [hit.title for hit in memory.recall("harbour", scope=Scope(as_of=NOW + DAY)).hits] == ["old"]
    assert stage(memory, "harbour", path, scope=Scope(as_of=NOW + DAY)) == ("scope", "it was not known then")


def test_what_is_forgotten_is_hidden_but_not_as_of_a_time_before_that(memory: Memory) -> None:
    clock = memory.clock
    assert isinstance(clock, FixedClock)
    memory.remember("The harbour is open.", title="gone")
    clock.advance(days=2)
    memory.forget("/notes/gone")
    assert memory.recall("harbour").hits == ()
    assert [hit.title for hit in memory.recall("harbour", scope=Scope(as_of=NOW + DAY)).hits] == ["gone"]
    clock.advance(days=1)
    assert memory.recall("harbour", scope=Scope(as_of=NOW + 2 * DAY)).hits == ()
    (hit,) = memory.recall("harbour", scope=Scope(tiers=frozenset({"active", "archive"}))).hits
    assert (hit.title, hit.tier) == ("gone", "archive")


def test_forgetting_a_folder_hides_what_lies_below_it_and_undo_shows_it_again(memory: Memory) -> None:
    say(memory, "The harbour is open.")
    memory.remember("The harbour is wide.", title="kept")
    done = memory.forget("/sessions")
    assert [hit.title for hit in memory.recall("harbour").hits] == ["kept"]
    memory.undo(done.seq)
    assert len(memory.recall("harbour").hits) == 2


@pytest.mark.parametrize("embedder", [None, Meaning()], ids=["words", "meaning"])
def test_a_narrow_scope_finds_its_text_whatever_matches_better_elsewhere(tmp_path: Path, embedder: Meaning | None) -> None:
    clock = FixedClock(NOON)
    with opened(tmp_path, embedder=embedder, clock=clock) as memory:
        text = "They say the beach is closed since the spring storms."
        memory.remember(text, title="beach", context="work", at=NOON - timedelta(days=5))
        clock.advance(days=1)
        crowd(memory, "beach", 520)
        assert "beach" not in {hit.title for hit in memory.recall("beach").hits}
        scopes = [
            Scope(within="/notes"), Scope(context="work"), Scope(kinds=("note",)), Scope(until=NOW - DAY),
            Scope(since=NOW - 6 * DAY, until=NOW - DAY), Scope(as_of=NOW + 1), Scope(documents=frozenset({"/notes/beach"})),
        ]  # fmt: skip
        for scope in scopes:
            assert [hit.title for hit in memory.recall("beach", scope=scope).hits] == ["beach"], scope
        assert stage(memory, "beach", "/notes/beach") == (
            "candidates", "it is neither among the first 64 by meaning nor the first 64 by words",
        )  # fmt: skip
        memory.forget("/sessions/crowd")
        assert [hit.title for hit in memory.recall("beach").hits] == ["beach"]


def test_what_comes_below_a_forgotten_path_crowds_nothing_out_either(memory: Memory) -> None:
    memory.remember("They say the beach is closed since the spring storms.", title="beach")
    memory.remember("Beach.", title="list", source="file:///list.md")
    memory.forget("/notes/list")
    assert [hit.title for hit in memory.recall("beach").hits] == ["beach"]
    memory.remember("\n\n".join(f"## {n}\n\nBeach {n:04x}" for n in range(200)), title="list", source="file:///list.md")
    assert [hit.title for hit in memory.recall("beach").hits] == ["beach"]
    wandering = memory.recall("", mode="creative", budget=Budget(nodes=3)).hits
    assert [hit.path.split("/")[2] for hit in wandering] == ["list", "list", "list"]


def test_namespaces_never_see_each_other(memory: Memory) -> None:
    memory.remember("The harbour is open.", title="mine")
    other = memory.within("other")
    other.remember("The harbour is closed.", title="theirs")
    assert [hit.title for hit in memory.recall("harbour").hits] == ["mine"]
    assert [hit.title for hit in other.recall("harbour").hits] == ["theirs"]
    assert stage(memory, "harbour", "/notes/theirs")[0] == "unknown"
    assert memory.within("third").recall("harbour").reason == "nothing is remembered in namespace 'third' yet"


# floor


def test_a_question_that_nothing_answers_gets_nothing_and_a_reason(meaning: Memory) -> None:
    meaning.remember("Her kitten sleeps on the sofa.")
    answer = meaning.recall("quarterly tax filing")
    assert answer.hits == ()
    assert answer.reason == "nothing reaches the floor: that it is not recorded does not mean it never happened"
    assert stage(meaning, "quarterly tax filing", "/notes/her-kitten-sleeps-on-the-sofa")[0] == "floor"


def test_words_that_stand_nowhere_find_nothing(memory: Memory) -> None:
    memory.remember("The harbour is open.")
    assert memory.recall("zeppelin").reason == (
        "nothing reaches the floor: that it is not recorded does not mean it never happened"
    )
    assert memory.recall("  ").reason == "the question is empty"


# diversity and budgets


def test_what_says_the_same_is_shown_once_and_the_other_named_as_its_twin(meaning: Memory) -> None:
    meaning.remember("Her kitten sleeps on the sofa.", title="one")
    meaning.remember("Her kitten sleeps on the sofa!", title="two", context="x")
    meaning.remember("The feline hates water and rain.", title="three")
    answer = meaning.recall("kitten on the sofa")
    paths = [hit.path for hit in answer.hits]
    assert len({"/notes/one", "/notes/two"} & set(paths)) == 1
    shown, hidden = ("one", "two") if "/notes/one" in paths else ("two", "one")
    assert stage(meaning, "kitten on the sofa", f"/notes/{hidden}") == (
        "diversity", f"it says the same as /notes/{shown}",
    )  # fmt: skip
    assert answer.omitted == 0


def test_unrelated_texts_are_no_twins_though_the_model_puts_all_texts_close_together(tmp_path: Path) -> None:
    embedder = Meaning(identity="onnx/multilingual-e5-small@64+e5", lean=2.6)
    with opened(tmp_path, embedder=embedder) as memory:
        for text in ("The kitten sleeps by the sea.", "A feline at the doctor's.", "One cat in the car."):
            memory.remember(text)
        assert len(memory.recall("cat").hits) == 3


def test_a_section_is_not_shown_beside_its_own_paragraph(memory: Memory) -> None:
    memory.remember("# Harbour\n\nThe pier is old.\n\n## Boats\n\nBoats lie at the pier.\n\n- red boat\n- blue boat\n")
    spans = [(hit.path, hit.text) for hit in memory.recall("boats at the pier").hits]
    assert not [(a, b) for a, x in spans for b, y in spans if a != b and x in y]


def test_an_answer_keeps_to_its_three_bounds_and_counts_what_it_left_out(memory: Memory) -> None:
    for n in range(9):
        memory.remember(f"Harbour {n}: " + f"word{n} " * 30, title=f"n{n}")
    answer = memory.recall("harbour", budget=Budget(nodes=4))
    assert (len(answer.hits), answer.omitted) == (4, 5)
    cut = memory.recall("harbour", budget=Budget(nodes=9, node_chars=20)).hits
    assert {len(hit.text) <= 20 and hit.text.endswith("…") for hit in cut} == {True}
    tight = memory.recall("harbour", budget=Budget(nodes=9, chars=450))
    assert sum(len(hit.text) for hit in tight.hits) <= 450
    assert len(tight.hits) + tight.omitted == 9


@pytest.mark.parametrize("budget", [Budget(nodes=0), Budget(chars=3)])
def test_an_answer_without_room_says_so_and_not_that_nothing_is_known(memory: Memory, budget: Budget) -> None:
    memory.remember("The harbour is open.")
    answer = memory.recall("harbour", budget=budget)
    assert (answer.hits, answer.omitted) == ((), 1)
    assert answer.reason == "nothing of what was found could be shown: ask for more nodes or characters"


# why not


def test_every_stage_is_named_to_who_asks_why_not(memory: Memory) -> None:
    memory.remember("The walrus naps on the pier.", title="good")
    memory.remember("A walrus.", title="hidden")
    memory.remember("The pier and nothing else of interest was seen on that day by anybody at all.", title="poor")
    memory.remember("Completely different.", title="other")
    memory.forget("/notes/hidden")
    answer = memory.recall(
        "walrus naps", why_not=["/notes/good", "/notes/hidden", "/notes/other", "/nowhere"], budget=Budget(nodes=3)
    )
    stages = {why.path: why.stage for why in answer.why_not}
    assert stages == {
        "/notes/good": "returned", "/notes/hidden": "scope", "/notes/other": "floor", "/nowhere": "unknown",
    }  # fmt: skip


def test_why_not_names_the_scope_for_a_neighbour_that_lies_outside_it(memory: Memory) -> None:
    first, _ = say(memory, "Which wallpaper did the tenants choose?", "Blue with small stars.")
    memory.forget(first)
    memory.capture([Turn("user", "No wallpaper, said the tenants.")], session="s")
    assert stage(memory, "wallpaper tenants", first) == ("scope", f"it was forgotten ({first})")


def test_what_lies_below_the_floor_is_not_said_to_be_crowded_out(meaning: Memory) -> None:
    paths = [str(meaning.remember(f"Plain note {n} about rope {n}.", title=f"n{n}").path) for n in range(45)]
    answer = meaning.recall("physician", why_not=paths)
    assert answer.hits == ()
    assert {why.stage for why in answer.why_not} == {"floor"}


# explaining


@pytest.mark.parametrize("scoring", ["structure", "seed"])
def test_the_signals_of_a_hit_add_up_to_its_score(meaning: Memory, scoring: str) -> None:
    meaning.remember("Her kitten sleeps on the sofa.", at=NOON - timedelta(days=1))
    say(meaning, "Does my cat sleep?", "The feline sleeps on the sofa.", "Where was the kitten yesterday?")
    hits = meaning.recall('my "kitten sleeps" yesterday', scoring=scoring).hits
    assert hits
    for hit in hits:
        assert hit.score == pytest.approx(sum(value for name, value in hit.signals.items() if name != "gate"))


def test_the_seeds_scoring_can_be_chosen_and_another_is_refused(memory: Memory) -> None:
    memory.remember("The harbour is open.")
    answer = memory.recall("harbour", scoring="seed")
    assert (answer.scoring, set(answer.hits[0].signals)) == ("seed", {"vector", "lexical", "rrf", "prior", "hop"})
    with pytest.raises(BadInput, match="'magic' is unknown: structure or seed"):
        memory.recall("harbour", scoring="magic")


def test_equal_scores_come_newest_first_and_then_in_the_order_of_their_documents(memory: Memory) -> None:
    for n, days in enumerate((3, 1, 2, 1)):
        memory.remember(f"Harbour {'abcd'[n]}{'efgh'[n]}.", title=f"n{n}", at=NOON - timedelta(days=days))
    answers = [[hit.title for hit in memory.recall("harbour").hits] for _ in range(3)]
    assert answers == [["n1", "n3", "n2", "n0"]] * 3


# origin


def test_a_hits_origin_is_who_spoke_but_never_higher_than_how_it_came(memory: Memory) -> None:
    turns = [Turn("user", "Harbour one."), Turn("assistant", "Harbour two."), Turn("tool", "Harbour three.")]
    memory.capture(turns, session="s")
    memory.capture([Turn("user", "Harbour four."), Turn("assistant", "Harbour five.")], session="old", origin="import")
    memory.remember("Harbour six.")
    origins = {hit.text.split()[1]: hit.origin for hit in memory.recall("harbour").hits}
    assert origins == {
        "one.": "user", "two.": "agent", "three.": "tool", "four.": "import", "five.": "import", "six.": "user",
    }  # fmt: skip


# degraded


def test_without_the_model_words_still_answer_and_the_answer_says_so(tmp_path: Path) -> None:
    embedder = Meaning()
    with opened(tmp_path, embedder=embedder) as memory:
        memory.remember("Her kitten sleeps on the sofa.")
        embedder.broken = True
        answer = memory.recall("kitten sofa")
        assert texts(answer) == ["Her kitten sleeps on the sofa."]
        assert answer.degraded == ("no vectors: the model is away",)


def test_a_document_that_waits_for_its_vectors_is_found_by_words_and_named(tmp_path: Path) -> None:
    embedder = Meaning()
    with opened(tmp_path, embedder=embedder) as memory:
        memory.remember("Her kitten sleeps on the sofa.", index=False)
        answer = memory.recall("kitten sleeps sofa")
        assert texts(answer) == ["Her kitten sleeps on the sofa."]
        assert answer.degraded == ("1 document not embedded yet: found by words only",)


def test_a_home_that_cannot_be_read_gives_an_empty_answer_with_the_reason(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember("The harbour is open.")
        memory._store.hot.connection().execute("ALTER TABLE nodes RENAME TO lost")
        answer = memory.recall("harbour")
    assert answer.hits == ()
    assert answer.reason is not None
    assert answer.reason.startswith("memory cannot be read: ")
    assert answer.degraded == (answer.reason,)


def test_an_open_home_does_not_keep_vectors_of_what_was_revised(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=Meaning()) as memory:
        for n in range(80):
            memory.remember(f"The kitten was fed {n} times.", title="log", source="file:///log.md")
            memory.recall("feline")
        for n in range(70):
            memory.remember(f"The car was washed {n} times.", title=f"car {n}")
        answer = memory.recall("feline")
        assert texts(answer)[0] == "The kitten was fed 79 times."
        rows = [(hit.path, round(hit.score, 6)) for hit in answer.hits]
    with opened(tmp_path, embedder=Meaning()) as memory:
        assert [(hit.path, round(hit.score, 6)) for hit in memory.recall("feline").hits] == rows


# hostile queries


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with opened(tmp_path_factory.mktemp("hostile"), embedder=Meaning()) as made:
        made.remember("# Harbour\n\nThe pier is old; 橘猫 sleeps there.\n")
        say(made, "Which wallpaper did the tenants choose?", LONG)
        yield made


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=80), st.sampled_from(["structure", "seed"]))
@example('harbour AND NOT "pier OR NEAR(a b, 3) ^x* {col}: -y', "structure")
@example("\x00 harbour \x00\ud800 /\udfff", "structure")
@example('"' * 9, "seed")
@example('"harbour" ' * 2_000, "structure")
@example("pier 橘 " * 2_500, "structure")
@example("' OR 1=1; DROP TABLE nodes; --", "seed")
@example("/notes/../\ud800 yesterday 9999-99-99", "structure")
@example("猫" * 10_000, "structure")
def test_no_query_makes_recall_raise(asked: Memory, query: str, scoring: str) -> None:
    answer = asked.recall(query, scoring=scoring, why_not=["/notes/harbour", query], frame=True)
    assert answer.hits or answer.reason
    assert not [line for line in answer.degraded if "cannot be read" in line]
