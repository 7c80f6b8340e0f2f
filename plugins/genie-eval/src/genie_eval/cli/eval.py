"""`genie-tui eval`: measure a reasoner by the labels of saved sessions."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO

import msgspec

from genie_core.assistant.secrets import OwnSecrets
from genie_core.assistant.what_if.report import CaseResult
from genie_core.assistant.what_if.text import excerpt, heading, told
from genie_core.errors import GenieError
from genie_core.room.protocol.events import Spending
from genie_core.room.state.costs import total
from genie_core.room.view.costs import short_cost
from genie_core.runtime.progress import Usage
from genie_core.sessions.export.writer import fresh_file
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations, folder_at, short_path
from genie_core.settings.model import Settings, default_name
from genie_core.storage.errors import disk_access
from genie_core.text.format import counted, duration
from genie_eval.cli.what_if import (
    INTERRUPTED,
    STOPPED,
    Past,
    Progress,
    configured,
    hush,
    name_of,
    read_past,
    run_to_end,
)
from genie_eval.dataset import DatasetCase, cases_of, encode_dataset
from genie_eval.decisions import keep_decisions, kept_decisions, reasoner_key
from genie_eval.evaluation import (
    EvaluatedCase,
    Evaluation,
    Score,
    needed,
    score_of,
    truth_of,
)
from genie_eval.results import total_of
from genie_tui.cli.output import json_text, safe_line
from genie_tui.cli.replay import find_id
from genie_tui.cli.table import TableColumn, laid_out


class NothingLabelled(GenieError):
    """No session has a decision that the reasoner could be measured by."""

    def __init__(self, *, trusted: bool) -> None:
        hint = (
            ""
            if trusted
            else ": mark some with ! in a replay, or add --trust-recorded to count "
            "the others as right"
        )
        what = "decision was recorded" if trusted else "decision is marked as wrong"
        super().__init__(f"no {what} in these sessions{hint}")


@dataclass(slots=True)
class _Evaluator:
    """The evaluation as far as it is."""

    options: argparse.Namespace
    settings: Settings
    locations: Locations
    env: Mapping[str, str]
    problems: TextIO
    model: str = ""
    stopped: str = ""
    total: int = 0
    asked: int = 0
    cases: list[EvaluatedCase] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    def take(self, past: Past) -> None:
        """Ask about the labelled decisions of a session, unless they are kept from before."""
        cases = past.recollection.cases
        truth = truth_of(cases, past.wrong, trusted=self.options.trust_recorded)
        self.total += len(truth)
        if not truth:
            self.problems.write(f"genie-tui: {safe_line(past.id)} has no decision to measure by\n")
        if not truth or self.stopped:
            return
        results = self._decided(past, truth)
        self.usages += [spent.usage for each in results.values() for spent in each.spent]
        self.cases += [
            EvaluatedCase(past.id, truth[seq], results[seq])
            for seq in sorted(truth)
            if seq in results
        ]

    def _decided(self, past: Past, truth: Mapping[int, str]) -> dict[int, CaseResult]:
        from genie_core.assistant.build import build_reasoner
        from genie_eval.run import WhatIf

        person = self.settings.name or default_name()
        config, prompt = configured(self.options, self.settings, self.locations, past)
        secrets = OwnSecrets(person, self.locations.secrets, env=self.env)
        factory, self.model = build_reasoner(config, prompt, secrets, person)
        key = reasoner_key(prompt, self.model, config.base_url, config.reasoner.base_url)
        known = {} if self.options.fresh else kept_decisions(past.folder, key)
        past.recollection.cases = needed(past.recollection.cases, truth, known)
        if past.recollection.cases:
            progress = Progress(self.problems)
            run = WhatIf(factory, past.recollection, past.wrong, progress.show)
            progress.begin(run, self.model, past.id)
            run_to_end(run)
            progress.end()
            keep_decisions(past.folder, key, run.outcomes)
            self.stopped = run.stopped
            self.asked += len(run.outcomes)
            known |= {each.message: each for each in run.outcomes}
        return known

    def result(self, sessions: Sequence[str]) -> Evaluation:
        """Sum up."""
        score = score_of(self.cases)
        spent = total_of(self.usages)
        return Evaluation(
            template=name_of(self.options.reasoner),
            model=self.model,
            sessions=tuple(sessions),
            trusted=self.options.trust_recorded,
            total=self.total,
            asked=self.asked,
            stopped=self.stopped,
            score=score,
            recorded=score_of(self.cases, recorded=True),
            precision=score.precision,
            recall=score.recall,
            seconds=total(each.usage for each in spent).seconds,
            spent=spent,
            cases=tuple(self.cases),
        )


def run_eval(
    options: argparse.Namespace,
    source: SettingsSource,
    locations: Locations,
    env: Mapping[str, str],
    out: TextIO,
    problems: TextIO,
) -> int:
    """Ask, and write the scores; returns the exit code.

    It is 1 if the scores are below a limit, or if any decision failed or was not asked for.

    Raises:
        StorageError: there is no such session, several are meant, or it can't be read or written.
        AssistantError: the template or the model can't be used.
        NothingLabelled: there is nothing to measure by.
    """
    from genie_core.assistant.config import DEFAULT_TEMPLATE

    settings = source.read().settings
    if options.dataset:
        return write_dataset(options, locations, out, problems)
    options.reasoner = options.reasoner or settings.template or DEFAULT_TEMPLATE
    ids = _ids(options, locations)
    hush()
    evaluator = _Evaluator(options, settings, locations, env, problems)
    for id_ in ids:
        evaluator.take(read_past(locations.sessions, id_, problems))
    if not evaluator.total:
        raise NothingLabelled(trusted=options.trust_recorded)
    result = evaluator.result(ids)
    if options.json:
        out.write(f"{json_text(msgspec.to_builtins(result))}\n")
    else:
        out.writelines(f"{line}\n" for line in lines(result))
    failures = list(_below(result, options))
    problems.writelines(f"genie-tui: {safe_line(each)}\n" for each in failures)
    if result.stopped == STOPPED:
        return INTERRUPTED
    return 1 if failures else 0


def write_dataset(
    options: argparse.Namespace, locations: Locations, out: TextIO, problems: TextIO
) -> int:
    """Write the decisions to measure by to a file for pydantic-evals; returns the exit code.

    Raises:
        InTheWay: the file is there already.
        NothingLabelled: there is no such decision.
    """
    cases: list[DatasetCase] = []
    for id_ in _ids(options, locations):
        past = read_past(locations.sessions, id_, problems)
        decisions = past.recollection.cases
        truth = truth_of(decisions, past.wrong, trusted=options.trust_recorded)
        cases += cases_of(past.id, past.recollection, truth, past.wrong)
    if not cases:
        raise NothingLabelled(trusted=options.trust_recorded)
    path = folder_at(options.dataset)
    with disk_access("write", path), fresh_file(path, force=False) as file:
        file.write(encode_dataset(path.stem, cases))
    out.write(f"{counted(len(cases), 'case')} written to {safe_line(short_path(path))}\n")
    return 0


def _ids(options: argparse.Namespace, locations: Locations) -> list[str]:
    return list(dict.fromkeys(find_id(locations.sessions, each) for each in options.ids))


def _below(result: Evaluation, options: argparse.Namespace) -> Iterator[str]:
    """Say why the evaluation does not pass."""
    left = result.total - result.score.decided
    if left:
        why = f": {result.stopped}" if result.stopped else ""
        yield f"{counted(left, 'decision')} of {result.total:,} failed or not asked for{why}"
    for name, value, least in (
        ("precision", result.precision, options.min_precision),
        ("recall", result.recall, options.min_recall),
    ):
        if least is not None and value is None:
            yield f"there is nothing to measure the {name} by"
        elif least is not None and value is not None and value < least:
            yield f"the {name} is {_percent(value)}, and {_percent(least)} are asked for"


def lines(result: Evaluation) -> Iterator[str]:
    """The scores as tables, and the wrong decisions one by one."""
    yield from _wrong(result)
    basis = "unmarked decisions count as right" if result.trusted else "marked decisions only"
    yield safe_line(
        f"{result.template} with {result.model}: {counted(result.score.decided, 'decision')} in "
        f"{counted(len(result.sessions), 'session')}, {basis}"
    )
    yield ""
    yield from laid_out(_confusion(result.score), None)
    yield ""
    yield from laid_out(_scores(result), None)


def _wrong(result: Evaluation) -> Iterator[str]:
    for each in result.cases:
        after = each.result.after
        if after is None or each.is_wrong:
            yield f"{safe_line(each.session)} {heading(each.result)}: {excerpt(each.result.text)}"
            yield f"    should be {each.should}d"
            decided = told(after) if after else f"FAILED    {safe_line(each.result.error)}"
            yield f"    {decided}"
            yield ""


def _confusion(score: Score) -> list[TableColumn]:
    kinds = ("should be delegated", "should be ignored")
    return [
        TableColumn("", kinds),
        TableColumn("DELEGATED", (f"{score.delegated:,}", f"{score.unwanted:,}"), right=True),
        TableColumn("IGNORED", (f"{score.missed:,}", f"{score.ignored:,}"), right=True),
    ]


def _scores(result: Evaluation) -> list[TableColumn]:
    rows = [(result.template, result.score)]
    if result.trusted:  # by the labels alone, all that was recorded is wrong
        rows.append(("as recorded", result.recorded))
    scores = [score for _, score in rows]
    spent = [_spent(result.spent), ""][: len(rows)]
    time = [duration(result.seconds), ""][: len(rows)]
    return [
        TableColumn("", tuple(name for name, _ in rows)),
        _column("PRECISION", [_percent(each.precision) for each in scores]),
        _column("RECALL", [_percent(each.recall) for each in scores]),
        _column("RIGHT", [f"{each.right:,} of {each.decided:,}" for each in scores]),
        _column("FAILED", [f"{each.failed:,}" for each in scores]),
        _column("TOKENS AND COST", spent),
        _column("MODEL TIME", time),
    ]


def _column(name: str, cells: Sequence[str]) -> TableColumn:
    return TableColumn(name, tuple(cells), right=True)


def _spent(spent: Sequence[Spending]) -> str:
    return short_cost(spent) or "none"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
