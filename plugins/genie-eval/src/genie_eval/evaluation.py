"""Measure over many sessions how often a reasoner decides as people's marks say it should.

A mark says that a recorded decision was wrong, so the other one is right. Unmarked decisions were
perhaps never looked at. Counting them as right measures agreement with the recorded reasoner.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from genie_core.assistant.what_if.report import CaseResult, Comparison
from genie_core.room.protocol.events import Spending
from genie_eval.cases import RecordedDecision

VERSION: Final = 1
"""That of the form in which an evaluation is written as JSON."""

_OTHER: Final = {"ignore": "delegate", "delegate": "ignore"}


class Score(msgspec.Struct, frozen=True):
    """Decisions by the right ones.

    `delegated` and `missed` should be delegated, and `unwanted` and `ignored` should be ignored;
    `missed` and `unwanted` are wrong. `failed` are the messages without a decision.
    """

    delegated: int = 0
    missed: int = 0
    unwanted: int = 0
    ignored: int = 0
    failed: int = 0

    @property
    def decided(self) -> int:
        return self.delegated + self.missed + self.unwanted + self.ignored

    @property
    def right(self) -> int:
        return self.delegated + self.ignored

    @property
    def precision(self) -> float | None:
        """The share of delegated messages that should be; None if none was delegated."""
        return _share(self.delegated, self.unwanted)

    @property
    def recall(self) -> float | None:
        """The share of messages to be delegated that were; None if there are none."""
        return _share(self.delegated, self.missed)


class EvaluatedCase(msgspec.Struct, frozen=True):
    """A message, the right decision about it, and the one made."""

    session: str
    should: str
    result: CaseResult

    @property
    def is_wrong(self) -> bool:
        after = self.result.after
        return after is not None and after.decision != self.should


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. `recorded` scores the recorded decisions, `score` the new ones.

    Without `trusted`, only labelled decisions count. With a `stopped`, which says why, not all of
    `total` were decided. So many messages were `asked` about now; the other results are those of
    earlier evaluations. `spent` and `seconds`, the models' time, are of both, and also of earlier
    questions to reasoners, as they remember it.
    """

    version: int = VERSION
    template: str
    model: str
    sessions: tuple[str, ...]
    trusted: bool
    total: int
    asked: int
    stopped: str
    score: Score
    recorded: Score
    precision: float | None
    recall: float | None
    seconds: float
    spent: tuple[Spending, ...]
    cases: tuple[EvaluatedCase, ...]


def truth_of(
    cases: Iterable[RecordedDecision], wrong: Mapping[int, str], *, trusted: bool
) -> dict[int, str]:
    """Return the right decisions, by the numbers of the messages.

    `wrong` are the decisions that are labelled as wrong. With `trusted`, every other recorded one
    counts as right.
    """
    truth = {each.seq: each.before.decision for each in cases if trusted or each.seq in wrong}
    return {seq: _OTHER[wrong[seq]] if seq in wrong else right for seq, right in truth.items()}


def needed(
    cases: Sequence[RecordedDecision], truth: Mapping[int, str], known: Iterable[int]
) -> list[RecordedDecision]:
    """Return the messages to ask about, so that all in `truth` but the `known` ones are decided.

    A reasoner remembers its earlier decisions, so each is asked from its beginning to its last
    message in `truth`, and one all of whose messages are known is not asked.
    """
    last: dict[tuple[str, str], int] = {}
    for each in cases:
        if each.seq in truth:
            last[each.handler, each.author] = each.seq
    told = [each for each in cases if each.seq <= last.get((each.handler, each.author), 0)]
    left = set(truth) - set(known)
    busy = {(each.handler, each.author) for each in told if each.seq in left}
    return [each for each in told if (each.handler, each.author) in busy]


def score_of(cases: Iterable[EvaluatedCase], *, recorded: bool = False) -> Score:
    """Count the new decisions, or the recorded ones."""
    counts = dict.fromkeys(Score.__struct_fields__, 0)
    for each in cases:
        decided = each.result.before if recorded else each.result.after
        counts[_cell(each.should, decided)] += 1
    return Score(**counts)


def _cell(should: str, decided: Comparison | None) -> str:
    if decided is None:
        return "failed"
    if should == "delegate":
        return "delegated" if decided.decision == "delegate" else "missed"
    return "unwanted" if decided.decision == "delegate" else "ignored"


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None
