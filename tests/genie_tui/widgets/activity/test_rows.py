import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    MessagePosted,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.view.approvals import WITHHELD
from genie_core.room.view.entries import Tone
from genie_tui.widgets.activity.rows import (
    KEPT_ROWS,
    MOST_ROWS,
    ActivityRow,
    ActivityRows,
    RowFilter,
    RowKind,
    details,
    headline,
    searchable,
)


def activity_list(*bodies: RunBody, text: str = "hello", author: str = "ann") -> ActivityRows:
    """The log after one message and what was done about it; the message is number 5."""
    joined = ScriptedJoinedRoom()
    joined.open_room()
    assert joined.say_here(text, author) == 5
    joined.feed(*bodies)
    log = ActivityRows()
    for event in joined.events:
        log.apply(event)
    return log


def test_a_message_without_an_engine_has_no_row() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    log = ActivityRows()
    assert [log.apply(event) for event in joined.feed(MessagePosted("x", "hi"))] == [()]


def test_undecided_message_is_deciding() -> None:
    log = activity_list()
    assert (log.rows[0].kind, headline(log.rows[0]).tone) == (RowKind.DECISION, Tone.BUSY)


def test_ignore_names_its_reason() -> None:
    line = headline(
        activity_list(DecisionMade(5, "ignore", reason="small talk", elapsed=0.5)).rows[0]
    )
    assert (line.tone, line.verdict, line.reason, line.took) == (
        Tone.QUIET,
        "stayed silent",
        "small talk",
        "0.5 s",
    )


def test_delegation_names_query_and_target() -> None:
    decided = DecisionMade(5, "delegate", "it is a question", query="do it", receiver="bob")
    line = headline(activity_list(decided).rows[0])
    assert "bob" in line.verdict
    assert (line.reason, line.subject) == ("it is a question", "do it")


def test_a_failed_reasoner_is_not_silence() -> None:
    failed = headline(activity_list(RunFailed(5, "reasoner", "no key")).rows[0])
    ignored = headline(activity_list(DecisionMade(5, "ignore")).rows[0])
    assert failed.tone is Tone.BAD
    assert failed.tone is not ignored.tone
    assert (failed.verdict, failed.reason) == ("could not answer ann", "reasoner failed: no key")


def test_failure_omits_agent_owner() -> None:
    known = headline(
        activity_list(RunFailed(5, "agent", "agent 'system' of bob: model 'x' failed")).rows[0]
    )
    named = headline(activity_list(RunFailed(5, "agent", "agent 'coder' of bob: it broke")).rows[0])
    setup = headline(activity_list(RunFailed(5, "factory", "model 'x' needs KEY: set it")).rows[0])
    assert (known.verdict, known.reason) == ("could not answer ann", "model 'x' failed")
    assert named.reason == "agent 'coder' of bob: it broke"
    assert setup.reason == "set-up failed: model 'x' needs KEY: set it"


def test_late_failure_is_separate_row() -> None:
    log = activity_list(DecisionMade(5, "delegate"), RunFailed(5, "agent", "broke"))
    assert [row.kind for row in log.rows] == [RowKind.DECISION, RowKind.FAILURE]


def test_approval_is_one_row() -> None:
    log = activity_list(
        DecisionMade(5, "delegate"),
        ApprovalRequested(5, "p", "genie", "rm", {"path": "x"}),
        ApprovalResolved(5, "p", "denied", reason="not that one"),
    )
    line = headline(log.rows[1])
    assert (line.verdict, line.reason, line.took) == ("denied rm by ann", "not that one", "1.0 s")
    assert line.subject == "genie › genie: path x"


def test_a_parked_approval_can_be_allowed_later() -> None:
    log = activity_list(
        DecisionMade(5, "delegate"),
        ApprovalRequested(5, "p", "genie", "rm", {}),
        ApprovalResolved(5, "p", "parked"),
        ApprovalResolved(5, "p", "approved", scope="session", covers="docs/*"),
    )
    assert headline(log.rows[1]).verdict == "allowed rm for the session (docs/*) by ann"


def test_parked_approval_survives_stop() -> None:
    log = activity_list(
        DecisionMade(5, "delegate", query="q"),
        ApprovalRequested(5, "x", "system", "tool", {}),
        ApprovalResolved(5, "x", "parked"),
        RunCancelled(5, "suspended"),
    )
    assert [headline(row).verdict for row in log.rows if row.kind is RowKind.APPROVAL] == [
        "parked tool"
    ]


