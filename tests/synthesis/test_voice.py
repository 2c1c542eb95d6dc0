from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mnemic.synthesis.voice import bare, sentences, told

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        (
            "I went to a support group yesterday and it was so powerful.",
            "Ada went to a support group on 7 May 2023 and it was so powerful.",
        ),
        ("I'm keen on counseling.", "Ada is keen on counseling."),
        ("I've been reading.", "Ada has been reading."),
        ("I love pizza and hate soup.", "Ada loves pizza and hate soup."),
        ("I live in Leeds and work as a nurse.", "Ada lives in Leeds and works as a nurse."),
        ("I try to teach my kids.", "Ada tries to teach their kids."),
        ("My dogs make me happy.", "Ada's dogs make them happy."),
        ("Gonna continue my studies!", "Ada is going to continue their studies."),
        ("Yeah, I just couldn't resist them.", "Ada just couldn't resist them."),
        ("It was tough but I came out on top!", "It was tough but Ada came out on top."),
        ("When I paint, I am calm.", "When Ada paints, they are calm."),
        ("I'm carving out some me-time.", "Ada is carving out some me-time."),
        ("I moved here last week.", "Ada moved here in the week of 1 May 2023."),
        ("I'm going to open it in September.", "Ada is going to open it in September."),
        ("I start next month.", "Ada starts in June 2023."),
        ("Last week was wild and I loved it.", "The week of 1 May 2023 was wild and Ada loved it."),
        ("I want to row the regatta this summer.", "Ada wants to row the regatta in the summer of 2023."),
        ("Speaking of bread, I won a prize.", "Ada won a prize."),
        ("In my free time, I paint.", "In their free time, Ada paints."),
        ("Whenever I hear this song, I think of home.", "Whenever they hear this song, Ada thinks of home."),
        ("For me, I had a setback: my knee.", "Ada had a setback: their knee."),
        ("I love people who listen and care about me.", "Ada loves people who listen and care about them."),
        ("I'm gonna show it 'cause I gotta.", "Ada is going to show it because they have to."),
        ("I also watch talks and keep up with news.", "Ada also watches talks and keeps up with news."),
        ("Biscuit learned to sit.", "Biscuit learned to sit."),
    ],
)
def test_a_plain_sentence_is_told_in_the_third_person(said: str, written: str) -> None:
    assert told(said, "Ada", AT).text == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("We went camping.", "Ada said: “We went camping.”"),
        ("Gather documents like references.", "Ada said: “Gather documents like references.”"),
        ("Bet Max loves all those hikes.", "Ada said: “Bet Max loves all those hikes.”"),
        ("Lesson learned - save your work.", "Ada said: “Lesson learned - save your work.”"),
        ("Working out together is a great way to bond.", "Ada said: “Working out together is a great way to bond.”"),
        ("I read it twice.", "Ada said: “I read it twice.”"),
        ("I think you would love it.", "Ada said: “I think you would love it.”"),
        ('Love the "Dune" books.', "Ada said: “Love the ‘Dune’ books.”"),
        ("我昨天去了医院。", "Ada：「我昨天去了医院。」"),
        ("!", "Ada said: “.”"),
        ("-", "Ada said: “.”"),
    ],
)
def test_what_the_rules_do_not_cover_is_quoted(said: str, written: str) -> None:
    found = told(said, "Ada", AT)
    assert found.quoted
    assert found.text == written


def test_greetings_and_the_name_of_whom_it_is_said_to_are_left_out() -> None:
    assert bare("Hey Mel, I ran today", ["Melanie"]) == "I ran today"
    assert bare("I agree, Melanie!", ["Melanie"]) == "I agree!" or bare("I agree, Melanie!", ["Melanie"]) == "I agree"
    assert bare("Thanks for asking, they are fine") == "Thanks for asking, they are fine"


def test_a_message_falls_into_sentences_without_what_a_program_added() -> None:
    assert sentences("It works! I ran. [shares a photo: a dog]\n- one more") == ["It works!", "I ran.", "one more"]
    assert sentences("我去了。他来了！") == ["我去了。", "他来了！"]
