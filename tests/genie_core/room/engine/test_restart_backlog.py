from genie_core.room.engine.restart_backlog import TAKEN_BACK, Backlog
from genie_core.room.protocol.events import MessagePosted, RunCancelled
from genie_core.room.state.thread import MessageThread, Phase


def waiting() -> Backlog:
    backlog = Backlog("ann")
    authors = {5: "gus", 6: "eve", 7: "gus"}
    backlog.hold(
        MessageThread(seq, 1.0, author, MessagePosted(str(seq), "hi", "ann"), Phase.DECIDING)
        for seq, author in authors.items()
    )
    return backlog


def test_what_waits_is_asked_about_once() -> None:
    backlog = waiting()
    assert "3 messages from before the restart" in backlog.question
    assert [each.seq for each in backlog.choose("latest")] == [5]
    assert [each.seq for each in backlog.due] == [6, 7]
    assert [type(each) for each in backlog.unreported] == [RunCancelled]
    assert backlog.question == ""
    assert backlog.choose("none") == []


def test_deleted_messages_are_not_answered() -> None:
    backlog = waiting()
    backlog.waiting[7].is_deleted = True
    assert [each.seq for each in backlog.choose("latest")] == [7]
    assert [each.seq for each in backlog.due] == [5, 6]
    assert list(backlog.unreported) == [RunCancelled(7, TAKEN_BACK)]


def test_all_are_answered_in_order_or_none() -> None:
    backlog = waiting()
    assert backlog.choose("all") == []
    assert [each.seq for each in backlog.due] == [5, 6, 7]
    backlog = waiting()
    assert [each.seq for each in backlog.choose("none")] == [5, 6, 7]
    assert not backlog.due
