"""The saved report of another reasoner's decisions in a room."""

from typing import Final

import msgspec

from genie_core.room.protocol.events import DecisionMade, Spending

VERSION: Final = 1
"""That of the form in which a report is written as JSON."""


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision; fields as in `genie_core.room.protocol.events.DecisionMade`."""

    decision: str
    reason: str = ""
    query: str = ""
    receiver: str = ""

    @classmethod
    def of(cls, decided: DecisionMade) -> "Comparison":
        """The one that was recorded."""
        return cls(
            decided.decision,
            decided.reason or "",
            decided.query or "",
            decided.receiver or "",
        )


class CaseResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result for one message: `after`, or the `error` for which there is no decision.

    `wrong` says that the person marked the recorded decision as wrong. `spent` is the cost of
    `after`.
    """

    message: int
    at: float
    author: str
    handler: str
    text: str
    before: Comparison
    after: Comparison | None = None
    error: str = ""
    wrong: bool = False
    spent: tuple[Spending, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether it was decided otherwise."""
        return self.after is not None and self.after.decision != self.before.decision


class Summary(msgspec.Struct, frozen=True):
    """Counts of the results. `failed` are none of the others.

    Of the decisions that were marked as wrong and decided again, `marked`, so many are right by the
    label: before, and after.
    """

    agree: int = 0
    newly_delegated: int = 0
    newly_ignored: int = 0
    failed: int = 0
    marked: int = 0
    right_before: int = 0
    right_after: int = 0

    @property
    def decided(self) -> int:
        """The messages that were decided about again."""
        return self.agree + self.newly_delegated + self.newly_ignored


class WhatIfReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of it, as it is kept beside a session.

    `total` are the messages to be decided about; with a `stopped`, which says why, not all of them
    were. `at` is when it began, `seconds` how long it took. `spent_before` is the cost of the
    recorded decisions, `spent` that of the new ones. `changed` are the decisions that differ,
    `agreed` those that don't, `failures` those that there are none of.
    """

    version: int = VERSION
    session: str
    title: str
    template: str
    model: str
    at: float
    seconds: float = 0.0
    total: int = 0
    stopped: str = ""
    summary: Summary = Summary()
    spent_before: tuple[Spending, ...] = ()
    spent: tuple[Spending, ...] = ()
    changed: tuple[CaseResult, ...] = ()
    failures: tuple[CaseResult, ...] = ()
    agreed: tuple[CaseResult, ...] = ()

    @property
    def results(self) -> list[CaseResult]:
        """All of them, in the order of the room."""
        return sorted((*self.changed, *self.agreed, *self.failures), key=lambda each: each.message)

    @property
    def is_complete(self) -> bool:
        """Whether the decisions that agree are in it, too; earlier versions left them out."""
        return len(self.agreed) == self.summary.agree


def differing(one: WhatIfReport, other: WhatIfReport) -> list[tuple[CaseResult, CaseResult]]:
    """Return the results of both reports on which the reasoners disagree, in the room's order."""
    theirs = {each.message: each for each in other.results}
    pairs = [(each, theirs[each.message]) for each in one.results if each.message in theirs]
    return [(mine, their) for mine, their in pairs if _decision(mine) != _decision(their)]


def _decision(result: CaseResult) -> str:
    return result.after.decision if result.after else ""
