"""A room's log as the visitors of a page are shown it."""

from typing import Any

import msgspec
import pytest
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import founded

from genie_core.room.protocol.errors import UnprovenHost
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    FileRef,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    ReactionChanged,
)
from genie_core.room.security.sealing import seal
from genie_serve.web import feed as module
from genie_serve.web.feed import RoomFeed


def feed_of(log: Any) -> RoomFeed:
    feed = RoomFeed()
    for event in log.events:
        feed.apply(event, log.state.room)
    return feed


def shown(feed: RoomFeed, since: int = 0) -> list[dict[str, Any]]:
    entries = (feed.entry(number) for number, _ in feed.changed_since(since))
    return [msgspec.json.decode(each) for each in entries if each is not None]


def raw(feed: RoomFeed, number: int) -> bytes:
    entry = feed.entry(number)
    return b"" if entry is None else bytes(memoryview(entry))


def numbers(feed: RoomFeed, since: int) -> list[int]:
    return [number for number, _ in feed.changed_since(since)]


def test_silence_and_answer_are_entries() -> None:
    log = founded("bob")
    first, second = log.says("ann", "hello\u202e"), log.says("bob", "@genie?")
    log.add("ann", DecisionMade(first.seq, "ignore", "small talk"))
    log.add("bob", DecisionMade(second.seq, "delegate", query="?", receiver="bob"))
    answer = log.add("bob", AnswerPosted(second.seq, "<b>42</b>", "bob"))
    feed = feed_of(log)
    found = {each["seq"]: each for each in shown(feed)}
    assert found[first.seq]["text"] == "hello⟨U+202E⟩"
    assert found[first.seq]["work"]["line"] == "genie stayed silent: small talk"
    assert "stay silent" in found[first.seq]["work"]["detail"]
    assert "work" not in found[second.seq]
    assert (found[answer.seq]["text"], found[answer.seq]["to"]) == ("<b>42</b>", "bob")
    assert [each["type"] for each in found.values()].count("notice") == 4


def test_only_changed_entries_repeat() -> None:
    log = founded("bob")
    first = log.says("ann", "one")
    log.says("bob", "two")
    reply = log.add("bob", MessagePosted("r", "re", reply_to=first.seq))
    feed, head = feed_of(log), log.state.head
    feed.apply(log.add("bob", ReactionChanged(first.seq, "👍")), log.state.room)
    assert first.seq in numbers(feed, head)
    head = log.state.head
    feed.apply(log.add("ann", MessageEdited(first.seq, "better")), log.state.room)
    assert sorted(numbers(feed, head)) == [first.seq, reply.seq]
    by_seq = {each["seq"]: each for each in shown(feed, head)}
    assert by_seq[first.seq]["text"] == by_seq[reply.seq]["reply"]["text"] == "better"
    assert by_seq[first.seq]["marks"] == ["edited"]
    assert by_seq[first.seq]["reactions"] == [{"text": "👍", "by": ["bob"]}]


def test_deleted_message_leaves_quotes() -> None:
    log = founded("bob")
    file = FileRef("a" * 64, "plan.txt", 3)
    first = log.add("ann", MessagePosted("x", "secret", files=(file,)))
    log.add("bob", MessagePosted("r", "re", reply_to=first.seq))
    assert b"plan.txt" in raw(feed_of(log), first.seq)
    log.add("ann", MessageDeleted(first.seq))
    entries = b"".join(raw(feed_of(log), number) for number in range(log.state.head + 1))
    assert b"secret" not in entries
    assert b"plan.txt" not in entries


def test_tool_call_shows_name_and_end_only() -> None:
    log = founded()
    said = log.says("ann", "@genie run it")
    log.add("ann", DecisionMade(said.seq, "delegate", query="q"))
    call = ApprovalRequested(
        said.seq, "c1", "system", "run_command", {"command": "cat passwords"}, "ann's machine",
        effects=("runs cat passwords",), because="a rule",
    )  # fmt: skip
    log.add("ann", call)
    waiting = shown(feed_of(log), said.seq)[0]["work"]
    assert waiting["line"] == "genie: waiting for ann's approval of run_command"
    log.add("ann", ApprovalResolved(said.seq, "c1", "denied", "no"))
    feed = feed_of(log)
    assert shown(feed, said.seq)[0]["work"]["calls"] == ["run_command: denied"]
    assert b"passwords" not in raw(feed, said.seq)


def test_private_message_is_no_entry() -> None:
    log = founded("bob")
    keys = [identity("ann").key, identity("bob").key]
    said = seal(MessagePosted("p", "between us", to="bob"), keys[0], keys)
    private = log.add("ann", said)
    feed = feed_of(log)
    assert feed.entry(private.seq) is None
    assert private.seq in numbers(feed, private.seq - 1)


def test_no_entry_has_a_key_or_an_address() -> None:
    log = founded("bob")
    feed = feed_of(log)
    everything = b"".join(raw(feed, number) for number, _ in feed.changed_since(0))
    assert everything
    for name in ("ann", "bob"):
        assert identity(name).key.encode() not in everything


def test_only_the_latest_entries_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 5)
    log = founded()
    messages = [log.says("ann", str(number)) for number in range(20)]
    feed = feed_of(log)
    kept = numbers(feed, 0)
    assert 5 <= len(kept) <= 10
    assert kept[-1] == messages[-1].seq
    assert feed.dropped < kept[0]
    head = log.state.head
    feed.apply(log.add("ann", MessageEdited(messages[0].seq, "late")), log.state.room)
    assert numbers(feed, head) == []


def test_a_host_who_may_not_host_is_refused() -> None:
    log = founded("bob")
    log.names()
    feed = feed_of(log)
    log.hosts("bob")
    with pytest.raises(UnprovenHost):
        feed.apply(log.events[-1], log.state.room)
