"""Language models for the real command lines of Claude Code and Codex: loopback servers that say what a test scripts."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def command(folder: Path) -> Path:
    """A `mnemic` that runs this source tree, whatever environment a host gives it; its folder belongs on the PATH."""
    script = folder / "bin" / "mnemic"
    script.parent.mkdir()
    code = f"import sys\nsys.path[:0] = {sys.path!r}\nfrom mnemic.interfaces.cli import main\nmain()\n"
    script.write_text(f"#!{sys.executable}\n{code}", "utf-8")
    script.chmod(0o755)
    return script


@contextmanager
def model(answered: Callable[[str, dict[str, Any]], bytes | None]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The base URL of a server, and the requests it was sent; `answered` gives the stream for a path."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            asked.append({"path": self.path, **body})
            stream = answered(self.path, body)
            self.send_response(404 if stream is None else 200)
            self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
            self.send_header("Content-Length", str(len(stream or b"{}")))
            self.end_headers()
            self.wfile.write(stream or b"{}")

        def do_GET(self) -> None:
            self.send_response(404)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def events(*rows: dict[str, Any]) -> bytes:
    """Server-sent events, each named by its type."""
    return b"".join(f"event: {row['type']}\ndata: {json.dumps(row)}\n\n".encode() for row in rows)


def messages_stream(block: dict[str, Any], model_name: str) -> bytes:
    """An answer of Anthropic's Messages API."""
    if "text" in block:
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start = {"type": "tool_use", "id": f"toolu_{abs(hash(json.dumps(block)))}", "name": block["tool"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model_name, "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}  # fmt: skip
    reason = "end_turn" if "text" in block else "tool_use"
    return events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )


def responses_stream(block: dict[str, Any]) -> bytes:
    """An answer of OpenAI's Responses API."""
    if "text" in block:
        item: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                                "content": [{"type": "output_text", "text": block["text"], "annotations": []}]}  # fmt: skip
    else:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": block["tool"],
                "arguments": json.dumps(block["input"]), "status": "completed",
                **({"namespace": block["namespace"]} if "namespace" in block else {})}  # fmt: skip
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}  # fmt: skip
    response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return events(
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    )
