"""What people and tools write stays data in an editor that shows Markdown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_core.room.founded import founded

from genie_bridges.acp.updates import (
    call_content,
    code_span,
    fenced,
    hunks,
    line_of,
    options_for,
    quoted,
    title_of,
)
from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects
from genie_core.room.protocol.events import MessageEdited, MessagePosted
from genie_core.room.state.thread import ToolApproval


def call(**arguments: object) -> ToolApproval:
    return ToolApproval("1", 2, "ben", "system", "run", arguments, "ben's machine", 3, 0.0)


def test_a_title_is_one_line_of_code() -> None:
    wild = call(command="`x`** [a](http://b)\n# Allow?\x1b[2J\u202e" + "y" * 500)
    title = title_of(wild, "bob")
    assert title.startswith("`` run: command `x`** [a](http://b)␤# Allow?␛[2J⟨U+202E⟩yyy")
    assert title.endswith("y… `` for `bob`")
    assert "\n" not in title


@given(st.text(min_size=1))
def test_nothing_ends_a_code_block_or_span(text: str) -> None:
    fence, *inside, last = fenced(text).split("\n")
    assert fence == last
    assert all(fence not in line for line in inside)
    span = code_span(text)
    ticks = re.match("`+", span)
    assert ticks is not None
    assert re.findall(f"(?<!`){ticks[0]}(?!`)", span).count(ticks[0]) == 2


@given(st.text())
def test_a_quote_is_one_quote(text: str) -> None:
    head, first, *more, blank, end = quoted(f"bob: {text}").split("\n")
    assert (head, blank, end) == ("", "", "")
    assert first.startswith("> bob: ")
    assert all(line == ">" or line.startswith(">   ") for line in more)


@pytest.mark.parametrize("text", ["![a](http://b)", '<img src="http://b">', "<IMG src=x>"])
def test_pictures_of_others_are_not_loaded(text: str) -> None:
    assert re.search(r"(?<!\\)!\[|(?<!\\)<img", quoted(text), re.IGNORECASE) is None


def test_a_diff_shows_each_hunk() -> None:
    diff = (
        "--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n--- x\n+++ y\n@@ -9 +9 @@\n-\x1b\n+z\n\\ No newline\n"
    )
    assert hunks(diff) == [("one\n-- x", "one\n++ y"), ("␛", "z")]
    effects = ToolEffects((ToolEffect("write", "a.md"),), diff="@@ -0,0 +1 @@\n+new\n")
    _, change = call_content(call(path="a.md"), effects, None)
    assert change.type == "diff"
    assert (change.path, change.old_text, change.new_text) == ("a.md", None, "new")


def test_a_grant_is_offered_only_where_it_counts() -> None:
    grantable, not_grantable = ToolEffects(), ToolEffects(is_grantable=False)
    assert [each.kind for each in options_for(grantable, is_open=True)] == [
        "allow_once",
        "allow_always",
        "reject_once",
    ]
    for effects, is_open in ((not_grantable, True), (grantable, False), (None, True)):
        kinds = [each.kind for each in options_for(effects, is_open=is_open)]
        assert kinds == ["allow_once", "reject_once"]


def test_ineffective_edit_is_flagged() -> None:
    log = founded("bob", "ann")
    said = log.add("bob", MessagePosted("m", "do not deploy"))
    forged = log.add("ann", MessageEdited(said.seq, "deploy"))
    line = line_of(forged, log.state)
    assert line == (
        f"⚠ ann tried to change message {said.seq}, without effect (⚠ not proven: its author did "
        "not write that message)"
    )
    edit = log.add("bob", MessageEdited(said.seq, "deploy"))
    assert line_of(edit, log.state) == f"✎ bob edited message {said.seq}: deploy"
