"""The exports of chat services and the common files of conversations: ChatGPT, Claude, Gemini, OpenAI JSONL, ShareGPT.

Kept are the words of the user and of the assistant. Tool calls, what tools answered, reasoning and instructions are
left out and counted; an image or a file without text is named where it stood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

from mnemic.clock import iso
from mnemic.interfaces.importers.branches import Node, branches
from mnemic.interfaces.importers.files import File, Source
from mnemic.interfaces.importers.items import Conversation, Item, Page, Skipped
from mnemic.interfaces.importers.records import Record, read
from mnemic.interfaces.importers.values import moment, parts, rows, said, table, text, word
from mnemic.models.document import Turn

BRANCH_CHARS = 12
Reader = Callable[[Record], Iterator[Item]]


class _Strange(Exception):
    """A record that is JSON and not of its format's shape."""


def _read(file: File, reader: Reader) -> Iterator[Item]:
    """Every record of a file through a reader; what is broken is named and passed over."""
    for record in read(file):
        if isinstance(record, Skipped):
            yield record
            continue
        try:
            yield from list(reader(record))
        except _Strange as error:
            yield Skipped(record.where, str(error))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            yield Skipped(record.where, f"it is not of the expected shape ({type(error).__name__}: {error})")


def _must(condition: object, what: str) -> None:
    if not condition:
        raise _Strange(what)


# ChatGPT: conversations.json, or conversations-000.json and so on


def chatgpt(source: Source) -> Iterator[Item]:
    """Conversations with their trees of messages."""
    files = [file for file in source.named(".json") if source.single or file.path.name.startswith("conversations")]
    if not files:
        yield Skipped(source.name, "it holds no conversations.json or conversations-000.json")
    for file in files:
        yield from _read(file, _chatgpt)


def _chatgpt(record: Record) -> Iterator[Item]:
    row = record.value
    _must(isinstance(row, dict) and isinstance(row.get("mapping"), dict), "it has no 'mapping' of messages")
    name = word(row.get("conversation_id")) or word(row.get("id"))
    nodes, left_out = dict[str, Node](), 0
    for key, item in row["mapping"].items():
        turns, dropped = _chatgpt_turns(table(item).get("message"))
        left_out += dropped
        nodes[key] = Node(key, word(table(item).get("parent")) or None, turns)
    yield from _tree(record, "chatgpt", name, nodes, word(row.get("current_node")), text(row.get("title")),
                     moment(row.get("create_time")), left_out)  # fmt: skip


def _chatgpt_turns(message: Any) -> tuple[list[Turn], int]:
    if not isinstance(message, dict):
        return [], 0
    content, role = table(message.get("content")), table(message.get("author")).get("role")
    hidden = table(message.get("metadata")).get("is_visually_hidden_from_conversation")
    body = _chatgpt_text(content)
    if role not in ("user", "assistant") or hidden or message.get("recipient") not in (None, "all") or body is None:
        return [], int(role != "system" and bool(body))
    return said(role, body, moment(message.get("create_time"))), 0


def _chatgpt_text(content: dict[str, Any]) -> str | None:
    """The words of a message; None for what nobody said, such as reasoning and custom instructions."""
    kind = content.get("content_type")
    if kind in ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context", "system_error"):
        return None
    if kind == "multimodal_text":
        named = [{**part, "type": "image"} if "image" in text(part.get("content_type")) else part
                 for part in rows(content.get("parts"))]  # fmt: skip
        spoken = [part for part in content.get("parts") or () if isinstance(part, str)]
        return parts([*named, *spoken])
    return parts(content.get("parts")) or text(content.get("text")) or text(content.get("result"))


def _tree(
    record: Record, service: str, name: str, nodes: dict[str, Node], current: str | None, title: str, at: int | None,
    left_out: int,
) -> Iterator[Item]:  # fmt: skip
    _must(name, "it has no id")
    for branch, turns in branches(nodes, current):
        tail = f"-branch-{re.sub('[^A-Za-z0-9]', '', branch)[:BRANCH_CHARS].lower()}" if branch else ""
        yield Conversation(where=record.where, session=f"{service}-{name}{tail}", turns=turns, title=title, at=at,
                           left_out=0 if branch else left_out)  # fmt: skip


# Claude: conversations.json, projects.json or projects/*.json, memories.json


def claude(source: Source) -> Iterator[Item]:
    """What Claude remembered first, then projects, then conversations."""
    files = source.named(".json")
    if source.single:
        yield from _read(source.files[0], _claude)
        return
    order = {"memories": 0, "projects": 1, "conversations": 2}
    chosen = [(order[kind], file.name, file) for file in files if (kind := _claude_kind(file)) in order]
    if not chosen:
        yield Skipped(source.name, "it holds no conversations.json")
    for _, _, file in sorted(chosen, key=lambda item: item[:2]):
        yield from _read(file, _claude)


def _claude_kind(file: File) -> str:
    """What a file of the export holds, by its name or folder; shards have a number behind it."""
    stem = re.sub(r"[-_]?\d+\Z", "", file.path.stem)
    return "projects" if "projects" in file.path.parts[:-1] else stem


