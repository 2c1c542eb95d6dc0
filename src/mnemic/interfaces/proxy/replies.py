"""Reads a copy of what a model answers, as it passes: what was said, whether it came to its end, and its id.

Whatever it is, it may be torn, malformed or of an unknown kind: then less is remembered, and nothing is disturbed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Api = Literal["chat", "responses", "messages"]
LIMIT = 16_000_000
"""Bytes of one answer, or of one event, above which it is not read."""


@dataclass(slots=True)
class Reply:
    """What was read of one answer so far."""

    api: Api
    streamed: bool
    said: list[Any] = field(default_factory=list)
    """Messages or items, as a client would send them back."""
    whole: bool = False
    """Whether it came to its end."""
    id: str = ""
    why: str = ""
    """Why it was not read to its end, if so."""
    _rest: bytearray = field(default_factory=bytearray)
    _data: list[str] = field(default_factory=list)
    _size: int = 0
    _parts: dict[int, dict[str, Any]] = field(default_factory=dict)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._size += len(chunk)
        if self.why:
            return
        if self._size > LIMIT:
            self.why = f"the answer is larger than {LIMIT:,} bytes"
            self._rest.clear()
            return
        self._rest += chunk
        if self.streamed:
            for event in self._events():
                self._take(event)

    def end(self) -> None:
        """The bytes are over."""
        if self.why:
            return
        if not self.streamed:
            try:
                body = json.loads(bytes(self._rest))
            except (ValueError, RecursionError):
                self.why = "the answer is not JSON"
                return
            self.whole = isinstance(body, dict) and self._body(body)
        elif self.api != "responses":
            self.said = self._joined()
        if not self.whole:
            self.why = self.why or "the answer did not come to its end"

    # a body

    def _body(self, body: dict[str, Any]) -> bool:
        self.id = _text(body.get("id"))
        if self.api == "chat":
            choices = body.get("choices")
            first = choices[0] if isinstance(choices, list) and choices else None
            message = first.get("message") if isinstance(first, dict) else None
            self.said = [message] if isinstance(message, dict) else []
        elif self.api == "messages":
            self.said = [{"role": "assistant", "content": body["content"]}] if isinstance(body.get("content"), list) else []
        else:
            output = body.get("output")
            self.said = output if isinstance(output, list) else []
        return bool(self.said)

    # a stream of events (https://html.spec.whatwg.org/multipage/server-sent-events.html)

    def _events(self) -> Iterator[dict[str, Any]]:
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].decode("utf-8", "replace").removeprefix(" "))
            elif not line and self._data:
                data, self._data = "\n".join(self._data), []
                if data == "[DONE]":
                    self.whole = self.api == "chat" or self.whole
                    continue
                try:
                    event = json.loads(data)
                except (ValueError, RecursionError):
                    continue
                if isinstance(event, dict):
                    yield event

    def _take(self, event: dict[str, Any]) -> None:
        if self.api == "chat":
            self._chunk(event)
        elif self.api == "messages":
            self._block(event)
        elif event.get("type") in ("response.completed", "response.incomplete"):
            self.whole = isinstance(event.get("response"), dict) and self._body(event["response"])
        elif event.get("type") == "response.output_item.done" and isinstance(event.get("item"), dict):
            self.said.append(event["item"])

    def _chunk(self, event: dict[str, Any]) -> None:
        """OpenAI chat: pieces of text, and of calls by their place."""
        self.id = self.id or _text(event.get("id"))
        for choice in event.get("choices") or ():
            if not isinstance(choice, dict) or choice.get("index"):
                continue
            delta = choice.get("delta") or {}
            text = self._parts.setdefault(-1, {"texts": []})
            text["texts"] += [delta[name] for name in ("content", "refusal") if isinstance(delta.get(name), str)]
            for call in delta.get("tool_calls") or ():
                part = self._parts.setdefault(int(call.get("index") or 0), {"id": "", "name": "", "texts": []})
                function = call.get("function") or {}
                part["id"] += _text(call.get("id"))
                part["name"] += _text(function.get("name"))
                part["texts"].append(_text(function.get("arguments")))
            self.whole = self.whole or bool(choice.get("finish_reason"))

    def _block(self, event: dict[str, Any]) -> None:
        """Anthropic: blocks with a place, each begun, continued and ended."""
        kind = event.get("type")
        if kind == "message_start":
            self.id = _text((event.get("message") or {}).get("id"))
        elif kind == "message_stop":
            self.whole = True
        elif kind == "content_block_start":
            block = event.get("content_block") or {}
            self._parts[int(event.get("index") or 0)] = {**block, "texts": [_text(block.get("text"))]}
        elif kind == "content_block_delta":
            delta = event.get("delta") or {}
            part = self._parts.setdefault(int(event.get("index") or 0), {"type": "text", "texts": []})
            part["texts"].append(_text(delta.get("text")) or _text(delta.get("partial_json")))

    def _joined(self) -> list[Any]:
        """The message of the pieces."""
        if self.api == "messages":
            blocks = [_whole_block(self._parts[place]) for place in sorted(self._parts)]
            return [{"role": "assistant", "content": blocks}] if blocks else []
        text = "".join(self._parts.pop(-1, {"texts": ()})["texts"])
        calls = [
            {"id": part["id"], "type": "function", "function": {"name": part["name"], "arguments": "".join(part["texts"])}}
            for _, part in sorted(self._parts.items())
        ]
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        return [{**message, "tool_calls": calls} if calls else message] if text or calls else []


def _whole_block(part: dict[str, Any]) -> dict[str, Any]:
    text = "".join(part["texts"])
    if part.get("type") == "tool_use":
        return {"type": "tool_use", "id": part.get("id"), "name": part.get("name"), "input": text}
    return {"type": "text", "text": text} if part.get("type") == "text" else {"type": part.get("type")}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
