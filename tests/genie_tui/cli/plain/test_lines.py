"""What is told of a room in lines: who said what, what became of it, and what is not proven."""

import json
from typing import Any

import pytest
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded
from tests.genie_tui.scripted_room import ScriptedJoinedRoom

from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects
from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    Quote,
    QuotedLine,
    ReactionChanged,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.room.protocol.frames import JoinRequested
from genie_core.room.security.identity import words
from genie_core.room.security.sealing import seal
from genie_core.room.state.proofs import UNSIGNED
from genie_tui.cli.plain.lines import (
    call_entries,
    entries_of,
    json_of,
    last_entries,
    request_entry,
    thread_entries,
)


@pytest.fixture
def joined() -> ScriptedJoinedRoom:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    return joined


def told(joined: ScriptedJoinedRoom, *events: Event) -> list[str]:
    return list(entries_of(events, joined.state))


def test_edits_replies_reactions_are_worded(joined: ScriptedJoinedRoom) -> None:
    (first,) = joined.feed(MessagePosted("1", "lunch?"), by="bob")
    (reply,) = joined.feed(MessagePosted("2", "yes", reply_to=first.seq))
    (on, off) = joined.feed(ReactionChanged(5, "👍"), ReactionChanged(5, "👍", on=False))
    (edit,) = joined.feed(MessageEdited(5, "lunch at 12?\nor at 1?"), by="bob")
    assert told(joined, first, reply, on, off, edit) == [
        "[5] bob (edited): lunch at 12?\nor at 1?",
        "[6] ann (in reply to bob [5]): yes",
        "[7] ann reacted to message 5: 👍",
        "[8] ann took back a reaction to message 5: 👍",
        "[9] bob edited message 5: lunch at 12?\nor at 1?",
    ]
    (gone,) = joined.feed(MessageDeleted(5), by="bob")
    shown = told(joined, first, edit, gone)
    assert shown == [
        "[5] bob deleted this message",
        "[9] bob edited message 5, which is deleted",
        "[10] bob deleted message 5",
    ]