def test_pending_approval_ends_unanswered() -> None:
    log = activity_list(
        DecisionMade(5, "delegate"),
        ApprovalRequested(5, "p", "genie", "rm", {}),
        RunCancelled(5, "by ann"),
    )
    assert [headline(row).verdict for row in log.rows[1:]] == ["unanswered rm", "was stopped"]


def test_tells_which_rows_an_event_changed() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    message = joined.say_here("hello")
    joined.feed(
        DecisionMade(message, "delegate"),
        ApprovalRequested(message, "p", "genie", "rm", {}),
        RunFailed(message, "agent", "broke"),
    )
    log = ActivityRows()
    assert [log.apply(event) for event in joined.events][4:] == [(0,), (0,), (1,), (1, 0, 2)]


def test_filters() -> None:
    log = activity_list(
        DecisionMade(5, "delegate"),
        ApprovalRequested(5, "p", "genie", "rm", {}),
        ApprovalResolved(5, "p", "approved"),
        AnswerPosted(5, "done"),
        author="bob",
    )

    def shown(chosen: RowFilter, me: str = "ann") -> list[RowKind]:
        return [row.kind for row in log.rows if row.passes(chosen, me)]

    assert shown(RowFilter.ALL) == [RowKind.DECISION, RowKind.APPROVAL, RowKind.ANSWER]
    assert shown(RowFilter.DECISIONS) == [RowKind.DECISION]
    assert shown(RowFilter.APPROVALS) == [RowKind.APPROVAL]
    assert shown(RowFilter.FAILURES) == []
    assert len(shown(RowFilter.MINE)) == len(shown(RowFilter.MINE, "bob")) == 3
    assert shown(RowFilter.MINE, "cleo") == []


def test_a_failed_decision_passes_the_failures() -> None:
    assert activity_list(RunFailed(5, "reasoner", "x")).rows[0].passes(RowFilter.FAILURES, "")


def test_filters_go_around() -> None:
    seen = [RowFilter.ALL]
    while (following := seen[-1].after()) is not RowFilter.ALL:
        seen.append(following)
    assert seen == list(RowFilter)


def test_lines_are_one_line_and_show_what_hides() -> None:
    line = headline(activity_list(DecisionMade(5, "ignore", reason="a\nb\x1b[31m\u202e")).rows[0])
    assert "\n" not in line.reason
    assert "\x1b" not in line.reason
    assert "⟨U+202E⟩" in line.reason


def test_details_hold_everything() -> None:
    row = activity_list(
        DecisionMade(5, "delegate"),
        ApprovalRequested(5, "p", "system/sub", "rm", {"path": "x\x1b"}, "here"),
        ApprovalResolved(5, "p", "denied", reason="no"),
    ).rows[1]
    fields = dict(details(row))
    assert fields["agent"] == "genie › sub"
    assert fields["arguments"] == "path:\nx␛"
    assert fields["outcome"].startswith("denied")
    assert fields["reason"] == "no"
    assert "hello" in fields["message"]


def test_search_covers_author_text_verdict() -> None:
    row = activity_list(DecisionMade(5, "ignore", reason="Small talk"), text="Good MORNING").rows[0]
    for part in ("ann", "morning", "small talk", "stayed silent"):
        assert part in searchable(row)


def test_what_is_withheld_is_said_to_be() -> None:
    log = activity_list(
        DecisionMade(5, "delegate"), ApprovalRequested(5, "p", "genie", "rm", {}, withheld=True)
    )
    row = log.rows[-1]
    assert WITHHELD in headline(row).subject
    assert ("arguments", WITHHELD) in details(row)


# -- by what a call was settled


def settled_row(settled: ApprovalResolved, *, because: str = "", risk: str = "") -> ActivityRow:
    asked = ApprovalRequested(
        5, "p", "genie", "rm", {"path": "a", "n": 1}, because=because, risk=risk
    )
    return activity_list(DecisionMade(5, "delegate"), asked, settled).rows[1]