def _claude(record: Record) -> Iterator[Item]:
    row = record.value
    _must(isinstance(row, dict), "it is no object")
    if "conversations_memory" in row or "project_memories" in row:
        yield from _claude_memories(record)
    elif "docs" in row or "prompt_template" in row:
        yield from _claude_project(record)
    else:
        yield from _claude_chat(record)


def _claude_memories(record: Record) -> Iterator[Item]:
    row = record.value
    whole = text(row.get("conversations_memory"))
    kept = [("Claude's memory", "", whole)] if whole.strip() else []
    own = table(row.get("project_memories"))
    kept += [("Claude's memory of a project", key, text(body)) for key, body in own.items() if text(body).strip()]
    for title, key, body in kept:
        account = word(row.get("account_uuid"))
        yield Page(where=record.where, text=body, title=title, source=f"claude:memory:{account}:{key}")


def _claude_project(record: Record) -> Iterator[Item]:
    row = record.value
    name, at = text(row.get("name")), moment(row.get("created_at"))
    pages = [("description", text(row.get("description"))), ("instructions", text(row.get("prompt_template")))]
    for what, body in pages:
        if body.strip():
            yield Page(where=record.where, text=body, title=f"{name}: {what}", at=at, context=name,
                       source=f"claude:project:{word(row.get('uuid'))}:{what}")  # fmt: skip
    for document in rows(row.get("docs")):
        key = word(document.get("uuid")) or text(document.get("filename"))
        if body := text(document.get("content")):
            yield Page(where=record.where, text=body, title=text(document.get("filename")), kind="file", context=name,
                       at=moment(document.get("created_at")) or at, source=f"claude:document:{key}")  # fmt: skip


def _claude_chat(record: Record) -> Iterator[Item]:
    row = record.value
    _must(isinstance(row.get("chat_messages"), list), "it has no 'chat_messages'")
    nodes, before, left_out = dict[str, Node](), None, 0
    for number, message in enumerate(row["chat_messages"]):
        if not isinstance(message, dict):
            yield Skipped(f"{record.where}, message {number + 1}", "it is no object")
            continue
        key = word(message.get("uuid")) or str(number)
        turns = _claude_turns(message)
        left_out += not turns
        # Without a tree the messages follow one another. A parent that is not there is the root.
        parent = word(message.get("parent_message_uuid")) if "parent_message_uuid" in message else before
        nodes[key] = Node(key, parent or None, turns)
        before = key
    yield from _tree(record, "claude", word(row.get("uuid")), nodes, word(row.get("current_leaf_message_uuid")) or before,
                     text(row.get("name")), moment(row.get("created_at")), left_out)  # fmt: skip


def _claude_turns(message: dict[str, Any]) -> list[Turn]:
    role = {"human": "user", "user": "user", "assistant": "assistant"}.get(text(message.get("sender")))
    if role is None:
        raise _Strange(f"a message has the sender {message.get('sender')!r}: human or assistant was expected")
    body = [parts(message.get("content"), marks=False).strip() or text(message.get("text"))]
    attached = set[str]()
    for item in rows(message.get("attachments")):
        name, content = text(item.get("file_name")), text(item.get("extracted_content"))
        attached.add(name)
        body.append(f"[attachment {name}]\n{content}".strip())
    files = [text(item.get("file_name")) for item in (*rows(message.get("files")), *rows(message.get("files_v2")))]
    body += [f"[file {name}]" for name in dict.fromkeys(files) if name and name not in attached]
    return said(role, "\n\n".join(item for item in body if item.strip()), moment(message.get("created_at")))


# OpenAI chat JSONL and ShareGPT


def openai_jsonl(source: Source) -> Iterator[Item]:
    """One `{"messages": [...]}` a line. It has no id and no times: a conversation is known by its words."""
    for file in source.named(".jsonl", ".json", ".ndjson"):
        yield from _read(file, _openai)


def _openai(record: Record) -> Iterator[Item]:
    row = record.value
    _must(isinstance(row, dict) and isinstance(row.get("messages"), list), "it has no 'messages'")
    turns, left_out = list[Turn](), 0
    for message in rows(row["messages"]):
        body = parts(message.get("content"))
        role = text(message.get("role"))
        kept = role in ("user", "assistant", "tool", "function") and body.strip()
        left_out += not kept
        at = moment(message.get("created_at") or message.get("timestamp"))
        turns += said(role, body, at, text(message.get("name"))) if kept else []
    yield Conversation(where=record.where, session="", turns=turns, left_out=left_out, title=text(row.get("title")),
                       at=moment(row.get("created_at") or row.get("created")))  # fmt: skip


_SHAREGPT = {"human": "user", "user": "user", "gpt": "assistant", "chatgpt": "assistant", "assistant": "assistant",
             "bing": "assistant", "bard": "assistant", "model": "assistant", "tool": "tool", "function": "tool",
             "observation": "tool", "function_response": "tool"}  # fmt: skip


