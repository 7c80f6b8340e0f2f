"""Scoring a reasoner by labels."""

from eval_tests.recordings import Recording
from genie_core.assistant.what_if.report import CaseResult, Comparison
from genie_eval.evaluation import (
    EvaluatedCase,
    Score,
    needed,
    score_of,
    truth_of,
)


def garden() -> Recording:
    """ann's messages are 4, 6 and 12, bob's is 9."""
    room = Recording()
    room.ignored("good morning")
    room.answered("what is 6*7?", "42")
    room.ignored("who waters the roses?", "bob")
    room.ignored("bye")
    return room


def case(should: str, before: str, after: str | None) -> EvaluatedCase:
    decided = Comparison(after) if after else None
    return EvaluatedCase(
        "s", should, CaseResult(1, 1.0, "ann", "ann", "t", Comparison(before), decided)
    )


def test_only_marked_decisions_say_what_is_right() -> None:
    cases = garden().recalled().cases
    assert [each.seq for each in cases] == [4, 6, 9, 11]
    wrong = {6: "delegate", 9: "ignore", 400: "ignore"}
    assert truth_of(cases, wrong, trusted=False) == {6: "ignore", 9: "delegate"}


def test_trusted_decisions_count_as_right() -> None:
    cases = garden().recalled().cases
    truth = truth_of(cases, {9: "ignore"}, trusted=True)
    assert truth == {4: "ignore", 6: "delegate", 9: "delegate", 11: "ignore"}


def test_asking_stops_at_last_label() -> None:
    cases = garden().recalled().cases
    asked = needed(cases, {6: "ignore"}, ())
    assert [each.seq for each in asked] == [4, 6]
    assert [each.seq for each in needed(cases, {9: "ignore"}, ())] == [9]


def test_known_reasoner_is_not_asked() -> None:
    cases = garden().recalled().cases
    truth = {4: "ignore", 6: "delegate", 9: "delegate"}
    assert [each.seq for each in needed(cases, truth, (9,))] == [4, 6]
    assert [each.seq for each in needed(cases, truth, (4, 9))] == [4, 6]
    assert needed(cases, truth, (4, 6, 9)) == []


def test_score_counts_by_expected_decision() -> None:
    cases = [
        case("delegate", "ignore", "delegate"),
        case("delegate", "ignore", "delegate"),
        case("delegate", "delegate", "delegate"),
        case("delegate", "ignore", "ignore"),
        case("ignore", "delegate", "delegate"),
        case("ignore", "ignore", "ignore"),
        case("ignore", "ignore", None),
    ]
    score = score_of(cases)
    assert score == Score(delegated=3, missed=1, unwanted=1, ignored=1, failed=1)
    assert (score.precision, score.recall) == (0.75, 0.75)
    assert (score.decided, score.right) == (6, 4)
    assert [each.is_wrong for each in cases] == [False] * 3 + [True, True, False, False]
    assert score_of(cases, recorded=True) == Score(delegated=1, missed=3, unwanted=1, ignored=2)


def test_a_share_of_nothing_is_none() -> None:
    assert (Score().precision, Score().recall) == (None, None)
    assert Score(ignored=3).recall is None
