"""Counting what other reasoners would have decided."""

import msgspec

from eval_tests.recordings import Recording
from genie_core.assistant.what_if.report import (
    CaseResult,
    Comparison,
    Summary,
    WhatIfReport,
)
from genie_core.room.protocol.events import DecisionMade, FileRef, MessagePosted
from genie_core.runtime.progress import Usage
from genie_eval.results import TEXT_CHARS, case_result, summarise, total_of

IGNORE, DELEGATE = Comparison("ignore"), Comparison("delegate", query="q")


def outcome(message: int, before: Comparison, after: Comparison | None) -> CaseResult:
    return CaseResult(message, 1.0, "ann", "ann", "text", before, after)


def test_every_outcome_is_counted_once() -> None:
    outcomes = [
        outcome(1, IGNORE, IGNORE),
        outcome(2, DELEGATE, Comparison("delegate", query="another")),
        outcome(3, IGNORE, DELEGATE),
        outcome(4, DELEGATE, IGNORE),
        outcome(5, IGNORE, None),
    ]
    counts = summarise(outcomes, {})
    assert counts == Summary(agree=2, newly_delegated=1, newly_ignored=1, failed=1)
    assert counts.decided == 4


def test_labels_count_where_there_is_a_decision() -> None:
    outcomes = [
        outcome(1, IGNORE, DELEGATE),
        outcome(2, IGNORE, IGNORE),
        outcome(3, IGNORE, None),
        outcome(4, DELEGATE, DELEGATE),  # decided otherwise after it was marked
    ]
    counts = summarise(outcomes, dict.fromkeys((1, 2, 3, 4, 9), "ignore"))
    assert (counts.marked, counts.right_before, counts.right_after) == (3, 1, 2)


def test_usage_sums_by_model_and_price() -> None:
    usages = [
        Usage("a", input_tokens=10, cost=0.5),
        Usage("b", input_tokens=1),
        Usage("a", input_tokens=20, cost=0.25),
        Usage("a", input_tokens=5),
    ]
    sums = {(each.model, each.requests, each.input_tokens, each.cost) for each in total_of(usages)}
    assert sums == {("a", 2, 30, 0.75), ("b", 1, 1, None), ("a", 1, 5, None)}


def test_long_text_is_cut_files_are_named() -> None:
    room = Recording()
    room.ignored("x" * 10_000)
    file = FileRef("a" * 64, "notes.txt", 3)
    seq = room.add(MessagePosted("f", "", "ann", files=(file,)), "ann").seq
    room.add(DecisionMade(seq, "ignore"), "ann")
    first, second = (case_result(case, None, "no") for case in room.recalled().cases)
    assert first.text == "x" * TEXT_CHARS
    assert second.text == "(notes.txt)"


def test_a_report_is_the_same_after_json() -> None:
    report = WhatIfReport(
        session="s",
        title="t",
        template="x",
        model="m",
        at=1.0,
        changed=(outcome(1, IGNORE, DELEGATE),),
        spent=total_of([Usage("a", input_tokens=1)]),
    )
    assert msgspec.json.decode(msgspec.json.encode(report), type=WhatIfReport) == report
