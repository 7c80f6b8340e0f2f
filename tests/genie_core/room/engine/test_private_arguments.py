import logging
from pathlib import Path
from typing import Any

import pytest

from genie_core.room.engine.private_arguments import PrivateArguments
from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    MessagePosted,
    RunFailed,
)

ARGUMENTS = {"path": "/home/hana/secret"}


def asked(approval: str = "a", *, withheld: bool = True) -> Event:
    return Event(
        7, 1.0, "hana", ApprovalRequested(3, approval, "agent", "rm", {}, withheld=withheld)
    )


def note(
    own: PrivateArguments, approval: str, arguments: dict[str, Any], *, withheld: bool = True
) -> None:
    own.add(ApprovalRequested(3, approval, "agent", "rm", arguments, withheld=withheld))


def shown(event: Event) -> dict[str, Any]:
    assert isinstance(event.body, ApprovalRequested)
    return event.body.arguments


def test_only_who_kept_the_arguments_sees_them() -> None:
    kept, other = PrivateArguments(), PrivateArguments()
    note(kept, "a", ARGUMENTS)
    assert kept.hides("a")
    assert not other.hides("a")
    assert shown(kept.reveal(asked())) == ARGUMENTS
    assert shown(other.reveal(asked())) == {}
    said = Event(8, 1.0, "bob", MessagePosted("1", "hi"))
    assert kept.reveal(said) is said


def test_only_recorder_sees_details() -> None:
    own = PrivateArguments()
    told = RunFailed(3, "agent", "the model's provider refused the key; hana sees the details")
    own.add_failure(told, "refused at gateway")
    shown = own.reveal(Event(8, 1.0, "hana", told)).body
    assert shown == RunFailed(3, "agent", "refused at gateway")
    for other in (RunFailed(4, "agent", told.error), RunFailed(3, "lost", "it ended")):
        assert own.reveal(Event(9, 1.0, "hana", other)).body == other
    assert PrivateArguments().reveal(Event(8, 1.0, "hana", told)).body == told
    for message in range(1_000):
        own.add_failure(RunFailed(message, "agent", "gone"), "gone for good")
    assert own.reveal(Event(8, 1.0, "hana", told)).body == told


def test_lost_details_are_not_promised() -> None:
    told = RunFailed(3, "agent", "the provider refused the key; hana sees the details")
    own = PrivateArguments.to_owner(Event(8, 1.0, "hana", told), "hana").body
    assert own == RunFailed(
        3, "agent", "the provider refused the key; the details were shown when it failed"
    )
    assert PrivateArguments.to_owner(Event(8, 1.0, "hana", told), "ben").body == told
    said = Event(8, 1.0, "hana", MessagePosted("1", "hana sees the details"))
    assert PrivateArguments.to_owner(said, "hana") is said


def test_own_call_overrides_host_claim() -> None:
    own = PrivateArguments()
    own.add(ApprovalRequested(3, "a", "agent", "rm", ARGUMENTS))
    lie = Event(7, 1.0, "hana", ApprovalRequested(3, "a", "agent", "list", {"path": "harmless"}))
    told = own.reveal(lie).body
    assert isinstance(told, ApprovalRequested)
    assert (told.tool, told.arguments) == ("rm", ARGUMENTS)
    assert not own.hides("a")


def test_settled_call_is_still_shown() -> None:
    own = PrivateArguments()
    own.add(ApprovalRequested(3, "a", "agent", "rm", ARGUMENTS))
    own.forget(ApprovalResolved(3, "a", "expired"))
    lie = Event(9, 1.0, "hana", ApprovalRequested(3, "a", "agent", "list", {"path": "harmless"}))
    told = own.reveal(lie).body
    assert isinstance(told, ApprovalRequested)
    assert (told.tool, told.arguments) == ("rm", ARGUMENTS)


def test_arguments_survive_in_private_file(tmp_path: Path) -> None:
    path = tmp_path / "room" / "withheld.jsonl"
    first = PrivateArguments(path)
    first.load()
    note(first, "a", ARGUMENTS)
    note(first, "b", {"n": 1})
    assert path.stat().st_mode & 0o777 == 0o600
    again = PrivateArguments(path)
    assert not again.hides("a")
    again.load()
    assert shown(again.reveal(asked("a"))) == ARGUMENTS
    assert shown(again.reveal(asked("b"))) == {"n": 1}


def test_decided_is_forgotten_parked_kept() -> None:
    kept = PrivateArguments()
    for approval in ("a", "b"):
        note(kept, approval, ARGUMENTS)
    kept.forget(ApprovalResolved(3, "a", "approved"))
    kept.forget(ApprovalResolved(3, "b", "parked"))
    kept.forget(ApprovalResolved(3, "never kept", "denied"))
    assert (kept.hides("a"), kept.hides("b")) == (False, True)


def test_damaged_lines_cost_only_themselves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "withheld.jsonl"
    first = PrivateArguments(path)
    note(first, "a", ARGUMENTS)
    with path.open("ab") as file:
        file.write(b'{"approval": "b", "argu\n\xff\xfe\n{"approval": 3, "arguments": {}}\n')
    note(first, "c", ARGUMENTS)
    again = PrivateArguments(path)
    with caplog.at_level(logging.WARNING):
        again.load()
    assert [again.hides(approval) for approval in "abc"] == [True, False, True]
    assert "damaged" in caplog.text
    assert "secret" not in caplog.text


def test_a_disk_that_refuses_costs_nothing_now(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    kept = PrivateArguments(tmp_path / "file" / "withheld.jsonl")
    kept.load()
    note(kept, "a", ARGUMENTS)
    assert shown(kept.reveal(asked())) == ARGUMENTS
    assert "can't write private arguments" in caplog.text
    assert "secret" not in caplog.text


def test_unserialisable_stays_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "withheld.jsonl"
    kept = PrivateArguments(path)
    note(kept, "a", {"x": object()})
    note(kept, "b", {"x": "\ud800"})
    assert kept.hides("a")
    assert kept.hides("b")
    again = PrivateArguments(path)
    again.load()
    assert not again.hides("a")


def test_settled_is_removed_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "withheld.jsonl"
    first = PrivateArguments(path)
    for approval in "abc":
        note(first, approval, ARGUMENTS)
    again = PrivateArguments(path)
    again.load()
    again.keep_only(["b", "never kept"])
    assert [again.hides(approval) for approval in "abc"] == [False, True, False]
    assert len(path.read_bytes().splitlines()) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    note(again, "d", ARGUMENTS)
    last = PrivateArguments(path)
    last.load()
    assert [last.hides(approval) for approval in "bd"] == [True, True]
