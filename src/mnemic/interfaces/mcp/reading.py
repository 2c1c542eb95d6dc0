"""What a client can read without a tool: resources by their URI, and prompts that a person picks from a menu.

The lists are fixed, so that showing a menu opens no home; every path of memory is reached by the template.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mnemic.errors import BadInput, NotFound
from mnemic.text import frame as frames

if TYPE_CHECKING:
    from mnemic.interfaces.tokens import Grant
    from mnemic.memory import Memory

SCHEME = "mnemic://"
AT = SCHEME + "at"
MOST_CHARS = 40_000
"""Of a resource; what is longer is read on with the tool `open`."""
RESOURCES: tuple[Mapping[str, Any], ...] = (
    {"uri": SCHEME + "profile", "name": "profile", "title": "Who the user is", "mime_type": "text/plain",
     "description": "What is known about the user, as the block that goes into a prompt."},
    {"uri": SCHEME + "skill", "name": "skill", "title": "How to keep memory", "mime_type": "text/markdown",
     "description": "The text that teaches an agent to keep memory with mnemic."},
    {"uri": SCHEME + "status", "name": "status", "title": "State of memory", "mime_type": "application/json",
     "description": "How much is stored, and how it is remembered."},
)  # fmt: skip
TEMPLATES: tuple[Mapping[str, Any], ...] = (
    {"uri_template": AT + "{+path}", "name": "memory", "title": "A memory by its path", "mime_type": "text/plain",
     "description": "One memory with its text, e.g. mnemic://at/notes/window-seat; paths are those of recall and browse."},
)  # fmt: skip
PROMPTS: tuple[Mapping[str, Any], ...] = (
    {"name": "memory_skill", "title": "Keep memory", "description": "Teach the assistant to keep long-term memory well."},
    {"name": "memory_recall", "title": "Recall", "description": "Put what memory holds on a question into the conversation.",
     "arguments": [{"name": "query", "description": "The question.", "required": True}]},
    {"name": "memory_profile", "title": "Who I am", "description": "Put what is known about the user into the conversation."},
)  # fmt: skip
VERBS = (
    ("mnemic diary add", "diary"), ("mnemic diary list --pending", "diary_entries"), ("mnemic diary list", "diary_entries"),
    ("mnemic experience recall", "recall_experience"), ("mnemic experience report", "report"),
    ("mnemic experience refine", "record_experience"), ("mnemic experience revise", "revise"),
    ("mnemic experience list", "recall_experience"), ("mnemic extract", "extract"), ("mnemic profile", "profile"),
    ("mnemic tree", "browse"), ("mnemic recall", "recall"), ("mnemic show", "open"), ("mnemic card list", "cards"),
    ("mnemic wiki list", "wiki"), ("mnemic dream work next", "work_next"), ("mnemic window work next", "work_next"),
    ("mnemic dream", "dream"),
    ("mnemic skill", "the prompt memory_skill"),
)  # fmt: skip
"""What the command line calls what a tool does here."""
OVER_MCP = "# Over MCP\n\nWhere this text names a command, call the tool instead, with the same fields as JSON:\n\n"


def over_mcp(message: str) -> str:
    """A message that sends its reader to the command line, sent to the tools where one does the same."""
    for verb, tool in VERBS:
        message = message.replace(f"`{verb}`", f"`{tool}`")
    return message


def resource(memory: Callable[[], Memory], uri: str, grant: Grant) -> tuple[str, str]:
    """The media type and the text of a resource, for a token. Raises NotFound, and what opening the home raises."""
    if uri == SCHEME + "profile":
        return "text/plain", memory().profile().frame
    if uri == SCHEME + "skill":
        return "text/markdown", skill()
    if uri == SCHEME + "status":
        return "application/json", json.dumps(grant.walled(memory().status()), ensure_ascii=False)
    if not uri.startswith(AT + "/"):
        raise NotFound(f"there is no resource {uri!r}: read {AT}/… with a path that `recall` or `browse` shows")
    opened = memory()
    page = opened.show(unquote(uri.removeprefix(AT)), channel="agent")
    text = page["text"]
    shown = text if len(text) <= MOST_CHARS else text[:MOST_CHARS] + "…"
    item = frames.Item(page["path"], shown, page["created_at"] or "", page["origin"], page["title"], page["kind"])
    return "text/plain", frames.render([item], opened.ids.token(8))


def prompt(memory: Callable[[], Memory], name: str, arguments: Mapping[str, str]) -> str:
    """What a prompt puts into the conversation. Raises BadInput, and what opening the home raises."""
    if name == "memory_skill":
        return skill()
    if name == "memory_profile":
        return memory().profile().frame or "Nothing is known about me yet."
    if name == "memory_recall":
        if not arguments.get("query", "").strip():
            raise BadInput("'query' is missing: say what to recall")
        found = memory().recall(arguments["query"], frame=True)
        return found.frame or f"Memory holds nothing on this: {found.reason}"
    raise BadInput(f"there is no prompt {name!r}: use {', '.join(row['name'] for row in PROMPTS)}")


def skill() -> str:
    """The skill, with the tool that stands for each command."""
    from mnemic.knowledge.skill import text

    rows = [f"- `{verb}` → {tool if ' ' in tool else f'`{tool}`'}" for verb, tool in VERBS if verb != "mnemic skill"]
    return f"{text()}\n{OVER_MCP}" + "\n".join(rows) + "\n"
