"""What a route does where no method of `Memory` can be called as it is: files travel in bodies, and a window lives for one call.

A caller from outside names no files of this machine. A backup and an export are made in a folder of the home, and fetched
from there by the name that was given to them; what is imported is a body, put aside for as long as it is read.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mnemic.clock import iso
from mnemic.errors import BadInput, NotFound
from mnemic.interfaces.hooks.client import SECONDS, Unanswered, running
from mnemic.interfaces.hooks.run import answer
from mnemic.interfaces.service import PROXY

if TYPE_CHECKING:
    from mnemic.memory import Memory

PROXY_SECONDS = 2.0
"""For the proxy's answer about itself."""
TOLD = 1_000
"""Rows of an import's report."""
MOST_BYTES = 16 << 30
"""Of an export, unpacked."""
NAME = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{8}\.(zip|jsonl)")


def hook(memory: Memory, event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """An event of a coding agent's session, as `mnemic hook` takes it from its standard input."""
    return answer(memory, event, given) if event in SECONDS else {}


def proxy(memory: Memory) -> dict[str, Any]:
    """What the proxy that runs on this home and namespace did with the last turns, and why; `serving` is false if none runs."""
    import json
    from http.client import HTTPConnection, HTTPException

    try:
        host, port, _, served, _ = running(str(memory.settings.home), PROXY)
        if served != memory.namespace:
            raise Unanswered("it serves another namespace")
        line = HTTPConnection(host, int(port), timeout=PROXY_SECONDS)
        line.request("GET", "/mnemic/status", headers={"Host": f"localhost:{port}", "Connection": "close"})
        return {"serving": True, **json.loads(line.getresponse().read())}
    except (Unanswered, OSError, HTTPException, ValueError, TypeError):
        return {"serving": False, "turns": []}


# files


def _fresh(memory: Memory, kind: str, ending: str) -> Path:
    mark = hashlib.sha256(memory.ids.token(16).encode()).hexdigest()[:8]
    folder = memory.copies_folder(kind)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"{memory.clock.now():%Y%m%dT%H%M%S}-{mark}.{ending}"


def _kept(memory: Memory, kind: str, name: str) -> Path:
    file = memory.copies_folder(kind) / name
    if not NAME.fullmatch(name) or not file.is_file():
        raise NotFound(f"there is no file {name[:80]!r}: GET /{kind} names them")
    return file


def _rows(memory: Memory, kind: str) -> list[dict[str, Any]]:
    files = [file for file in reversed(memory.copies(kind)) if NAME.fullmatch(file.name)]
    return [{"name": file.name, "bytes": info.st_size, "at": iso(int(info.st_mtime * 1000))}
            for file, info in ((file, file.stat()) for file in files)]  # fmt: skip


def backup(memory: Memory, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Write a verified copy of the whole home, fetched by `GET /backups/{name}`; `skipped`: what of the vaults was left out."""
    file = _fresh(memory, "backups", "zip")
    done = memory.backup(file, progress=progress)
    os.chmod(file, 0o600)
    return {"name": file.name, "bytes": done["bytes"], "skipped": done["skipped"]}


def backups(memory: Memory) -> list[dict[str, Any]]:
    """The backups that were made over HTTP, the latest first."""
    return _rows(memory, "backups")


def backup_file(memory: Memory, name: str) -> Path:
    """A backup, as a zip archive that `mnemic restore` takes. Raises NotFound."""
    return _kept(memory, "backups", name)


def backup_delete(memory: Memory, name: str) -> dict[str, Any]:
    """Delete the file of a backup. Raises NotFound."""
    _kept(memory, "backups", name).unlink()
    return {"name": name, "deleted": True}


def export(memory: Memory, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Write all of the namespace into a zip archive, which `GET /exports/{name}` fetches and `POST /import/mnemic` takes back."""
    file = _fresh(memory, "exports", "zip")
    with TemporaryDirectory(dir=file.parent, prefix=".export-") as folder:
        if progress:
            progress("writing")
        done = memory.export(Path(folder) / "export")
        if progress:
            progress("packing")
        packed = shutil.make_archive(str(Path(folder) / "packed"), "zip", Path(folder) / "export")
        os.chmod(packed, 0o600)
        os.replace(packed, file)
    return {**{name: item for name, item in done.items() if name != "folder"}, "name": file.name, "bytes": file.stat().st_size}


def export_training(memory: Memory) -> dict[str, Any]:
    """Write the experiences that are worth internalising as JSON lines in chat form; the manifest is the answer."""
    file = _fresh(memory, "exports", "jsonl")
    done = memory.export_training(file)
    Path(done["manifest"]).unlink()
    os.chmod(file, 0o600)
    return {**{name: item for name, item in done.items() if name not in ("file", "manifest")}, "name": file.name}


def exports(memory: Memory) -> list[dict[str, Any]]:
    """The exports of this namespace that were made over HTTP, the latest first."""
    return _rows(memory, "exports")


def export_file(memory: Memory, name: str) -> Path:
    """An export, as a zip archive or JSON lines. Raises NotFound."""
    return _kept(memory, "exports", name)


def export_delete(memory: Memory, name: str) -> dict[str, Any]:
    """Delete the file of an export. Raises NotFound."""
    _kept(memory, "exports", name).unlink()
    return {"name": name, "deleted": True}


def take(
    memory: Memory, format: str, file: Path, dry_run: bool = False, progress: Callable[..., None] | None = None
) -> dict[str, Any]:
    """Take in what another tool exported: the body is the file, a zip archive where it is several.

    Repeating it adds only what is new; one that was cut off goes on. Raises BadInput.
    """
    from mnemic.interfaces import importers

    file = _named(file)
    rows: list[dict[str, Any]] = []

    def told(row: importers.Row) -> None:
        if len(rows) < TOLD:
            rows.append({**asdict(row), "since": iso(row.since), "until": iso(row.until)})

    tell = progress or (lambda *done: None)
    totals = importers.take(memory, format, file, dry_run=dry_run, told=told, progress=tell, indexing=tell)
    return {**asdict(totals), "items": rows}


def read_export(memory: Memory, file: Path, dry_run: bool = False) -> dict[str, Any]:
    """Take back what `POST /exports` made, into a home that holds nothing yet: the body is the archive."""
    with TemporaryDirectory(dir=file.parent, prefix=".import-") as folder:
        _unpack(file, Path(folder))
        return memory.read_export(folder, dry_run=dry_run)


def _named(file: Path) -> Path:
    """The file under a name that tells an archive from a text."""
    with open(file, "rb") as stream:
        packed = stream.read(4) == b"PK\x03\x04"
    return file.rename(file.with_name(file.name + ".zip")) if packed else file


def _unpack(file: Path, folder: Path) -> None:
    """An export out of its archive, into an empty folder; what it holds is checked by whoever reads it."""
    from mnemic.vault.files import contained

    try:
        with zipfile.ZipFile(file) as packed:
            items = packed.infolist()
            if sum(item.file_size for item in items) > MOST_BYTES:
                raise BadInput(f"the archive unpacks to more than {MOST_BYTES:,} bytes: it is no export of mnemic")
            for item in items:
                parts = contained(item.filename.removesuffix("/"))
                if stat.S_IFMT(item.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR) or "\\" in item.filename:
                    raise BadInput(f"{item.filename[:200]!r} in the archive is no regular file")
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                if item.is_dir():
                    target.mkdir(exist_ok=True)
                else:
                    with packed.open(item) as source, open(target, "xb") as out:
                        shutil.copyfileobj(source, out, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError) as error:
        raise BadInput(
            f"the body is no export of mnemic ({type(error).__name__}): send the file of GET /exports/{{name}}"
        ) from None


# the window of one conversation


def window_prepare(
    memory: Memory, messages: list[dict[str, Any]], session: str | None = None, window: int | None = None,
    headroom: float | None = None, judge: str = "rules", merged: str = "remove", retrieve: bool = True,
    pinned: list[int] = [], beside: int = 0,  # noqa: B006
) -> dict[str, Any]:  # fmt: skip
    """The prompt for a model's next call: the messages, shortened and with what memory adds, so that they fit `window` tokens.

    `pinned` are places in `messages` that stay, `beside` the tokens that go out besides. Raises BadInput.
    """
    with memory.window(session, window=window, headroom=headroom, judge=judge, merged=merged, retrieve=retrieve) as made:
        return made.prepare(messages, pinned=pinned, beside=beside).json()


def window_observe(
    memory: Memory, messages: list[dict[str, Any]], reply: dict[str, Any] | str, session: str | None = None
) -> Any:
    """Remember the latest turn of `messages`, as they were sent to `/window/prepare`, with its reply. Raises BadInput."""
    with memory.window(session, retrieve=False) as window:
        return window.observe(reply, window.prepare(messages))


# records, which programs of other makers keep under keys


def records(memory: Memory, prefix: list[str] = []) -> list[Any]:  # noqa: B006
    """The records whose keys begin so, in the order in which they first came."""
    return [_record(one) for one in memory.records.below(tuple(prefix))]


def record(memory: Memory, key: list[str]) -> dict[str, Any]:
    """One record by the parts of its key. Raises NotFound."""
    found = memory.records.get(tuple(key))
    if found is None:
        raise NotFound(f"there is no record {'/'.join(key)[:200]!r}: GET /records names them")
    return _record(found)


def record_put(
    memory: Memory, key: list[str], body: str = "", head: dict[str, Any] | None = None, title: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Write a record in place of the one of its key; secrets are replaced. Raises BadInput, Refused."""
    from mnemic.capture.records import Entry

    return _record(memory.records.put(Entry(key=tuple(key), body=body, head=head or {}, title=title))[0])


def record_remove(memory: Memory, keys: list[list[str]]) -> dict[str, Any]:
    """Hide records; how many were there."""
    return {"removed": memory.records.remove(*[tuple(key) for key in keys])}


def _record(one: Any) -> dict[str, Any]:
    return {**{name: getattr(one, name) for name in ("head", "body", "path", "origin")}, "key": list(one.key),
            "created_at": one.created_at.isoformat(), "updated_at": one.updated_at.isoformat()}  # fmt: skip


OWN: Mapping[str, Callable[..., Any]] = {
    "hook": hook, "proxy": proxy,
    "backup": backup, "backups": backups, "backup_file": backup_file, "backup_delete": backup_delete,
    "export": export, "export_training": export_training, "exports": exports, "export_file": export_file,
    "export_delete": export_delete, "take": take, "read_export": read_export,
    "window_prepare": window_prepare, "window_observe": window_observe,
    "records.below": records, "records.get": record, "records.put": record_put, "records.remove": record_remove,
}  # fmt: skip
"""By what a route names as its target."""
