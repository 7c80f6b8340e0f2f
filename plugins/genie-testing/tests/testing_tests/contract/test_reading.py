from pathlib import Path
from typing import Any

import pytest

from genie_core.agent import AgentInput, ApprovalCallback
from testing_tests.contract.faulty import Emit, SoundAgent, noticed, passes


class Blind(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        return await super().answer(AgentInput(given.query), callback, emit)


class Anonymising(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        for attachment in given.attachments:
            attachment.name = "a file"
        return await super().answer(given, callback, emit)


class Grumbling(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        try:
            return await super().answer(given, callback, emit)
        except ValueError:
            raise ValueError("there is something about a file") from None


REFUSALS = [
    "test_a_missing_file_is_named",
    "test_a_folder_is_no_file",
    "test_a_media_type_no_model_reads_is_named",
    "test_a_file_that_is_too_large_is_named",
]


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Blind, "test_an_image_reaches_the_model"),
        (Blind, "test_a_text_file_reaches_the_model"),
        (Blind, "test_a_pdf_reaches_the_model"),
        (Anonymising, "test_the_model_is_told_what_the_file_is_called"),
        *((kind, test) for kind in (Blind, Anonymising, Grumbling) for test in REFUSALS),
    ],
)
async def test_the_contract_notices(kind: Any, test: str, tmp_path: Path) -> None:
    assert await noticed(kind, test, tmp_path)
    assert await passes(SoundAgent, test, tmp_path)
