"""What travels as a file, and what takes long: backups, exports, imports."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.interfaces.rest import app
from tests.interfaces.mcp.clients import home
from tests.interfaces.rest.clients import PAST, Client

NOTE = "Ada prefers the window seat."
CHAT = {"messages": [{"role": "user", "content": "I moved to Porto."}, {"role": "assistant", "content": "Noted."}]}
LINES = json.dumps(CHAT).encode() + b"\n"
FILE_TYPE = {"content-type": "application/octet-stream"}
FILE = {**PAST, **FILE_TYPE}
WATCHED = {"accept": "text/event-stream"}


def told(text: str) -> list[tuple[str, Any]]:
    """The events of a stream."""
    rows = [block.split("\n") for block in text.split("\n\n") if block and not block.startswith(":")]
    return [(event.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for event, data in rows]


def test_a_backup_is_made_listed_fetched_restored_and_deleted(client: Client, memory: Memory, tmp_path: Path) -> None:
    memory.remember(NOTE)
    events = told(client.ask("POST", "/api/v1/backups", headers={**PAST, **WATCHED}, json={}).text)
    assert [data["done"] for event, data in events if event == "progress"] == ["databases", "vault", "vaults"]
    name = events[-1][1]["name"]
    assert [row["name"] for row in client.get("/backups")["items"]] == [name]
    found = client.ask("GET", f"/api/v1/backups/{name}")
    assert (found.headers["content-type"], found.headers["content-disposition"]) == (
        "application/zip", f'attachment; filename="{name}"',
    )  # fmt: skip
    assert stat.S_IMODE((tmp_path / "home/backups" / name).stat().st_mode) == 0o600
    (tmp_path / "b.zip").write_bytes(found.content)
    with home(tmp_path / "other") as other:
        other.restore(tmp_path / "b.zip")
    with home(tmp_path / "other") as other:
        assert [hit.text for hit in other.recall("window seat").hits] == [NOTE]
    assert client.ask("DELETE", f"/api/v1/backups/{name}").json() == {"name": name, "deleted": True}
    assert client.ask("GET", f"/api/v1/backups/{name}").status_code == 404


def test_an_export_comes_back_through_an_import(client: Client, memory: Memory, tmp_path: Path) -> None:
    memory.remember(NOTE)
    name = client.post("/exports")["name"]
    packed = client.ask("GET", f"/api/v1/exports/{name}").content
    with home(tmp_path / "other") as other:
        taken = Client(other).ask("POST", "/api/v1/import/mnemic", headers=FILE, content=packed)
        assert taken.status_code == 200 and taken.json()["stored"]
        assert other.verify().ok and other.ledger() == memory.ledger()
    assert client.ask("DELETE", f"/api/v1/exports/{name}").status_code == 200
    assert client.get("/exports")["items"] == []


def test_an_export_is_not_for_another_namespace_nor_for_a_token_of_one(client: Client, memory: Memory) -> None:
    memory.remember(NOTE)
    name = client.post("/exports")["name"]
    elsewhere = {**PAST, "mnemic-namespace": "work"}
    assert client.ask("GET", f"/api/v1/exports/{name}", headers=elsewhere).status_code == 404
    assert client.ask("DELETE", f"/api/v1/exports/{name}", headers=elsewhere).status_code == 404
    assert client.ask("GET", "/api/v1/exports", headers=elsewhere).json()["items"] == []
    bound = client.granted("read", "write", namespaces=("default",))  # it holds the key of the whole home
    assert client.ask("GET", f"/api/v1/exports/{name}", headers=bound).status_code == 403
    assert client.ask("POST", "/api/v1/import/mnemic", headers={**bound, **FILE_TYPE}, content=b"x").status_code == 403


@pytest.mark.parametrize(
    "name", ["..%2Fmemory.db", "%2Fetc%2Fpasswd", "memory.db", "..", "x.zip", "20260310T120000-00000000.zip"]
)
def test_nothing_but_what_was_made_for_it_is_fetched_or_deleted(client: Client, tmp_path: Path, name: str) -> None:
    for kind in ("backups", "exports"):
        for method in ("GET", "DELETE"):
            assert client.ask(method, f"/api/v1/{kind}/{name}").status_code in (404, 405)
    assert (tmp_path / "home/memory.db").exists()


def test_an_import_is_a_body_and_repeating_it_adds_nothing(client: Client, memory: Memory, tmp_path: Path) -> None:
    dry = client.ask("POST", "/api/v1/import/openai-jsonl?dry_run=true", headers=FILE, content=LINES).json()
    assert (dry["conversations"], dry["stored"], memory.status()["messages"]) == (1, 0, 0)
    first = client.ask("POST", "/api/v1/import/openai-jsonl", headers=FILE, content=LINES).json()
    again = client.ask("POST", "/api/v1/import/openai-jsonl", headers=FILE, content=LINES).json()
    assert (first["stored"], again["stored"], again["duplicate"]) == (1, 0, 1)
    assert not [path.name for path in (tmp_path / "home").iterdir() if path.name.startswith(".upload")]


def test_an_import_tells_how_far_it_is(client: Client, tmp_path: Path) -> None:
    answer = client.ask("POST", "/api/v1/import/openai-jsonl", headers={**FILE, **WATCHED}, content=LINES)
    events = told(answer.text)
    assert {"done": len(LINES), "whole": len(LINES)} in [data for event, data in events if event == "progress"]
    assert events[-1][0] == "result" and events[-1][1]["stored"] == 1
    assert not [path.name for path in (tmp_path / "home").iterdir() if path.name.startswith(".upload")]


def test_an_import_of_an_archive_reads_what_is_in_it(client: Client) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("one.md", "# Ada\n\nShe likes trains.")
        archive.writestr("../two.md", "# Out\n\nIt leads out.")
    found = client.ask("POST", "/api/v1/import/markdown", headers=FILE, content=packed.getvalue()).json()
    assert found["stored"] == 1 and [row["where"] for row in found["skipped"]]


@pytest.mark.parametrize(("format", "content", "status"), [
    ("nonsense", LINES, 400), ("mnemic", b"PK\x03\x04 no archive", 400), ("mnemic", LINES, 400), ("chatgpt", b"", 200),
])  # fmt: skip
def test_an_import_that_cannot_be_says_why(client: Client, tmp_path: Path, format: str, content: bytes, status: int) -> None:
    found = client.ask("POST", f"/api/v1/import/{format}", headers=FILE, content=content)
    assert found.status_code == status, found.text
    assert not [path.name for path in (tmp_path / "home").iterdir() if path.name.startswith(".upload")]


def test_an_archive_that_leads_out_of_its_folder_is_no_export(client: Client, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../../evil.txt", "x")
    assert client.ask("POST", "/api/v1/import/mnemic", headers=FILE, content=packed.getvalue()).status_code == 400
    assert not list(tmp_path.rglob("evil.txt"))


def test_a_file_that_is_too_large_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "FILE_BYTES", 10)
    assert client.ask("POST", "/api/v1/import/markdown", headers=FILE, content=b"x" * 11).status_code == 413


def test_a_json_body_is_no_file_and_a_file_is_no_json(client: Client) -> None:
    assert client.ask("POST", "/api/v1/import/markdown", json={}).status_code == 415
    assert client.ask("POST", "/api/v1/remember", headers=FILE, content=b"{}").status_code == 415


def test_long_work_that_has_nothing_to_say_says_that_it_lives(client: Client, memory: Memory, monkeypatch: Any) -> None:
    import threading

    monkeypatch.setattr(app, "ALIVE", 0.01)
    waited = threading.Event()
    memory.fold = lambda **more: waited.wait(0.1) or {"notes": 0}  # type: ignore[method-assign, assignment]
    text = client.ask("POST", "/api/v1/fold", headers={**PAST, **WATCHED}, json={}).text
    assert text.startswith(": at work\n\n") and text.endswith('event: result\ndata: {"notes":0}\n\n')


def test_a_training_set_is_fetched_as_json_lines(client: Client) -> None:
    done = client.post("/exports/training")
    assert done["examples"] == 0 and done["name"].endswith(".jsonl") and "file" not in done
    found = client.ask("GET", f"/api/v1/exports/{done['name']}")
    assert (found.status_code, found.headers["content-type"], found.content) == (200, "application/jsonl", b"")


def test_the_ledger_is_exported_with_payload_and_salt(client: Client, memory: Memory) -> None:
    memory.remember(NOTE)
    rows = client.get("/ledger-export")["items"]
    assert [row["seq"] for row in rows] == [1] and {"payload", "salt", "hash"} <= rows[0].keys()


def test_a_window_is_prepared_and_its_turn_remembered(client: Client, memory: Memory) -> None:
    memory.remember(NOTE)
    messages = [{"role": "user", "content": "Where does Ada like to sit?"}]
    made = client.post("/window/prepare", messages=messages, session="s", window=4000)
    assert NOTE in json.dumps(made["messages"]) and made["tokens"]["after"] > made["tokens"]["before"]
    kept = client.post("/window/observe", messages=messages, reply="At the window.", session="s")
    assert kept["exchanges"] == 1 and memory.status()["messages"] == 2
    assert client.ask("POST", "/api/v1/window/prepare", json={"messages": [3]}).status_code == 400


def test_a_record_is_kept_under_its_key_read_edited_and_hidden(client: Client) -> None:
    row = client.ask("PUT", "/api/v1/record", json={"key": ["app", "one"], "body": NOTE, "head": {"n": 1}}).json()
    assert (row["key"], row["head"], row["body"]) == (["app", "one"], {"n": 1}, NOTE)
    read = client.ask("GET", "/api/v1/record?key=app&key=one")
    assert read.json()["body"] == NOTE and len(client.get("/records", prefix="app")["items"]) == 1
    mark = {**PAST, "if-match": read.headers["etag"]}
    fresh = {"key": ["app", "one"], "body": "Ada prefers the aisle."}
    assert client.ask("PUT", "/api/v1/record", headers=mark, json=fresh).status_code == 200
    assert client.ask("PUT", "/api/v1/record", headers=mark, json=fresh).status_code == 412
    assert client.post("/records/remove", keys=[["app", "one"], ["app", "two"]]) == {"removed": 1}
    assert client.ask("GET", "/api/v1/record?key=app&key=one").status_code == 404


@pytest.mark.parametrize("harm", ["torn", "encrypted"])
def test_an_archive_that_cannot_be_unpacked_is_refused(client: Client, memory: Memory, harm: str) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("manifest.json", "{}" * 1_000)
    data = bytearray(held.getvalue())
    if harm == "torn":
        data[30 + len("manifest.json")] = 0xFF  # no kind of block
    else:
        data[6] |= 1
        data[data.find(b"PK\x01\x02") + 8] |= 1
    found = client.ask("POST", "/api/v1/import/mnemic", headers=FILE, content=bytes(data))
    assert (found.status_code, "no export of mnemic" in found.json()["detail"]) == (400, True)


def test_what_is_forgotten_or_marked_can_be_guarded_by_what_was_read(client: Client, memory: Memory) -> None:
    path = memory.remember(NOTE).path
    mark = client.ask("GET", "/api/v1/page", params={"path": path}).headers["etag"]
    tier = client.ask("POST", "/api/v1/tier", headers={**PAST, "if-match": mark}, json={"path": path, "tier": "core"})
    assert tier.status_code == 200
    gone = {**PAST, "if-match": mark}
    assert client.ask("POST", "/api/v1/forget", headers=gone, json={"path": path}).status_code == 412
    place = client.ask("GET", "/api/v1/bookmarks/x").headers["etag"]
    put = {**PAST, "if-match": place}
    assert client.ask("PUT", "/api/v1/bookmarks/x", headers=put, json={"at": 1}).status_code == 200
    assert client.ask("PUT", "/api/v1/bookmarks/x", headers=put, json={"at": 2}).status_code == 412


def test_what_is_erased_for_good_may_stand_in_copies_which_are_named(client: Client, memory: Memory) -> None:
    path = memory.remember(NOTE).path
    backup, export = client.post("/backups")["name"], client.post("/exports")["name"]
    left = client.post("/forget", path=path, erase=True, reason="asked to")["elsewhere"]
    assert f"the file backups/{backup} of the home" in left and any(export in one for one in left)
