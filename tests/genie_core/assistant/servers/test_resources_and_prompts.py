"""Resources as tools, and prompts, of a real server on stdio and HTTP."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.assistant.servers import modern_server
from tests.genie_core.assistant.servers.modern_web import serving
from tests.genie_core.assistant.servers.rig import Program, bench
from tests.genie_core.assistant.servers.toy_server import tool

from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import MissingValue, ServerError
from genie_core.assistant.servers.prompts import prompt_text
from genie_core.room.engine.controls import PromptInfo
from genie_testing.turns import Call

pytestmark = pytest.mark.timeout(300)

PROGRAM = ServerSpec("toy", sys.executable, (str(Path(modern_server.__file__)),))


@asynccontextmanager
async def started(over: str) -> AsyncIterator[ServerSpec]:
    if over == "stdio":
        yield PROGRAM
    else:
        async with serving() as url:
            yield ServerSpec("toy", url=url)


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_tools_list_and_read_resources(runtime: str, over: str) -> None:
    async with started(over) as spec, bench(runtime, spec) as made:
        calls = [
            Call("toy_list_resources", {}),
            Call("toy_read_resource", {"uri": "note://one"}),
            Call("toy_read_resource", {"uri": "note://by/ann"}),
        ]
        last = await made.ask(*calls)
        listed, first, by = last.tool_results[-3:]
        assert "note://one · one · The first note." in listed
        assert "template note://by/{name}" in listed
        assert (first, by) == ("buy milk", "by ann")
        assert made.asked == ["toy_list_resources", "toy_read_resource", "toy_read_resource"]
        missing = await made.result(Call("toy_read_resource", {"uri": "note://none"}))
        assert "note://none" in missing
        assert made.state == "ready"
        assert made.board.prompts == (
            PromptInfo("toy", "review", "Review some code.", "CODE [STYLE]"),
        )
        assert made.board.resources == ("toy:note://one",)


async def test_no_resources_mean_no_tools(runtime: str, program: Program) -> None:
    program.does("serve", tools=[tool("read_resource")])
    async with bench(runtime, program.spec()) as made:
        assert list((await made.ask()).tools) == ["toy_read_resource"]
        assert made.board.prompts == ()


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_a_prompt_is_fetched_with_its_arguments(over: str) -> None:
    async with started(over) as spec:
        for words, text in [
            (["x"], "Review this in a short way: x"),
            (["a", "very", "long"], "Review this in a very long way: a"),
            (["style=nice", "a", "b"], "Review this in a nice way: a b"),
        ]:
            assert await prompt_text(spec, {}, "review", words) == (text,)


@pytest.mark.parametrize(
    ("name", "words", "problem"),
    [
        ("nothing", [], "has no prompt 'nothing'; it has: review"),
        ("review", [], "needs code for 'review': CODE [STYLE]"),
        ("review", ["code=a", "style=b", "c"], "takes no more than this for 'review'"),
    ],
)
async def test_a_prompt_that_is_not_sent_is_one_line(
    name: str, words: list[str], problem: str
) -> None:
    with pytest.raises(ServerError) as raised:
        await prompt_text(PROGRAM, {}, name, words)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (ServerSpec("toy", "/nowhere/at-all"), ServerError),
        (ServerSpec("toy", url="http://127.0.0.1:9/mcp"), ServerError),
        (ServerSpec("toy", "x", ("${GENIE_TEST_NOWHERE}",)), MissingValue),
    ],
)
async def test_a_server_that_does_not_start_is_told(spec: ServerSpec, error: Any) -> None:
    with pytest.raises(error, match="toy"):
        await prompt_text(spec, {}, "review", [])
