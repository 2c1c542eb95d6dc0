"""Cards: one Markdown file for each person, project or thing, with the schema of 001 (digest §2.7) at its head."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from mnemic.clock import Clock
from mnemic.errors import BadInput, MnemicError
from mnemic.models.event import Origin
from mnemic.text.tree import slug
from mnemic.vault import frontmatter
from mnemic.vault.files import contained, file_name
from mnemic.vault.links import ENDING, key_of, stem
from mnemic.vault.log import appended
from mnemic.vault.vault import OWN_FOLDERS, Vault, card_path, document_path

FOLDERS: Mapping[str, str] = {
    "crm": "cards/crm", "lead": "cards/leads", "contact": "cards/people", "person": "cards/people",
    "project": "cards/projects", "personal": "cards/personal", "daily": "daily", "note": "cards/notes",
}  # fmt: skip
PROSPECTS = ("crm", "lead")
"""Types whose card begins as a prospect; every other begins active."""
RETIRED = "inactive"
KEPT: Mapping[str, str] = {
    "title": "use `mnemic card rename`", "created": "it says when the card was made", "updated": "it follows each change",
    "last_accessed": "use `mnemic touch`", "relevance": "it follows use", "tier": "use `mnemic tier`",
    "access_count": "use `mnemic touch`",
}  # fmt: skip
"""Keys that are not set by hand, and what to do instead."""
_KEY = re.compile(r"[A-Za-z_][\w-]{0,63}")


class Cards:
    """The cards of one vault."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault, self._clock = vault, clock
        self.used: Callable[[str, str], None] = lambda path, reason: None
        """Told of a use of a card, by its file and how it was used."""

    def new(
        self, title: str, type: str, *, description: str = "", tags: Sequence[str] = (), dir: str | None = None,
        body: str = "", origin: Origin = "user",
    ) -> dict[str, Any]:  # fmt: skip
        """Make a card. Raises BadInput for a type or title that cannot be used, Conflict if the file is there."""
        if not type.strip() or slug(type) != type:
            raise BadInput(f"type {type[:50]!r} cannot be used: write e.g. contact, project, crm, lead, personal or note")
        name = file_name(title)
        path = f"{self._folder(type, dir)}/{name}{ENDING}"
        today = self._today()
        head: dict[str, Any] = {
            "type": type, "title": " ".join(title.split()), "description": " ".join(description.split()),
            "tags": [tag.strip().lstrip("#") for tag in tags if tag.strip()],
            "status": "prospect" if type in PROSPECTS else "active",
            "created": today, "updated": today, "last_accessed": today, "relevance": 1.0, "tier": "active",
        }  # fmt: skip
        text = body if not body or body.endswith("\n") else body + "\n"
        self._vault.write(path, frontmatter.render(head, text or f"# {head['title']}\n"), origin)
        return {"status": "stored", "path": path, "document": document_path(path)}

    def _folder(self, type: str, dir: str | None) -> str:
        if dir is None:
            return {**FOLDERS, **self._vault.settings.folders}.get(type, f"cards/{type}").strip("/")
        folder = dir.strip("/").removeprefix("vault/")
        parts = contained(folder)
        if parts[0] in OWN_FOLDERS or self._vault.folder.exists(folder):
            return folder
        return f"cards/{folder}"

    def show(self, path: str) -> dict[str, Any]:
        """A card's frontmatter and body. A use of it. Raises NotFound, and BadInput for frontmatter that is no good."""
        path = self._path(path)
        data = self._vault.folder.read(path).data
        try:
            head = frontmatter.read(data)
        except BadInput as error:
            raise BadInput(f"{path!r} cannot be shown: {error}") from None
        self.used(path, "opened")
        return {"path": path, "frontmatter": head, "body": frontmatter.split(data).body.decode("utf-8", "replace")}

    def list(self, *, type: str | None = None, status: str | None = None) -> list[dict[str, Any]]:
        """The cards that the last sync knew, by path."""
        return [
            {"path": row.path, "title": stem(row.path).rpartition("/")[2], "type": row.type, "status": row.status,
             "description": row.description}
            for row in self._vault.known()
            if row.kind == "card" and type in (None, row.type) and status in (None, row.status)
        ]  # fmt: skip

    def rename(self, path: str, title: str) -> dict[str, Any]:
        """Give a card another title and file name; every wikilink to it follows. Raises Conflict if the name is taken."""
        path = self._path(path)
        to = "/".join([*path.split("/")[:-1], file_name(title) + ENDING])
        fresh = " ".join(title.split())

        def edit(data: bytes) -> bytes:
            head = frontmatter.read(data)
            return frontmatter.edit(data, {"title": fresh}) if "title" in head else data

        rewritten = self._vault.rename(path, to, self._told(path, edit)) if to != path else []
        return {"path": to, "from": path, "rewritten": rewritten}

    def link(self, path: str, target: str) -> dict[str, Any]:
        """Note a card as related to another: a wikilink in the `related` list of its frontmatter."""
        path, other = self._path(path), self._path(target)
        self._vault.folder.read(other)
        name = stem(other).rpartition("/")[2]
        plain = self._vault.named(key_of(name))
        wanted = f"[[{name}]]" if plain in ([], [other]) else f"[[{stem(other)}|{name}]]"

        def edit(data: bytes) -> bytes:
            related = frontmatter.read(data).get("related") or []
            links = [related] if isinstance(related, str) else [str(item) for item in related]
            if wanted in links:
                return data
            return frontmatter.edit(data, {"related": [*links, wanted]})

        self._vault.revise(path, self._told(path, edit), f"link {name}")
        return {"path": path, "target": other, "link": wanted}

    def set(self, path: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Set keys of a card's frontmatter, or take out those that are None. Of several writers the last one wins, key by
        key. Raises BadInput for a key that mnemic keeps itself."""
        path = self._path(path)
        for key in values:
            if not _KEY.fullmatch(key):
                raise BadInput(f"{key[:50]!r} cannot be a key: letters, digits, - and _, a letter first")
            if key in KEPT:
                raise BadInput(f"{key!r} is kept by mnemic: {KEPT[key]}")
        fresh = {**values, "updated": self._today()}

        def edit(data: bytes) -> bytes:
            changed = frontmatter.edit(data, values)
            return data if changed == data else frontmatter.edit(changed, fresh)

        self._vault.revise(path, self._told(path, edit), "set " + ", ".join(sorted(values)))
        return {"path": path, "frontmatter": self.show(path)["frontmatter"]}

    def log(self, path: str, entry: str, *, by: str = "") -> dict[str, Any]:
        """Append a line to the card's History: the day, who says it, what. Raises BadInput for an empty entry,
        QuotaExceeded."""
        path, text = self._path(path), " ".join(entry.split())
        if not text:
            raise BadInput("an empty line cannot be appended to a History: say what happened")
        self._vault.room()
        line = f"{self._today().isoformat()}{', ' if by.strip() else ''}{' '.join(by.split())}: {text}"
        self._vault.revise(path, lambda data: appended(data, line), "history")
        return {"path": path, "line": line}

    def links(self, path: str) -> dict[str, Any]:
        """What a note links to, and what links to it. Raises NotFound."""
        path = self._path(path)
        self._vault.folder.read(path)
        return self._vault.links_of(path)

    def retire(self, path: str) -> dict[str, Any]:
        """Set a card aside: its status becomes inactive and its map lists it no more; the file and links stay."""
        path = self._path(path)
        today = self._today()

        def edit(data: bytes) -> bytes:
            if frontmatter.read(data).get("status") == RETIRED:
                return data
            return frontmatter.edit(data, {"status": RETIRED, "updated": today})

        self._vault.revise(path, self._told(path, edit), "retire")
        return {"path": path, "status": RETIRED}

    def _told(self, path: str, edit: Any) -> Any:
        def told(data: bytes) -> bytes:
            try:
                result: bytes = edit(data)
            except MnemicError as error:
                raise BadInput(f"{path!r} cannot be changed: {error}") from None
            return result

        return told

    def _path(self, name: str) -> str:
        """The file of a card that is named by its path, its document's path, or its name alone if no other bears it."""
        path = card_path(name, self._vault.root)
        if self._vault.folder.exists(path):
            return path
        if found := self._vault.file_at(name):
            return found
        named = self._vault.named(key_of(name)) if "/" not in name else []
        return named[0] if len(named) == 1 else path

    def _today(self) -> date:
        return self._clock.now().date()
