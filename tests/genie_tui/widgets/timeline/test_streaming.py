from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.engine.approval_policy import EXCEED_BUDGET
from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
)
from genie_core.room.view.agents import SILENT
from genie_tui.widgets.timeline.streaming import (
    LONGEST,
    MOST_NOTES,
    MOST_RUNS,
    SHORTEST_PAUSE,
    AnswerStreams,
    RunProgress,
    repaint_pause,
)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Watched(RunProgress):
    """The reports of the runs of a log, as ann sees them, by a clock of the test."""

    def __init__(self, log: RoomLog) -> None:
        self.clock = Clock()
        super().__init__(self.clock)
        self.at = log.events[-1].at
        self.log = log
        self.bind_state(log.state, "ann")

    def rest(self, seconds: float) -> None:
        self.clock.now += seconds
        self.at += seconds

    def add(self, body: AnyBody, by: str = "ann") -> None:
        """Let something happen at this moment."""
        event = Event(len(self.log.events) + 1, self.at, by, body)
        self.log.state.apply(event)
        self.log.events.append(event)
        self.keep_running()


def asked(*, by: str = "ann") -> tuple[Watched, int]:
    log = RoomLog()
    seq = log.ask(by, "write it down").seq
    return Watched(log), seq


def test_a_line_says_who_is_at_what() -> None:
    progress, run = asked()
    assert progress.line(run) == ""
    said = []
    for agent, what, detail in (
        ("system", "asking", ""),
        ("system", "asking", "tool server 'git' to start"),
        ("system", "calling", "run_subagent"),
        ("coder:1a2b3c4d", "thinking", ""),
        ("coder:1a2b3c4d/web:00000001", "retrying", "too many requests (429)"),
        ("system", "writing", "a tool call"),
    ):
        progress.report(run, agent, what, detail)  # type: ignore[arg-type]  # a tuple of texts
        said.append(progress.line(run))
    assert said == [
        "waiting for the model…",
        "waiting for tool server 'git' to start…",
        "waiting for another agent…",
        "coder:1a2b3c4d · thinking…",
        "web:00000001 · retrying: too many requests (429)",
        "writing a tool call…",
    ]


def test_silence_shows_duration() -> None:
    progress, run = asked()
    said = []
    for what, detail in (
        ("asking", ""),
        ("thinking", ""),
        ("asking", "tool server 'git' to start"),
        ("retrying", "too many requests (429)"),
        ("calling", "read_file"),
    ):
        progress.report(run, "system", what, detail)  # type: ignore[arg-type]  # a tuple of texts
        progress.rest(12)
        said.append(progress.line(run))
    assert said == [
        "waiting for the model, 12 s",
        "waiting for the model, 12 s",
        "waiting for tool server 'git' to start, 12 s",
        "retrying: too many requests (429), 12 s",
        "calling read_file, 12 s",
    ]
    progress.rest(120)
    assert progress.line(run) == "calling read_file, 2 min"


def test_long_thought_is_no_silence() -> None:
    progress, run = asked()
    for _ in range(4):
        progress.report(run, "system", "thinking", "")
        progress.rest(2)
    assert progress.line(run) == "thinking…"
    for _ in range(4):
        progress.report(run, "system", "calling", "read_file")
        progress.rest(2)
    assert progress.line(run) == "calling read_file, 8 s"


def test_a_call_says_what_it_is_about() -> None:
    progress, run = asked()
    calls: tuple[tuple[str, dict[str, str], tuple[str, ...], str], ...] = (
        ("run_command", {"command": "ls -l"}, ("runs ls -l",), "calling run_command ls -l"),
        ("fetch_url", {}, ("connects to https://a.b/c",), "calling fetch_url https://a.b/c"),
        ("look", {"about": "x\x1b"}, (), "calling look x␛"),
        ("run_subagent", {"subagent_name": "coder", "query": "q"}, (), "waiting for coder…"),
        ("hidden", {}, (), "calling hidden"),
    )
    for number, (tool, arguments, effects, line) in enumerate(calls):
        call = str(number)
        request = ApprovalRequested(run, call, "system", tool, arguments, effects=effects)
        progress.add(request)
        progress.add(ApprovalResolved(run, call, "approved"))
        progress.report(run, "system", "calling", tool)
        assert progress.line(run) == line


