import pytest
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
)
from genie_core.room.view.agents import LONGEST, MOST, agent_path, depth_of, in_order, stems
from genie_core.runtime.progress import plan_note
from genie_tui.widgets.agent_tree import MOST_STEPS, RunningAgents


def working(joined: ScriptedJoinedRoom) -> int:
    """A message that an agent works on; its number."""
    joined.open_room()
    seq = joined.say_here("what is it?")
    joined.feed(DecisionMade(seq, "delegate", query="?", receiver="ann"), by="ann")
    return seq


def shown(work: RunningAgents, joined: ScriptedJoinedRoom) -> list[tuple[str, str]]:
    return [(each.label, each.doing) for each in work.rows(joined.state, "ann", "ann")]


def test_agents_stand_below_their_director() -> None:
    paths = ["a:1/b:2/c:3", "a:1/d:4", "x:9", "a:1", "system"]
    ordered = in_order(paths)
    assert ordered == ["system", "a:1", "a:1/b:2", "a:1/b:2/c:3", "a:1/d:4", "x:9"]
    assert stems([depth_of(each) for each in ordered]) == [
        "",
        "├ ",
        "│ ├ ",
        "│ │ └ ",
        "│ └ ",
        "└ ",
    ]


def test_an_agent_alone_is_no_tree() -> None:
    joined, work = ScriptedJoinedRoom(), RunningAgents(HandClock())
    work.report(working(joined), "system", "asking", "")
    assert shown(work, joined) == []


def test_lone_silent_agent_is_shown() -> None:
    clock = HandClock()
    joined, work = ScriptedJoinedRoom(), RunningAgents(clock)
    work.report(working(joined), "system", "calling", "read_file")
    clock.rest(12)
    assert shown(work, joined) == [("genie", "◐ calling read_file, 12 s")]


def test_a_plan_is_a_list_below_its_agent() -> None:
    joined, work = ScriptedJoinedRoom(), RunningAgents(HandClock())
    seq = working(joined)
    work.report(seq, "system", "asking", "")
    work.report(seq, "system", "note", plan_note(["✓ Look;\nclosely", "▸ Act; now", "· \x1bRest"]))
    work.report(seq, "system", "writing", "")
    assert shown(work, joined) == [
        ("genie", "◐ writing…"),
        ("✓ Look; closely".replace("; ", ", "), ""),
        ("▸ Act, now", ""),
        ("· ␛Rest", ""),
    ]
    work.report(seq, "system", "note", plan_note(["✓ All"]))
    assert shown(work, joined)[1:] == [("✓ All", "")]
    work.report(seq, "system", "note", plan_note(["", *map(str, range(99))]))
    assert [label for label, _ in shown(work, joined)[1:]] == [*map(str, range(MOST_STEPS))]


def test_activity_and_approver_are_shown() -> None:
    joined, work = ScriptedJoinedRoom(), RunningAgents(HandClock())
    seq = working(joined)
    work.report(seq, "system", "asking", "")
    work.report(seq, "system", "calling", "run_subagent")
    work.report(seq, "researcher:1a", "thinking", "")
    work.report(seq, "coder:2b", "calling", "read_file")
    joined.feed(ApprovalRequested(seq, "x", "coder:2b", "run_command", {}), by="ann")
    assert shown(work, joined) == [
        ("genie", "◐ waiting for another agent…"),
        ("researcher:1a", "◐ thinking…"),
        ("coder:2b", "▲ waiting for your approval of run_command"),
    ]
    joined.feed(ApprovalResolved(seq, "x", "approved"), by="ann")
    work.report(seq, "system", "writing", "")
    assert shown(work, joined) == [
        ("genie", "◐ writing…"),
        ("researcher:1a", "✓ done"),
        ("coder:2b", "✓ done"),
    ]
    assert work.rows(joined.state, "ann", "bob") == []


def test_what_ended_is_forgotten() -> None:
    joined, work = ScriptedJoinedRoom(), RunningAgents(HandClock())
    seq = working(joined)
    work.report(seq, "coder:2b", "thinking", "")
    assert shown(work, joined)
    joined.feed(AnswerPosted(seq, "done"), by="ann")
    work.forget_ended(joined.state)
    assert shown(work, joined) == []


def test_claims_beyond_all_measure_are_no_tree() -> None:
    joined, work = ScriptedJoinedRoom(), RunningAgents(HandClock())
    seq = working(joined)
    for number in range(100):
        work.report(seq, f"a:{number}", "thinking", "")
    work.report(seq, "/".join(["a:1"] * LONGEST), "thinking", "")
    assert len(work.rows(joined.state, "ann", "ann")) <= MOST + 1
    assert in_order(["/".join(["a:1"] * LONGEST)]) == ["system"]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("system", "genie"),
        ("search:1a2b3c4d", "genie › search:1a2b3c4d"),
        ("search:1a/math:2b", "genie › search:1a › math:2b"),
    ],
)
def test_path_starts_with_shown_name(path: str, shown: str) -> None:
    assert agent_path(path) == shown
