from genie_core.room.state.thread import Phase
from genie_tui.widgets.doings import LONGEST, MOST_NOTES, MOST_RUNS, STALLED, Doings


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_line_says_who_is_at_what() -> None:
    doings = Doings(Clock())
    assert doings.line(1) == ""
    said = []
    for agent, what, detail in (
        ("system", "asking", ""),
        ("system", "calling", "run_subagent"),
        ("coder:1a2b3c4d", "thinking", ""),
        ("coder:1a2b3c4d/web:00000001", "retrying", "too many requests (429)"),
        ("system", "writing", "a tool call"),
    ):
        doings.take(1, agent, what, detail)  # type: ignore[arg-type]  # a tuple of texts
        said.append(doings.line(1))
    assert said == [
        "waits for the model…",
        "calling run_subagent",
        "coder:1a2b3c4d · thinking…",
        "web:00000001 · trying again: too many requests (429)",
        "writing a tool call…",
    ]


def test_a_silent_model_is_told_from_a_tool_that_takes_long() -> None:
    clock = Clock()
    doings = Doings(clock)
    doings.take(1, "system", "thinking", "")
    doings.take(2, "system", "calling", "read_file")
    clock.now += STALLED - 1
    assert doings.stalled == []
    clock.now += 4
    assert doings.stalled == [1]
    assert doings.line(1) == "no word from the model for 8 s"
    assert doings.line(2) == "calling read_file"
    doings.wrote(1)
    assert doings.stalled == []
    assert doings.line(1) == "writing…"
    assert doings.is_written(1)
    doings.wrote(2)  # text that was on its way when the call began
    assert doings.line(2) == "calling read_file"


def test_while_a_person_is_asked_no_model_is_waited_for() -> None:
    clock = Clock()
    doings = Doings(clock)
    doings.take(1, "system", "writing", "a tool call")
    doings.keep({1: Phase.WAITING})
    clock.now += 60
    assert doings.line(1) == ""
    assert doings.stalled == []
    doings.keep({1: Phase.WORKING})
    assert doings.line(1) == "writing a tool call…"
    clock.now += STALLED
    assert doings.stalled == [1]


def test_only_notes_outlive_a_run_and_none_is_told_twice() -> None:
    doings = Doings(Clock())
    for _ in range(2):
        doings.take(1, "system", "note", "older turns were left out")
    doings.take(1, "system", "asking", "")
    assert doings.line(1) == "waits for the model…"
    doings.keep({1: Phase.WORKING})
    assert doings.line(1)
    doings.keep({})
    assert doings.line(1) == ""
    assert doings.notes(1) == ("older turns were left out",)
    assert doings.notes(2) == ()


def test_floods_and_hostile_text_stay_small_and_harmless() -> None:
    doings = Doings(Clock())
    for number in range(10 * MOST_RUNS):
        doings.take(number, "a/" * 10_000, "calling", "x\x1b[31m" * 10_000)
        for note in range(2 * MOST_NOTES):
            doings.take(number, "system", "note", str(note))
    last = 10 * MOST_RUNS - 1
    assert "\x1b" not in doings.line(last)
    assert len(doings.line(last)) < 4 * LONGEST
    assert len(doings.notes(last)) == MOST_NOTES
    assert doings.line(0) == ""
    doings.keep({})
    assert doings.notes(0) == ()
