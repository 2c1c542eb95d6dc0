"""A Slack export: a folder or archive with users.json, channels.json and a folder of days for each channel.

A day of a channel is a conversation, and so is each thread, whichever days it goes on. People are users under their
names, bots are assistants. Joining, leaving and the like are left out.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mnemic.interfaces.importers.files import File, Source
from mnemic.interfaces.importers.items import Conversation, Item, Skipped
from mnemic.interfaces.importers.records import read
from mnemic.interfaces.importers.values import moment, rows, table, text, word
from mnemic.models.document import Turn

MOST_LIST = 64 << 20
"""Bytes of users.json."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SPOKEN = {"", "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment", "reply_broadcast"}
_LINK = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")


def slack(source: Source) -> Iterator[Item]:
    """All channels, each day by day."""
    names = dict[str, str]()
    for file in source.files:
        if file.path.name == "users.json":
            try:
                names = _names(json.loads(file.text(MOST_LIST)))
            except (OSError, ValueError, RecursionError) as error:
                yield Skipped(file.name, f"it cannot be read ({error}): people stand under their ids")
    days = [file for file in source.named(".json") if _DAY.fullmatch(file.path.stem) and len(file.path.parts) > 1]
    if not days:
        yield Skipped(source.name, "it holds no channel with days, such as general/2026-03-10.json")
    for file in days:
        yield from _day(file, names)


def _names(users: Any) -> dict[str, str]:
    found = {}
    for user in rows(users):
        profile = table(user.get("profile"))
        known = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
        found[word(user.get("id"))] = next((text(name) for name in known if text(name).strip()), "")
    return {key: name for key, name in found.items() if key and name}


def _day(file: File, names: Mapping[str, str]) -> Iterator[Item]:
    channel, day = file.path.parts[-2], file.path.stem
    threads: dict[str, list[tuple[float, Turn]]] = {}
    left_out = 0
    for record in read(file):
        if isinstance(record, Skipped):
            yield record
            continue
        row = record.value
        if not isinstance(row, dict) or "type" not in row and "ts" not in row:
            yield Skipped(record.where, "it is no message")
            continue
        turn = _turn(row, names)
        if turn is None:
            left_out += 1
            continue
        threads.setdefault(word(row.get("thread_ts")), []).append((_order(row), turn))
    for thread, said in sorted(threads.items()):
        name = f"slack-{channel}-thread-{thread}" if thread else f"slack-{channel}-{day}"
        turns = [turn for _, turn in sorted(said, key=lambda item: item[0])]
        yield Conversation(where=file.name, session=name, turns=turns, title=f"#{channel}", context=channel,
                           at=moment(thread) or moment(day), left_out=0 if thread else left_out)  # fmt: skip


def _order(row: Mapping[str, Any]) -> float:
    try:
        return float(row.get("ts") or 0)
    except (TypeError, ValueError):
        return 0.0


def _turn(row: Mapping[str, Any], names: Mapping[str, str]) -> Turn | None:
    bot = row.get("subtype") == "bot_message" or bool(row.get("bot_id"))
    body = _plain(text(row.get("text")), names) or _plain(_of_blocks(row.get("blocks")), names)
    more = [_plain(text(item.get("text")) or text(item.get("fallback")), names) for item in rows(row.get("attachments"))]
    more += [f"[file {text(item.get('name')) or text(item.get('title'))}]" for item in rows(row.get("files"))]
    body = "\n\n".join(part for part in (body, *more) if part.strip())
    if text(row.get("subtype")) not in _SPOKEN or not body:
        return None
    return Turn("assistant" if bot else "user", body, _speaker(row, names), moment(row.get("ts")))


def _speaker(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    user = word(row.get("user")) or word(row.get("bot_id"))
    profile = table(row.get("user_profile"))
    known = (names.get(user), profile.get("display_name"), profile.get("real_name"), row.get("username"))
    return next((text(name) for name in known if text(name).strip()), user)


def _of_blocks(blocks: Any) -> str:
    """The words of rich text, for messages that have no text beside it."""
    found, stack = [], list(rows(blocks))[::-1]
    while stack:
        item = stack.pop()
        found.append(text(item.get("text")) or (f"<@{word(item['user_id'])}>" if "user_id" in item else ""))
        inner = item.get("text") if isinstance(item.get("text"), dict) else None
        stack += list(rows(item.get("elements")))[::-1] + ([inner] if inner else [])
    return "".join(found)


def _plain(body: str, names: Mapping[str, str]) -> str:
    def named(match: re.Match[str]) -> str:
        sign, target, label = match[1], match[2], match[3]
        if sign == "@":
            return "@" + (label or names.get(target) or target)
        if sign:
            return sign.replace("!", "@") + (label or target)
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_LINK.sub(named, body)).strip()