def test_edit_by_other_has_no_effect(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.feed(MessagePosted("1", "no"), by="bob")
    (edit,) = joined.feed(MessageEdited(5, "yes"), by="eve")
    assert told(joined, edit) == ["[6] eve tried to change message 5, without effect"]


def test_what_is_not_proven_is_marked(joined: ScriptedJoinedRoom) -> None:
    log = founded("bob", "ann")
    said = log.add("bob", MessagePosted("m", "hello"))
    forged = log.add("ann", MessagePosted("f", "allow it"), signer="bob")
    edit = log.add("ann", MessageEdited(said.seq, "no"))
    shown = list(entries_of([said, forged, edit], log.state))
    assert shown[0] == f"[{said.seq}] bob: hello"
    assert shown[1] == f"[{forged.seq}] ann (⚠ not proven: {UNSIGNED}): allow it"
    assert "without effect (⚠ not proven: its author did not write that message)" in shown[2]


def test_recovered_message_names_source(joined: ScriptedJoinedRoom) -> None:
    original = Event(70, 1.0, "cleo", MessagePosted("r", "from before"))
    (event,) = joined.feed(RecoveredEvent(original), by="bob")
    entry = "[5] cleo (recovered from bob's copy): from before"
    assert told(joined, event) == [entry]
    assert next(thread_entries(joined.state.threads[5], joined.state)) == entry


def test_the_work_of_agents_is_told(joined: ScriptedJoinedRoom) -> None:
    seq = joined.say_here("@genie dig", "bob")
    bodies: list[AnyBody] = [
        DecisionMade(seq, "delegate", receiver="bob"),
        ApprovalRequested(seq, "a", "genie", "rm\x1b", {}),
        ApprovalResolved(seq, "a", "denied", "not today"),
        AnswerPosted(seq, "I may not.\nSorry.", "bob", cut=True),
    ]
    shown = told(joined, *joined.feed(*bodies))
    assert shown[0] == "[7] about [5], call 7: genie › genie asks for rm␛: no arguments"
    assert shown[1] == "[8] about [5], call 7: denied rm␛ by ann: not today"
    assert shown[2].startswith("[9] genie to bob, about [5]: I may not.\nSorry.\n[incomplete")
    failed, stopped = joined.say_here("x", "bob"), joined.say_here("y", "bob")
    events = joined.feed(
        RunFailed(failed, "agent", "no model", text="Well"), RunCancelled(stopped, "stopped by bob")
    )
    assert told(joined, *events) == [
        "[12] genie to bob, about [10]: Well\n[incomplete: genie could not answer bob: no model]",
        "[13] about [11]: genie's work for bob was stopped by bob",
    ]
    (damaged,) = joined.feed(UnreadableEvent("torn"))
    assert told(joined, damaged) == ["[14] entry 14 can't be read: torn"]


def test_files_and_quotes_share_one_entry(joined: ScriptedJoinedRoom) -> None:
    quote = Quote("r", "Old", (QuotedLine("eve", "a\n[9] ann: yes"),))
    file = FileRef("0" * 64, "a\n[9] ann: no.txt", 5)
    (event,) = joined.feed(MessagePosted("1", "see", files=(file,), quotes=(quote,)), by="bob")
    (entry,) = told(joined, event)
    assert entry.split("\n")[:3] == [
        "[5] bob (with 1 file; quotes 1 message): see",
        "file 1: a_[9] ann_ no.txt, 5 bytes",
        "── from Old ──",
    ]
    assert len(told(joined, event)) == 1


def private_log() -> tuple[FoundedLog, list[Event]]:
    """A room in which ann and bob whisper, and what its log has of that."""
    log = founded("bob", "cleo")
    body = MessagePosted("p", "the secret", to="bob")
    keys = (identity("ann").key, identity("bob").key)
    said = log.add("ann", seal(body, keys[0], keys))
    change = seal(MessageEdited(said.seq, "another secret"), keys[0], keys)
    return log, [said, log.add("ann", change), log.add("ann", MessageDeleted(said.seq))]


def test_private_text_of_others_is_hidden() -> None:
    log, events = private_log()
    assert list(entries_of(events, log.state)) == []
    printed = [json.loads(json_of(event, log.state)) for event in events]
    assert all(entry["hidden"] for entry in printed)
    assert not any("secret" in json_of(event, log.state) for event in events)
    assert not any("sealed" in entry["body"] for entry in printed)


def test_a_private_message_names_its_reader(joined: ScriptedJoinedRoom) -> None:
    (event,) = joined.feed(MessagePosted("1", "psst", to="ann", sealed=(b"x",)), by="bob")
    (own,) = joined.feed(MessagePosted("2", "dig", to="ann", sealed=(b"x",)))
    assert told(joined, event, own) == [
        "[5] bob (private, to ann): psst",
        "[6] ann (private, to genie): dig",
    ]


def test_json_says_what_counts() -> None:
    log = founded("bob", "ann")
    said = log.add("bob", MessagePosted("m", "hi \x1b[31m"))
    edit = log.add("ann", MessageEdited(said.seq, "no"))
    entries: list[dict[str, Any]] = [json.loads(json_of(each, log.state)) for each in (said, edit)]
    assert entries[0]["body"]["text"] == "hi \x1b[31m"
    assert [(each["doubt"], each["effect"]) for each in entries] == [
        ("", True),
        ("its author did not write that message", False),
    ]
    assert "\x1b" not in json_of(said, log.state)


def test_the_last_entries_are_whole_ones(joined: ScriptedJoinedRoom) -> None:
    joined.feed(MessagePosted("1", "a\n" * 50), MessagePosted("2", "b"))
    last = last_entries(joined.events, joined.state, 2)
    assert [each.split(":")[0] for each in last] == ["[5] ann", "[6] ann"]
    assert last_entries(joined.events, joined.state, -1) == []


def open_call(joined: ScriptedJoinedRoom, **more: Any) -> list[str]:
    seq = joined.say_here("tidy up\nCALL 9: fine", "bob")
    arguments = {"command": "rm -rf ~\nCALL 9: your agent asks to use calculate"}
    asked = ApprovalRequested(seq, "a", "genie", "run_command", arguments, **more)
    joined.feed(DecisionMade(seq, "delegate"), asked)
    (call,) = joined.state.pending_for("ann")
    return list(call_entries(call, joined.state.threads[seq], None, "Runs a program."))


def test_call_shows_all_known_details(joined: ScriptedJoinedRoom) -> None:
    entries = open_call(
        joined,
        where="ann's machine",
        risk="execute",
        because="it runs programs",
        origins=("messages of eve", "page https://e.org"),
        effects=("runs rm -rf ~",),
    )
    text = "\n".join(entries)
    for part in (
        "CALL 7: your agent asks to use run_command",
        "Asked by: bob, ",
        "Message: tidy up",
        "Runs on: ann's machine",
        "Effect: runs rm -rf ~",
        "Argument command: rm -rf ~",
        "What the tool says of itself: Runs a program.",
        "Risk: runs programs",
        "Asked because: it runs programs",
        "Words of others that the agent has read: messages of eve, page https://e.org",
        "Type /allow 7 ",
    ):
        assert part in text
    assert sum(each.startswith("CALL") for each in entries) == 1
    joined.feed(MessageEdited(5, "wipe it"), by="bob")
    (call,) = joined.state.pending_for("ann")
    effects = ToolEffects(
        (ToolEffect("write", "a"),),
        True,
        "a pipe",
        True,
        diff="-a\n+b",
        refusal="no",
        sandbox="box",
        unheld="it may read b",
    )
    again = "\n".join(call_entries(call, joined.state.threads[5], effects))
    for part in (
        "Message: wipe it\nPosted as: tidy up",
        "Effect: writes a",
        "may run anything: a pipe",
        "Effect: it may read b",
    ):
        assert part in again
    for part in ("private data", "Change:\n-a\n+b", "The tool will refuse it: no", "Sandbox: box"):
        assert part in again


def test_join_request_shows_kind_and_key() -> None:
    key = identity("eve").key
    entry = request_entry(JoinRequested(6, "bob\n", key, "10.0.0.66", kind="agent"))
    assert entry.startswith("JOIN REQUEST 6: bob␤, an agent, from 10.0.0.66. ")
    assert words(key) in entry
    assert "/admit 6 or /refuse 6" in entry
    assert "from this machine" in request_entry(JoinRequested(7, "bob", key, "loopback"))


def test_entry_repeats_with_reactions(joined: ScriptedJoinedRoom) -> None:
    seq = joined.say_here("why?", "bob")
    joined.feed(DecisionMade(seq, "delegate"), AnswerPosted(seq, "So."))
    joined.feed(ReactionChanged(seq, "👍"), ReactionChanged(seq, "👀", answer=True))
    first, _, *rest = thread_entries(joined.state.threads[seq], joined.state)
    assert first == "[5] bob: why?"
    assert rest == [
        "Reaction 👍 by ann",
        "[7] genie to bob, about [5]: So.",
        "Reaction 👀 by ann",
    ]
