"""Documents as trees of nodes: which parts get a path, and which words each part is found by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemic.models.document import Document, Message
from mnemic.store import NewNode
from mnemic.text.passage import passage
from mnemic.text.tree import PIECE, Node, parse, slug
from mnemic.text.tree import body as content_start

MESSAGE_REACH = 1_200
"""Characters that a message is indexed by when it has no parts of its own."""


def document_nodes(document: Document, messages: Sequence[Message], bodies: Mapping[int, str]) -> list[NewNode]:
    """The tree of any document from its messages, or from its own text."""
    if document.text_id is None:
        return exchange_nodes(document, messages, bodies)
    return note_nodes(document, bodies[document.text_id])


def note_nodes(document: Document, body: str) -> list[NewNode]:
    """The tree of a note or a file."""
    assert document.text_id is not None
    tree = parse(body, title=document.title)
    found = [_root(document, document.text_id, tree, body)]
    if _is_single(tree):
        return found
    for place, node in enumerate(tree[1:], 1):
        reach = node.start if _repeats(tree, place) else node.reach
        found.append(
            _new(document, node, document.text_id, body, path=f"{document.path}/{node.path}", kind=node.kind,
                 title=node.title, start=node.start, reach=reach, parent=node.parent)
        )  # fmt: skip
    return found


def _root(document: Document, text_id: int, tree: Sequence[Node], body: str) -> NewNode:
    """The whole text; found by its opening, without the frontmatter, unless it has no text of its own."""
    root = tree[0]
    reach = max(root.reach, tree[1].reach) if _is_single(tree) else root.reach
    start = max(root.start, content_start(body)) if reach > root.start else root.start
    return _new(document, root, text_id, body, path=document.path, kind=document.kind, title=document.title,
                start=start, reach=max(start, reach), parent=-1)  # fmt: skip


def exchange_nodes(document: Document, messages: Sequence[Message], bodies: Mapping[int, str]) -> list[NewNode]:
    """The tree of an exchange: a node for every message, and the parts of the long ones below it."""
    root = NewNode(document.path, document.kind, document.title, -1, None, 0, 0, 0, document.created_at)
    found, taken = [root], dict[str, int]()
    for message in messages:
        body = bodies[message.text_id]
        path = _free(f"{document.path}/{slug(message.name or message.role)}", taken)
        found += _message_nodes(document, message, body, path, len(found))
    return found


def _message_nodes(document: Document, message: Message, body: str, path: str, first: int) -> list[NewNode]:
    tree = parse(body) if len(body) > PIECE else ()
    parts = [node for node in tree if node.parent >= 0]
    if len(parts) < 2:
        parts = []
    title = " ".join(body[:120].split())[:80]
    reach = tree[0].reach if parts else min(len(body), MESSAGE_REACH)
    whole = Node("", "message", title, 0, len(body), reach, -1)
    found = [_new(document, whole, message.text_id, body, path=path, kind="message", title=title, start=0,
                  reach=reach, parent=0, message=message)]  # fmt: skip
    for place, node in enumerate(tree):
        if node.parent < 0 or not parts:
            continue
        found.append(
            _new(document, node, message.text_id, body, path=f"{path}/{node.path}", kind=node.kind, title=node.title,
                 start=node.start, reach=node.start if _repeats(tree, place) else node.reach,
                 parent=first + node.parent, message=message)
        )  # fmt: skip
    return found


def _new(
    document: Document, node: Node, text_id: int, body: str, *, path: str, kind: str, title: str, start: int,
    reach: int, parent: int, message: Message | None = None,
) -> NewNode:  # fmt: skip
    words = passage(body, start, reach, speaker=message.name if message else "", title=title if parent < 0 else "")
    if message is None:
        return NewNode(path, kind, title, parent, text_id, start, node.end, reach, document.created_at, passage=words)
    return NewNode(path, kind, title, parent, text_id, start, node.end, reach, message.created_at, message.seq,
                   message.name, words, document.session, message.role)  # fmt: skip


def _is_single(tree: Sequence[Node]) -> bool:
    """Whether a text has just one part: it would be found twice, once as the root and once as the part."""
    return len(tree) == 2 and tree[1].kind in ("paragraph", "item")


def _repeats(tree: Sequence[Node], place: int) -> bool:
    """Whether a part adds no word to what its parent is found by: the parent alone is indexed then."""
    node, parent = tree[place], tree[tree[place].parent]
    siblings = (place + 1 < len(tree) and tree[place + 1].parent == node.parent) or tree[place - 1] is not parent
    return not siblings and node.end <= parent.reach and node.kind == "paragraph"


def _free(path: str, taken: dict[str, int]) -> str:
    taken[path] = taken.get(path, 0) + 1
    return path if taken[path] == 1 else f"{path}~{taken[path]}"
