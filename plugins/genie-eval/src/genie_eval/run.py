"""Asking another reasoner about the messages of a recorded room, to see its decisions.

No agent and no tool runs. Each reasoner is run as in a live room: one for each author that an
engine serves, its messages one after the other, none shown more than was there at that moment.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from genie_core.assistant.what_if.report import (
    CaseResult,
    Comparison,
    WhatIfReport,
)
from genie_core.errors import summary
from genie_core.privacy.redaction import mask_known
from genie_core.reasoner import GroupReasonerFactory
from genie_core.reasoner.runner import ReasonerRunner
from genie_eval.cases import RecordedDecision, RecordedDecisions
from genie_eval.results import case_result, summarise, total_of

AT_ONCE: Final = 4
"""Reasoners that are asked at the same time."""

GIVE_UP_AFTER: Final = 5
"""Failures in a row after which nothing more is asked: the model will not do it at all.

Decisions without a question to it, as for `@genie`, says nothing about that.
"""

END_TIMEOUT: Final = 5.0
"""Seconds that reasoners may take to end before they are left behind."""


class WhatIf:
    """One such run. `report` can be asked for at any time, also after `run` was cancelled.

    `labels` are the decisions that the person marked as wrong, by the numbers of their messages.
    `told` is called after each decision.
    """

    def __init__(
        self,
        factory: GroupReasonerFactory,
        past: RecordedDecisions,
        labels: Mapping[int, str] | None = None,
        told: Callable[["WhatIf"], None] | None = None,
    ) -> None:
        self._factory = factory
        self._past = past
        self._labels = labels or {}
        self._told = told
        self._outcomes: list[CaseResult] = []
        self._failures = 0
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._runners: list[ReasonerRunner] = []
        self.stopped = ""
        """Why not everything was decided about, as far as it is known here."""

    @property
    def outcomes(self) -> Sequence[CaseResult]:
        """The decisions so far, in the order in which it was."""
        return self._outcomes

    @property
    def total(self) -> int:
        """How many messages there are to decide about."""
        return len(self._past.cases)

    async def run(self) -> None:
        """Ask about every message. Failures are outcomes; nothing is raised but cancellation.

        When it is cancelled, requests under way are given up.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                for cases in _by_reasoner(self._past.cases):
                    tasks.create_task(self._ask_all(cases))
        finally:
            await self._end()

    def report(self, report: WhatIfReport, seconds: float = 0.0) -> WhatIfReport:
        """Fill a report, which has the questions already, with the results."""
        done = {each.message: each for each in self._outcomes}
        ordered = [done[message] for message in sorted(done)]
        before = [
            spending.usage
            for case in self._past.cases
            if case.seq in done
            for spending in case.before.spent
        ]
        return replace(
            report,
            seconds=seconds,
            total=self.total,
            stopped=self.stopped,
            summary=summarise(self._outcomes, self._labels),
            spent_before=total_of(before),
            spent=total_of(each.usage for case in ordered for each in case.spent),
            changed=tuple(each for each in ordered if each.differs),
            failures=tuple(each for each in ordered if each.after is None),
            agreed=tuple(each for each in ordered if each.after and not each.differs),
        )

    async def _ask_all(self, cases: Sequence[RecordedDecision]) -> None:
        author, messages = cases[0].author, self._past.conversations[cases[0].handler]
        runner = ReasonerRunner(author, messages, self._factory)
        self._runners.append(runner)
        for case in cases:
            async with self._turn:
                if self.stopped:
                    return
                self._take(await self._ask(runner, case))

    async def _ask(self, runner: ReasonerRunner, case: RecordedDecision) -> CaseResult:
        wrong = case.seq in self._labels
        promise = runner.submit(case.position)
        try:
            ruling = await promise
        except Exception as error:  # noqa: BLE001 - any exception of an SDK is the outcome
            self._failures += 1
            why = mask_known(summary(error))
            return case_result(case, None, why or "it failed", wrong=wrong)
        if ruling.spent:
            self._failures = 0
        said = ruling.response
        after = Comparison(
            said.decision.value, said.reason or "", said.query or "", said.receiver or ""
        )
        return case_result(case, after, wrong=wrong, spent=ruling.spent)

    def _take(self, outcome: CaseResult) -> None:
        self._outcomes.append(outcome)
        if outcome.after is None and self._failures >= GIVE_UP_AFTER:
            self.stopped = f"{self._failures} decisions in a row failed: {outcome.error}"
        if self._told is not None:
            self._told(self)

    async def _end(self) -> None:
        for runner in self._runners:
            runner.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(END_TIMEOUT):
                await asyncio.gather(*(runner.join() for runner in self._runners))


def _by_reasoner(cases: Sequence[RecordedDecision]) -> list[list[RecordedDecision]]:
    """The cases of each reasoner, in order."""
    shares: dict[tuple[str, str], list[RecordedDecision]] = {}
    for case in cases:
        shares.setdefault((case.handler, case.author), []).append(case)
    return list(shares.values())
