from genie_core.room.state.thread import Phase
from genie_tui.widgets.timeline.streaming import (
    LONGEST,
    MOST_NOTES,
    MOST_RUNS,
    SHORTEST_PAUSE,
    STALLED,
    AnswerStreams,
    RunProgress,
    repaint_pause,
)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_line_says_who_is_at_what() -> None:
    progress = RunProgress(Clock())
    assert progress.line(1) == ""
    said = []
    for agent, what, detail in (
        ("system", "asking", ""),
        ("system", "calling", "run_subagent"),
        ("coder:1a2b3c4d", "thinking", ""),
        ("coder:1a2b3c4d/web:00000001", "retrying", "too many requests (429)"),
        ("system", "writing", "a tool call"),
    ):
        progress.report(1, agent, what, detail)  # type: ignore[arg-type]  # a tuple of texts
        said.append(progress.line(1))
    assert said == [
        "waiting for the model…",
        "calling run_subagent",
        "coder:1a2b3c4d · thinking…",
        "web:00000001 · retrying: too many requests (429)",
        "writing a tool call…",
    ]


def test_a_silent_model_is_told_from_a_tool_that_takes_long() -> None:
    clock = Clock()
    progress = RunProgress(clock)
    progress.report(1, "system", "thinking", "")
    progress.report(2, "system", "calling", "read_file")
    clock.now += STALLED - 1
    assert progress.stalled == []
    clock.now += 4
    assert progress.stalled == [1]
    assert progress.line(1) == "no reply from the model for 8 s"
    assert progress.line(2) == "calling read_file"
    progress.text_arrived(1)
    assert progress.stalled == []
    assert progress.line(1) == "writing…"
    assert progress.has_text(1)
    progress.text_arrived(2)  # text that was on its way when the call began
    assert progress.line(2) == "calling read_file"


def test_while_a_person_is_asked_no_model_is_waited_for() -> None:
    clock = Clock()
    progress = RunProgress(clock)
    progress.report(1, "system", "writing", "a tool call")
    progress.keep_running({1: Phase.WAITING})
    clock.now += 60
    assert progress.line(1) == ""
    assert progress.stalled == []
    progress.keep_running({1: Phase.WORKING})
    assert progress.line(1) == "writing a tool call…"
    clock.now += STALLED
    assert progress.stalled == [1]


def test_only_notes_outlive_a_run_and_none_is_told_twice() -> None:
    progress = RunProgress(Clock())
    for _ in range(2):
        progress.report(1, "system", "note", "older turns were left out")
    progress.report(1, "system", "asking", "")
    assert progress.line(1) == "waiting for the model…"
    progress.keep_running({1: Phase.WORKING})
    assert progress.line(1)
    progress.keep_running({})
    assert progress.line(1) == ""
    assert progress.notes(1) == ("older turns were left out",)
    assert progress.notes(2) == ()


def test_floods_and_hostile_text_stay_small_and_harmless() -> None:
    progress = RunProgress(Clock())
    for number in range(10 * MOST_RUNS):
        progress.report(number, "a/" * 10_000, "calling", "x\x1b[31m" * 10_000)
        for note in range(2 * MOST_NOTES):
            progress.report(number, "system", "note", str(note))
    last = 10 * MOST_RUNS - 1
    assert "\x1b" not in progress.line(last)
    assert len(progress.line(last)) < 4 * LONGEST
    assert len(progress.notes(last)) == MOST_NOTES
    assert progress.line(0) == ""
    progress.keep_running({})
    assert progress.notes(0) == ()


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


def test_slow_painting_is_followed_by_a_longer_pause() -> None:
    assert repaint_pause(0.0001) == SHORTEST_PAUSE
    assert repaint_pause(0.1) > 0.3
