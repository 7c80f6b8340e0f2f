"""ChatGPT's export: `conversations.json`, a list of conversations that are trees of messages.

A tree has a branch for each edit of a question and each other answer; the one that was shown last is
taken. Read as exports of 2023 to 2026 have it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from genie_import.export_files import each_in
from genie_import.fields import (
    file_names,
    first_text,
    items_at,
    joined,
    moment_of,
    text_at,
    text_of,
    value_at,
    words_in,
)
from genie_import.importer import (
    BRANCH,
    INSTRUCTION,
    ME,
    THOUGHT,
    TOOL,
    UNKNOWN_AUTHOR,
    Author,
    Entry,
    History,
    HistoryMessage,
    LeftOut,
    left_out,
    read_each,
    with_rest,
)

SOURCE: Final = "chatgpt"

_ASSISTANT: Final = Author("assistant", "ChatGPT", is_agent=True)
_AUTHORS: Final = {"user": Author(ME), "assistant": _ASSISTANT}


@dataclass(slots=True)
class _Node:
    """A place in the tree."""

    message: Any
    parent: str
    at: float
    children: list[str]
    depth: int = -1


_Tree: TypeAlias = dict[str, _Node]


def read_chatgpt(items: list[msgspec.Raw]) -> Iterator[History | LeftOut]:
    """Yield the conversations, and the items that are none."""
    return read_each(each_in(items), _conversation, "mapping")


def _conversation(found: dict[str, Any]) -> Iterator[History]:
    title = text_at(found, "title").strip()
    unnamed = f"{title}-{text_at(found, 'create_time')}"
    id_ = first_text(found, "conversation_id", "id") or unnamed
    yield History(SOURCE, id_, title or "ChatGPT", _entries(found))


def _entries(conversation: dict[str, Any]) -> Iterator[Entry]:
    tree = _tree(conversation["mapping"])
    branch = _branch(tree, text_at(conversation, "current_node"))
    for place in branch:
        if tree[place].message is not None:
            yield from _message(tree[place])
    for place, node in tree.items():
        if place not in branch and node.message is not None:
            content, id_ = value_at(node.message, "content"), text_at(node.message, "id")
            yield left_out(BRANCH, content, node.at or None, id_)


def _tree(mapping: Any) -> _Tree:
    """Return the nodes; those without a parent get it from its children."""
    listed = enumerate(items_at(mapping)) if not isinstance(mapping, dict) else mapping.items()
    tree: _Tree = {}
    for order, (key, node) in enumerate(listed):
        message = value_at(node, "message")
        at = moment_of(value_at(message, "create_time")) or 0.0
        place = key if isinstance(key, str) else text_at(node, "id") or str(order)
        children = [each for each in items_at(node, "children") if isinstance(each, str)]
        tree[place] = _Node(message, text_at(node, "parent"), at, children)
    for place, node in tree.items():
        for child in filter(tree.__contains__, node.children):
            if tree[child].parent not in tree:
                tree[child].parent = place
    return tree


def _branch(tree: _Tree, current: str) -> dict[str, None]:
    """Return the places from the root to the node that was shown last, in order.

    Without that node it is the latest leaf, and without any links all nodes by time.
    """
    if tree and not any(node.parent in tree for node in tree.values()):
        return dict.fromkeys(sorted(tree, key=lambda each: tree[each].at))
    place = current if current in tree else _latest_leaf(tree)
    branch: dict[str, None] = {}
    while place in tree and place not in branch:
        branch[place] = None
        place = tree[place].parent
    return dict.fromkeys(reversed(branch))


def _latest_leaf(tree: _Tree) -> str:
    """Return the deepest of the leaves with the latest time; some node if all have children."""
    parents = {node.parent for node in tree.values()}
    leaves = [place for place in tree if place not in parents] or list(tree)[-1:]

    def rank(place: str) -> tuple[float, int]:
        return tree[place].at, _depth(tree, place)

    return max(reversed(leaves), key=rank, default="")


def _depth(tree: _Tree, place: str) -> int:
    path: list[_Node] = []
    while place in tree and tree[place].depth < 0:
        tree[place].depth = 0  # a tree may lead back to itself
        path.append(tree[place])
        place = tree[place].parent
    depth = tree[place].depth if place in tree else 0
    for node in reversed(path):
        depth += 1
        node.depth = depth
    return depth


def _message(node: _Node) -> Iterator[Entry]:
    message, at = node.message, node.at or None
    content = value_at(message, "content")
    if reason := _left_out(message):
        yield left_out(reason, content, at)
        return
    role = text_at(message, "author", "role")
    text, files = _content(content, value_at(message, "metadata", "attachments"))
    shown = HistoryMessage(
        _AUTHORS.get(role, UNKNOWN_AUTHOR),
        text,
        at,
        files,
        text_at(message, "id"),
        is_answer=role == "assistant",
    )
    yield from with_rest(shown, words_in(content), message)


def _left_out(message: Any) -> str:
    role, kind = text_at(message, "author", "role"), text_at(message, "content", "content_type")
    if role == "tool" or text_at(message, "recipient") not in ("all", ""):
        return TOOL
    if role in ("system", "developer") or kind.endswith("_editable_context"):
        return INSTRUCTION
    return THOUGHT if kind in ("thoughts", "reasoning_recap") else ""


def _content(content: Any, attachments: Any) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the names of files; images without a name are counted among them."""
    files = file_names(attachments, "name", nameless="")
    parts = items_at(content, "parts") or [content]
    pointers = [each for each in parts if text_at(each, "content_type").endswith("_pointer")]
    images = max(len(pointers) - len(files), 0)
    said = (text_of(each) for each in parts if each not in pointers)
    return joined(said), (*files, *["image"] * images)
