"""A wrong time expression hides the answer: what is one, what it means, and what is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import BadInput
from mnemic.text.when import When, find, parse_moment

NOW = datetime(2023, 10, 18, 15, 30, tzinfo=UTC)  # a Wednesday


def _short(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    assert moment.tzinfo is UTC
    return moment.strftime("%Y-%m-%d" if (moment.hour, moment.minute) == (0, 0) else "%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("query", "since", "until", "text"),
    [
        # days
        ("what did I do yesterday", "2023-10-17", "2023-10-18", "yesterday"),
        ("yesterday's plan", "2023-10-17", "2023-10-18", "yesterday's"),
        ("yesterday evening", "2023-10-17", "2023-10-18", "yesterday evening"),
        ("the day before yesterday", "2023-10-16", "2023-10-17", "the day before yesterday"),
        ("last night", "2023-10-17 17:00", "2023-10-18 06:00", "last night"),
        ("what did we say today?", "2023-10-18", "2023-10-19", "today"),
        ("notes of today", "2023-10-18", "2023-10-19", "of today"),
        ("on 7 May 2023", "2023-05-07", "2023-05-08", "on 7 May 2023"),
        ("the 7th of May, 2023", "2023-05-07", "2023-05-08", "the 7th of May, 2023"),
        ("on May 7, 2023 with Tom", "2023-05-07", "2023-05-08", "on May 7, 2023"),
        ("on May 7 Caroline said", "2023-05-07", "2023-05-08", "on May 7"),
        ("on December 24", "2022-12-24", "2022-12-25", "on December 24"),
        ("on Aug 15th?", "2023-08-15", "2023-08-16", "on Aug 15th"),
        ("on 29 February", "2020-02-29", "2020-03-01", "on 29 February"),
        ("at 1:56 pm on 8 May, 2023", "2023-05-08", "2023-05-09", "at 1:56 pm on 8 May, 2023"),
        ("2023-05-07", "2023-05-07", "2023-05-08", "2023-05-07"),
        ("on 2023/5/7", "2023-05-07", "2023-05-08", "on 2023/5/7"),
        ("am 7.5.2023", "2023-05-07", "2023-05-08", "7.5.2023"),
        ("on 25/7/2023", "2023-07-25", "2023-07-26", "on 25/7/2023"),
        ("on 7/25/2023", "2023-07-25", "2023-07-26", "on 7/25/2023"),
        ("el 7 de mayo de 2023", "2023-05-07", "2023-05-08", "7 de mayo de 2023"),
        ("am 7. Mai 2023", "2023-05-07", "2023-05-08", "7. Mai 2023"),
        ("3 days ago", "2023-10-15", "2023-10-16", "3 days ago"),
        ("a few days ago", "2023-10-13", "2023-10-18", "a few days ago"),
        ("a couple of days ago", "2023-10-15", "2023-10-18", "a couple of days ago"),
        ("on 31 June 2023", "2023-06-01", "2023-07-01", "June 2023"),
        ("on Monday", "2023-10-16", "2023-10-17", "on Monday"),
        ("on Wednesday", "2023-10-18", "2023-10-19", "on Wednesday"),
        ("last Wednesday", "2023-10-11", "2023-10-12", "last Wednesday"),
        ("last Tuesday morning", "2023-10-17", "2023-10-18", "last Tuesday morning"),
        ("last week on Friday", "2023-10-13", "2023-10-14", "last week on Friday"),
        ("two hours ago", "2023-10-18 13:00", "2023-10-18 14:00", "two hours ago"),
        # weeks
        ("last week's decision", "2023-10-09", "2023-10-16", "last week's"),
        ("earlier this week", "2023-10-16", "2023-10-23", "earlier this week"),
        ("two weeks ago", "2023-10-01", "2023-10-08", "two weeks ago"),
        ("in the past two weeks", "2023-10-04", "2023-10-19", "in the past two weeks"),
        ("last weekend", "2023-10-14", "2023-10-16", "last weekend"),
        ("over the weekend", "2023-10-14", "2023-10-16", "over the weekend"),
        ("the first week of June", "2023-06-01", "2023-06-08", "the first week of June"),
        ("the last week of May 2022", "2022-05-25", "2022-06-01", "the last week of May 2022"),
        # months
        ("last month", "2023-09-01", "2023-10-01", "last month"),
        ("in the last month", "2023-09-18", "2023-10-19", "in the last month"),
        ("in May 2023", "2023-05-01", "2023-06-01", "in May 2023"),
        ("in May", "2023-05-01", "2023-06-01", "in May"),
        ("what in may did we plan", "2023-05-01", "2023-06-01", "in may"),
        ("in November", "2022-11-01", "2022-12-01", "in November"),
        ("in the month of February", "2023-02-01", "2023-03-01", "in the month of February"),
        ("in May last year", "2022-05-01", "2022-06-01", "in May last year"),
        ("last year in May", "2022-05-01", "2022-06-01", "last year in May"),
        ("last December", "2022-12-01", "2023-01-01", "last December"),
        ("mid-August", "2023-08-11", "2023-08-22", "mid-August"),
        ("early March 2023", "2023-03-01", "2023-03-11", "early March 2023"),
        ("2023-05", "2023-05-01", "2023-06-01", "2023-05"),
        ("three months ago", "2023-07-01", "2023-08-01", "three months ago"),
        ("half a year ago", "2023-04-01", "2023-05-01", "half a year ago"),
        ("in the last 3 months", "2023-07-18", "2023-10-19", "in the last 3 months"),
        ("on the Wednesday two months ago", "2023-08-01", "2023-09-01", "on the Wednesday two months ago"),
        # quarters, seasons, years
        ("Q3 2023", "2023-07-01", "2023-10-01", "Q3 2023"),
        ("last quarter", "2023-07-01", "2023-10-01", "last quarter"),
        ("last summer", "2023-06-01", "2023-09-01", "last summer"),
        ("last winter", "2022-12-01", "2023-03-01", "last winter"),
        ("at the end of summer 2023", "2023-08-02", "2023-09-01", "at the end of summer 2023"),
        ("in 2022", "2022-01-01", "2023-01-01", "in 2022"),
        ("last year", "2022-01-01", "2023-01-01", "last year"),
        ("this year", "2023-01-01", "2024-01-01", "this year"),
        ("one year ago", "2022-01-01", "2023-01-01", "one year ago"),
        # open and joined stretches
        ("since March", "2023-03-01", None, "since March"),
        ("since yesterday", "2023-10-17", None, "since yesterday"),
        ("from 2022 on", "2022-01-01", None, "from 2022 on"),
        ("from March until now", "2023-03-01", None, "from March until now"),
        ("after 7 May 2023", "2023-05-08", None, "after 7 May 2023"),
        ("before 2024", None, "2024-01-01", "before 2024"),
        ("until March", None, "2023-04-01", "until March"),
        ("prior to May 2023", None, "2023-05-01", "prior to May 2023"),
        ("between March and May", "2023-03-01", "2023-06-01", "between March and May"),
        ("between November and February", "2022-11-01", "2023-03-01", "between November and February"),
        (
            "between 7 May 2023 and 9 June 2023",
            "2023-05-07",
            "2023-06-10",
            "between 7 May 2023 and 9 June 2023",
        ),
        ("from May to July last year", "2022-05-01", "2022-08-01", "from May to July last year"),
        ("from May 2022 to July", "2022-05-01", "2022-08-01", "from May 2022 to July"),
        ("from last Monday to Friday", "2023-10-16", "2023-10-21", "from last Monday to Friday"),
        ("from 2020 to 2022", "2020-01-01", "2023-01-01", "from 2020 to 2022"),
        ("in 2020-2022", "2020-01-01", "2023-01-01", "in 2020-2022"),
        ("in March and April", "2023-03-01", "2023-05-01", "in March and April"),
        ("May 5-10, 2023", "2023-05-05", "2023-05-11", "May 5-10, 2023"),
        ("the week before 9 June 2023", "2023-06-02", "2023-06-09", "the week before 9 June 2023"),
        ("the month before June", "2023-05-01", "2023-06-01", "the month before June"),
        ("the day after 7 May 2023", "2023-05-08", "2023-05-09", "the day after 7 May 2023"),
        ("the Sunday before 25 May 2023", "2023-05-21", "2023-05-22", "the Sunday before 25 May 2023"),
        ("two weeks before August 11, 2023", "2023-07-25", "2023-08-01", "two weeks before August 11, 2023"),
        (
            "last weekend before April 10, 2023",
            "2023-04-08",
            "2023-04-10",
            "last weekend before April 10, 2023",
        ),
        # Chinese and Japanese
        ("上周我们聊了什么", "2023-10-09", "2023-10-16", "上周"),
        ("上个星期三", "2023-10-11", "2023-10-12", "上个星期三"),
        ("上周末去了哪里", "2023-10-14", "2023-10-16", "上周末"),
        ("上个月的计划", "2023-09-01", "2023-10-01", "上个月"),
        ("这个月", "2023-10-01", "2023-11-01", "这个月"),
        ("昨天说的", "2023-10-17", "2023-10-18", "昨天"),
        ("前天", "2023-10-16", "2023-10-17", "前天"),
        ("今天我们聊了什么", "2023-10-18", "2023-10-19", "今天"),
        ("去年", "2022-01-01", "2023-01-01", "去年"),
        ("前年", "2021-01-01", "2022-01-01", "前年"),
        ("今年三月", "2023-03-01", "2023-04-01", "今年三月"),
        ("去年夏天", "2022-06-01", "2022-09-01", "去年夏天"),
        ("去年下半年", "2022-07-01", "2023-01-01", "去年下半年"),
        ("去年年底", "2022-09-02", "2023-01-01", "去年年底"),
        ("2023年5月", "2023-05-01", "2023-06-01", "2023年5月"),
        ("二〇二三年五月七日", "2023-05-07", "2023-05-08", "二〇二三年五月七日"),
        ("5月7日", "2023-05-07", "2023-05-08", "5月7日"),
        ("十二月", "2022-12-01", "2023-01-01", "十二月"),
        ("三天前", "2023-10-15", "2023-10-16", "三天前"),
        ("两个星期前", "2023-10-01", "2023-10-08", "两个星期前"),
        ("半年前", "2023-04-01", "2023-05-01", "半年前"),
        ("几天前", "2023-10-13", "2023-10-18", "几天前"),
        ("最近一周", "2023-10-11", "2023-10-19", "最近一周"),
        ("过去三个月", "2023-07-18", "2023-10-19", "过去三个月"),
        ("三月以来", "2023-03-01", None, "三月以来"),
        ("2022年以前", None, "2022-01-01", "2022年以前"),
        ("从三月到五月", "2023-03-01", "2023-06-01", "从三月到五月"),
        ("从去年到现在", "2022-01-01", None, "从去年到现在"),
        ("先週の会議", "2023-10-09", "2023-10-16", "先週"),
    ],
)
def test_a_time_expression_names_its_stretch(
    query: str, since: str | None, until: str | None, text: str
) -> None:
    found = find(query, NOW)
    assert found is not None
    assert (_short(found.since), _short(found.until), found.text) == (since, until, text)
    assert query[found.start : found.end] == text


@pytest.mark.parametrize(
    "query",
    [
        "",
        "may I ask",
        "this may be wrong",
        "last may be best",
        "you may 2 people",
        "step 7 may fail",
        "the battery may last years",
        "they march in the street",
        "we march 5 miles",
        "March 15th issue of a magazine",
        "what did April say about June",
        "an august company",
        "wait a second",
        "the second half",
        "today I think it works",
        "今天我觉得不错",
        "at the last minute",
        "the last time we met",
        "my last week at the old job",
        "the last year of school",
        "for 3 days in a row",
        "how many days ago",
        "python 1.2.3",
        "upgrade to v4.1.2024",
        "release 2023.1.2",
        "10.0.0.2023",
        "in 1850",
        "in 2000 steps",
        "after 2000 people",
        "$2000 before 2000$",
        "the 2023 budget",
        "room 2023",
        "port 8080",
        "file-2023-05-07-v2.txt",
        "on 5/7/2023",
        "2023-13-45",
        "99999999 days ago",
        "next week",
        "tomorrow",
        "in two weeks",
        "this weekend",
        "watch tonight?",
        "12 monkeys 1995",
        "spring framework",
        "in the fall of Rome",
        "sun and sat",
        "目前天气如何",
        "过去年轻的时候",
        "三个月",
        "上周期",
        "这一天",
        "五月天的歌",
        "岛上月亮",
    ],
)
def test_other_words_are_no_time(query: str) -> None:
    assert find(query, NOW) is None


def test_the_first_expression_counts() -> None:
    found = find("what we said yesterday about the trip in May 2023", NOW)
    assert found is not None
    assert found.text == "yesterday"


def test_days_are_those_of_the_zone_of_now() -> None:
    now = datetime(2023, 10, 18, 1, 0, tzinfo=timezone(timedelta(hours=8)))
    found = find("yesterday", now)
    assert found == When(
        datetime(2023, 10, 16, 16, tzinfo=UTC), datetime(2023, 10, 17, 16, tzinfo=UTC), "yesterday", 0, 9
    )


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error(text: str) -> None:
    found = find(text, NOW)
    assert found is None or found.since is None or found.until is None or found.since < found.until


_WORDS = """
last this in on since before after and to from until between may march 7 2023 week month Monday two days ago
the of early yesterday 上 周 月 年 三 前 5 去 天 到 以来 - , ?
"""


@given(st.lists(st.sampled_from(_WORDS.split()), max_size=12).map(" ".join), st.booleans())
def test_any_mixture_of_time_words_gives_an_ordered_stretch_of_the_text(text: str, packed: bool) -> None:
    query = text.replace(" ", "") if packed else text
    found = find(query, NOW)
    if found:
        assert query[found.start : found.end] == found.text
        assert found.since is not None or found.until is not None
        if found.since is not None and found.until is not None:
            assert found.since < found.until


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2023-05-07", "2023-05-07", "2023-05-08"),
        ("20230507", "2023-05-07", "2023-05-08"),
        ("2023-05-07T13:56", "2023-05-07 13:56", "2023-05-07 13:56"),
        ("2023-05-07 13:56", "2023-05-07 13:56", "2023-05-07 13:56"),
        ("2023-05-07T13:56Z", "2023-05-07 13:56", "2023-05-07 13:56"),
        ("2023-05-07T13:56:00+02:00", "2023-05-07 11:56", "2023-05-07 11:56"),
        ("1:56 pm on 8 May, 2023", "2023-05-08 13:56", "2023-05-08 13:56"),
        ("12:09 am on 13 September, 2023", "2023-09-13 00:09", "2023-09-13 00:09"),
        ("8 May 2023 at 9am", "2023-05-08 09:00", "2023-05-08 09:00"),
        ("yesterday 18:30", "2023-10-17 18:30", "2023-10-17 18:30"),
        (" now ", "2023-10-18 15:30", "2023-10-18 15:30"),
        ("today", "2023-10-18", "2023-10-19"),
        ("tomorrow", "2023-10-19", "2023-10-20"),
        ("yesterday", "2023-10-17", "2023-10-18"),
        ("2 hours ago", "2023-10-18 13:30", "2023-10-18 13:30"),
        ("2 weeks ago", "2023-10-04", "2023-10-05"),
        ("三天前", "2023-10-15", "2023-10-16"),
        ("last month", "2023-09-01", "2023-10-01"),
        ("March", "2023-03-01", "2023-04-01"),
        ("May", "2023-05-01", "2023-06-01"),
        ("Monday", "2023-10-16", "2023-10-17"),
        ("2024", "2024-01-01", "2025-01-01"),
        ("2023年5月7日", "2023-05-07", "2023-05-08"),
        ("昨天", "2023-10-17", "2023-10-18"),
        ("7 mai 2023", "2023-05-07", "2023-05-08"),
        ("hace 2 días", "2023-10-16 15:30", "2023-10-16 15:30"),
    ],
)
def test_an_option_names_a_moment(text: str, start: str, end: str) -> None:
    assert _short(parse_moment(text, NOW)) == start
    assert _short(parse_moment(text, NOW, end=True)) == end


@pytest.mark.parametrize(
    "text",
    ["", "banana", "second", "may be", "12", "1234567890", "5/7/2023", "2023-13-45", "25:00 on 8 May 2023"]
    + ["13 pm on 8 May 2023", "since March", "before 2024", "0", "x" * 500, "a", "9999-99-99", "1.2.3"],
)
def test_what_names_no_moment_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(BadInput, match="no moment can be read from"):
        parse_moment(text, NOW)


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        ("1 ", None),
        ("may ", None),
        ("last ", None),
        ("2023-", None),
        ("一", None),
        ("年", None),
        ("7 maikisten 2023 ", None),
        ("two weeks before ", None),
        ("the the the week ", None),
        ("1:56 pm on ", None),
        ("in May ", "in May"),
        ("Monday to ", None),
    ],
)
def test_repetition_is_read_like_its_piece(piece: str, text: str | None) -> None:
    found = find(piece * (4000 // len(piece)), NOW)
    assert (found and found.text) == text