def sharegpt(source: Source) -> Iterator[Item]:
    """`[{"id", "conversations": [{"from", "value"}]}]`, as one array or as lines."""
    for file in source.named(".json", ".jsonl", ".ndjson"):
        yield from _read(file, _sharegpt)


def _sharegpt(record: Record) -> Iterator[Item]:
    row = record.value
    _must(isinstance(row, dict) and isinstance(row.get("conversations"), list), "it has no 'conversations'")
    turns, left_out = list[Turn](), 0
    for message in rows(row["conversations"]):
        role = _SHAREGPT.get(text(message.get("from")).lower())
        kept = said(role, text(message.get("value")), None) if role else []
        turns += kept
        left_out += not kept
    name = word(row.get("id"))
    yield Conversation(where=record.where, session=f"sharegpt-{name}" if name else "", turns=turns, left_out=left_out)


# Gemini: Takeout's MyActivity.json, Gemini CLI's sessions, AI Studio's prompts


def gemini(source: Source) -> Iterator[Item]:
    """Google Takeout's activity (of no conversation, so by days), Gemini CLI's sessions and AI Studio's prompts."""
    for file in source.files:
        if file.path.suffix.lower() == ".html":
            yield Skipped(file.name, "it is HTML: order the export as JSON in Google Takeout", broken=False)
        elif file.path.suffix.lower() == ".json" or source.single:
            yield from _days(_read(file, _gemini))


def _gemini(record: Record) -> Iterator[Item]:
    row = record.value
    _must(isinstance(row, dict), "it is no object")
    if isinstance(row.get("messages"), list):
        yield from _gemini_cli(record)
    elif isinstance(row.get("chunkedPrompt"), dict):
        chunks = list(rows(row["chunkedPrompt"].get("chunks")))
        turns = [turn for chunk in chunks if not chunk.get("isThought")
                 for turn in said("assistant" if chunk.get("role") == "model" else "user", text(chunk.get("text")),
                                  moment(chunk.get("createTime")))]  # fmt: skip
        yield Conversation(where=record.where, session="", turns=turns, left_out=len(chunks) - len(turns))
    else:
        yield from _takeout(record)


def _gemini_cli(record: Record) -> Iterator[Item]:
    row = record.value
    _must(word(row.get("sessionId")), "it has no 'sessionId'")
    messages = list(rows(row["messages"]))
    turns = [
        turn for message in messages if (role := {"user": "user", "gemini": "assistant"}.get(text(message.get("type"))))
        for turn in said(role, parts(message.get("content")), moment(message.get("timestamp")))
    ]  # fmt: skip
    yield Conversation(where=record.where, session=f"gemini-{word(row['sessionId'])}", turns=turns,
                       at=moment(row.get("startTime")), left_out=len(messages) - len(turns))  # fmt: skip


def _takeout(record: Record) -> Iterator[Item]:
    row = record.value
    answer = "\n\n".join(filter(None, (_plain(text(item.get("html"))) for item in rows(row.get("safeHtmlItem")))))
    title = text(row.get("title"))
    _must("header" in row or "title" in row or "time" in row, "it is no entry of an activity")
    asked = title.removeprefix("Prompted ")
    if not answer and asked == title:
        yield Skipped(record.where, f"it is no prompt: {title[:60]!r}", broken=False)
        return
    at = moment(row.get("time"))
    day = (iso(at) or "undated")[:10]
    turns = [*said("user", asked, at), *said("assistant", answer, at)]
    yield Conversation(where=record.where, session=f"gemini-{day}", turns=turns, at=at)


def _days(items: Iterator[Item]) -> Iterator[Item]:
    """Takeout begins with the newest: the entries of a day are turned round."""
    day: list[Conversation] = []
    for item in items:
        same = isinstance(item, Conversation) and bool(day) and item.session == day[0].session
        if day and not same and isinstance(item, Conversation):
            yield _one_day(day)
            day = []
        if isinstance(item, Conversation) and re.fullmatch(r"gemini-(\d{4}-\d\d-\d\d|undated)", item.session):
            day.append(item)
        else:
            yield item
    if day:
        yield _one_day(day)


def _one_day(day: list[Conversation]) -> Conversation:
    ordered = sorted(reversed(day), key=lambda item: item.at or 0)
    return Conversation(where=day[0].where, session=day[0].session, at=ordered[0].at,
                        turns=[turn for item in ordered for turn in item.turns])  # fmt: skip


class _Plain(HTMLParser):
    """The text of a piece of HTML; blocks become lines."""

    BLOCKS = {"p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table", "ul", "ol", "blockquote"}

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.dead = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.dead += tag in ("script", "style")
        if tag in self.BLOCKS:
            self.found.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        self.dead -= tag in ("script", "style") and self.dead > 0
        if tag in self.BLOCKS - {"br", "li"}:
            self.found.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.dead:
            self.found.append(data)


def _plain(html: str) -> str:
    parser = _Plain()
    parser.feed(html)
    parser.close()
    lines = (line.strip() for line in "".join(parser.found).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
