"""Labelled decisions as a dataset that pydantic-evals reads.

`Dataset[Inputs, str, Metadata].from_file` reads the JSON, also under a name that ends in `.yaml`.
The names of its fields are those of pydantic-evals.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from genie_eval.cases import RecordedDecision, RecordedDecisions

SHOWN: Final = 20
"""How many messages up to the one to be decided about a case has."""

EVALUATOR: Final = "EqualsExpected"


class ChatMessage(msgspec.Struct, frozen=True):
    """A message as reasoners are shown it."""

    sender: str
    content: str


class CaseInputs(msgspec.Struct, frozen=True):
    """The message to decide about: the last of `messages`, which `sender` wrote.

    `owner` is the person whose engine decides.
    """

    sender: str
    owner: str
    messages: tuple[ChatMessage, ...]


class CaseMetadata(msgspec.Struct, frozen=True):
    """The origin of a case, the recorded decision, and whether that is marked as wrong."""

    session: str
    seq: int
    at: float
    recorded: str
    reason: str
    marked: bool


class DatasetCase(msgspec.Struct, frozen=True):
    """A case; `expected_output` is the right decision."""

    name: str
    inputs: CaseInputs
    expected_output: str
    metadata: CaseMetadata


class Dataset(msgspec.Struct, frozen=True):
    """The content of the file."""

    name: str
    cases: tuple[DatasetCase, ...]
    evaluators: tuple[str, ...] = (EVALUATOR,)


def cases_of(
    session: str, past: RecordedDecisions, truth: Mapping[int, str], wrong: Mapping[int, str]
) -> list[DatasetCase]:
    """Return the decisions of a session with a known right decision."""
    return [
        DatasetCase(
            f"{session}#{each.seq}",
            _inputs(each, past),
            truth[each.seq],
            CaseMetadata(
                session,
                each.seq,
                each.event.at,
                each.before.decision,
                each.before.reason or "",
                each.seq in wrong,
            ),
        )
        for each in past.cases
        if each.seq in truth
    ]


def encode_dataset(name: str, cases: list[DatasetCase]) -> bytes:
    """Return the file's content."""
    return msgspec.json.format(msgspec.json.encode(Dataset(name, tuple(cases))), indent=2) + b"\n"


def _inputs(case: RecordedDecision, past: RecordedDecisions) -> CaseInputs:
    conversation = past.conversations[case.handler]
    shown = conversation[max(case.position + 1 - SHOWN, 0) : case.position + 1]
    messages = tuple(ChatMessage(each.sender, each.content) for each in shown)
    return CaseInputs(case.author, case.handler, messages)