def test_waiting_run_shows_call_and_time() -> None:
    progress, run = asked()
    progress.report(run, "system", "writing", "a tool call")
    progress.add(ApprovalRequested(run, "1", "system", "write_file", {}))
    assert progress.line(run) == ""
    assert progress.approval_line(run) == "waiting for your approval of write_file"
    progress.rest(60)
    assert progress.approval_line(run) == "waiting for your approval of write_file, 1 min"
    progress.add(ApprovalRequested(run, "2", "system", "read_file", {}))
    assert progress.approval_line(run) == "waiting for your approval of 2 tool calls, 1 min"
    progress.add(ApprovalResolved(run, "1", "approved"))
    progress.add(ApprovalResolved(run, "2", "approved"))
    assert progress.approval_line(run) == ""
    assert progress.line(run) == "writing a tool call…"
    progress.rest(SILENT)
    assert progress.line(run) == "waiting for the model, 5 s"
    progress.add(ApprovalRequested(run, "3", "system", EXCEED_BUDGET, {}))
    assert progress.approval_line(run) == "waiting for your answer about the budget"


def test_others_see_approver_name() -> None:
    progress, run = asked(by="bob")
    progress.add(ApprovalRequested(run, "1", "system", "write_file", {}), "bob")
    progress.rest(12)
    assert progress.approval_line(run) == "waiting for bob's approval of write_file, 12 s"


def test_unreported_run_shows_duration() -> None:
    log = RoomLog()
    run = log.say("ann", "what is it?", handler="ann").seq
    progress = Watched(log)
    assert progress.line(run) == ""
    progress.rest(12)
    assert progress.line(run) == "deciding, 12 s"
    progress.add(DecisionMade(run, "delegate"))
    assert progress.line(run) == ""
    progress.rest(60)
    assert progress.line(run) == "working, 1 min"
    later = log.say("ann", "and this?", handler="ann").seq
    progress.add(DecisionMade(later, "delegate"))
    progress.rest(12)
    assert progress.line(later) == "waiting for an earlier answer, 12 s"


def test_only_changed_lines_are_redrawn() -> None:
    progress, run = asked()
    assert progress.changed() == []
    progress.report(run, "system", "calling", "read_file")
    assert (progress.changed(), progress.changed()) == ([run], [])
    progress.rest(SILENT)
    assert (progress.changed(), progress.changed()) == ([run], [])
    progress.rest(60)
    assert progress.changed() == [run]
    progress.rest(1)
    assert progress.changed() == []
    progress.add(AnswerPosted(run, "done"))
    assert progress.is_idle
    assert progress.changed() == []


def test_text_means_writing_not_call_end() -> None:
    progress, run = asked()
    progress.report(run, "system", "thinking", "")
    progress.text_arrived(run)
    assert progress.has_text(run)
    assert progress.line(run) == "writing…"
    progress.report(run, "system", "calling", "read_file")
    progress.text_arrived(run)  # text that was on its way when the call began
    assert progress.line(run) == "calling read_file"


def test_notes_outlive_run_without_repeats() -> None:
    progress, run = asked()
    for _ in range(2):
        progress.report(run, "system", "note", "older turns were left out")
    progress.report(run, "system", "asking", "")
    assert progress.line(run) == "waiting for the model…"
    progress.add(AnswerPosted(run, "done"))
    assert progress.line(run) == ""
    assert progress.notes(run) == ("older turns were left out",)
    assert progress.notes(2) == ()


def test_floods_stay_bounded_and_harmless() -> None:
    progress, run = asked()
    for number in [*range(run + 1, 10 * MOST_RUNS), run]:
        progress.report(number, "a/" * 10_000, "calling", "x\x1b[31m" * 10_000)
        for note in range(2 * MOST_NOTES):
            progress.report(number, "system", "note", str(note))
    assert "\x1b" not in progress.line(run)
    assert len(progress.line(run)) < 4 * LONGEST
    assert len(progress.notes(run)) == MOST_NOTES
    assert progress.notes(run + 1) == ()
    progress.keep_running()
    assert progress.notes(run + 2) == ()


def test_a_note_that_is_too_long_says_so() -> None:
    progress, run = asked()
    progress.report(run, "system", "note", "x" * LONGEST)
    progress.report(run, "system", "note", "y" * (LONGEST + 1))
    assert progress.notes(run) == ("x" * LONGEST, f"{'y' * LONGEST}…")


def test_parts_of_an_answer_are_joined() -> None:
    streams = AnswerStreams()
    streams.add(3, "He")
    streams.add(5, "other")
    streams.add(3, "llo")
    assert list(streams) == [(3, "Hello"), (5, "other")]
    streams.add(3, "!")
    assert dict(streams)[3] == "Hello!"


def test_an_ended_answer_is_gone() -> None:
    streams = AnswerStreams()
    streams.add(3, "text")
    streams.end(3)
    streams.end(3)
    assert list(streams) == []


def test_slow_paint_lengthens_pause() -> None:
    assert repaint_pause(0.0001) == SHORTEST_PAUSE
    assert repaint_pause(0.1) > 0.3