@pytest.mark.parametrize(
    ("settled", "verdict", "outcome", "reason"),
    [
        (ApprovalResolved(5, "p", "approved"), "allowed rm by ann", "approved", None),
        (
            ApprovalResolved(5, "p", "approved", scope="times", count=5),
            "allowed rm 5 times by ann",
            "approved 5 times",
            None,
        ),
        (
            ApprovalResolved(5, "p", "approved", scope="session"),
            "allowed rm for the session by ann",
            "approved for the session",
            None,
        ),
        (
            ApprovalResolved(5, "p", "approved", "it only reads", how="rule"),
            "allowed rm by rule",
            "approved by rule",
            "it only reads",
        ),
        (
            ApprovalResolved(5, "p", "approved", "2 more to come", how="grant"),
            "allowed rm in advance",
            "approved by what was allowed before",
            "2 more to come",
        ),
        (
            ApprovalResolved(5, "p", "approved", "auto mode", how="auto"),
            "allowed rm in auto mode",
            "approved in auto mode",
            None,
        ),
        (
            ApprovalResolved(5, "p", "denied", "rule 1 denies rm", how="rule"),
            "denied rm by rule",
            "denied by rule",
            "rule 1 denies rm",
        ),
    ],
)
def test_a_row_says_by_what_a_call_was_settled(
    settled: ApprovalResolved, verdict: str, outcome: str, reason: str | None
) -> None:
    row = settled_row(settled, because="it writes files", risk="write")
    assert headline(row).verdict == verdict
    fields = dict(details(row))
    assert (fields["outcome"], fields.get("reason")) == (outcome, reason)
    assert (fields["because"], fields["risk"]) == ("it writes files", "writes")
    assert "changes" not in fields


def test_edited_call_shows_changes() -> None:
    changed = ApprovalResolved(5, "p", "approved", arguments={"path": "b", "n": 1}, how="edit")
    row = settled_row(changed)
    assert headline(row).verdict == "allowed rm with changes by ann"
    lines = dict(details(row))["changes"].split("\n")
    assert lines[1:] == ['-path: "a"', '+path: "b"', " n: 1"]
    withheld = activity_list(
        DecisionMade(5, "delegate"),
        ApprovalRequested(5, "p", "genie", "rm", {}, withheld=True),
        ApprovalResolved(5, "p", "approved", how="edit"),
    ).rows[1]
    assert headline(withheld).verdict == "allowed rm with changes by ann"
    assert "changes" not in dict(details(withheld))


# -- when there are too many


def crowded(log: ActivityRows, joined: ScriptedJoinedRoom) -> None:
    """Let so much happen that what was before goes."""
    for number in range(MOST_ROWS + 1):
        for event in joined.feed(MessagePosted(f"m{number}", "and more", handler="ann")):
            log.apply(event)
        for event in joined.feed(DecisionMade(joined.state.head, "ignore")):
            log.apply(event)
    assert log.forget_old()


def begun(*bodies: RunBody) -> tuple[ActivityRows, ScriptedJoinedRoom]:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    assert joined.say_here("hello") == 5
    joined.feed(*bodies)
    log = ActivityRows()
    for event in joined.events:
        log.apply(event)
    return log, joined


def test_old_rows_go_and_numbers_stay() -> None:
    log, joined = begun(DecisionMade(5, "ignore"))
    assert not log.forget_old()
    crowded(log, joined)
    assert len(log.rows) == KEPT_ROWS
    assert log.numbers == range(log.forgotten, log.forgotten + KEPT_ROWS)
    assert [log.row(number) for number in log.numbers] == log.rows
    message = joined.say_here("next")
    assert log.apply(joined.events[-1]) == (log.numbers[-1],)
    assert log.row(log.numbers[-1]).said.seq == message


def test_running_work_outlives_trimmed_row() -> None:
    log, joined = begun(DecisionMade(5, "delegate"), ApprovalRequested(5, "p", "genie", "rm", {}))
    crowded(log, joined)
    assert log.working(5) is None
    (settled,) = joined.feed(ApprovalResolved(5, "p", "approved"))
    assert log.apply(settled) == ()
    (answered,) = joined.feed(AnswerPosted(5, "at last"))
    assert log.apply(answered) == (log.numbers[-1],)
    assert log.rows[-1].kind is RowKind.ANSWER


def test_parked_call_outlives_trimmed_row() -> None:
    log, joined = begun(
        DecisionMade(5, "delegate"),
        ApprovalRequested(5, "p", "genie", "rm", {}),
        ApprovalResolved(5, "p", "parked"),
        RunCancelled(5, "suspended"),
    )
    crowded(log, joined)
    (decided,) = joined.feed(DecisionMade(5, "delegate"))
    assert log.apply(decided) == (log.numbers[-1],)


def test_finished_work_is_forgotten() -> None:
    log, joined = begun(DecisionMade(5, "ignore"))
    crowded(log, joined)
    (late,) = joined.feed(RunFailed(7, "lost", "late"))
    assert log.apply(late) == ()
