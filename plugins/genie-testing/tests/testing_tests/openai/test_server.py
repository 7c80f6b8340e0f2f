import asyncio
import gc
import json
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI
from tests.clock import pass_at_once

from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Calls, Cut, Refuse, Say, Stall
from testing_tests.openai.conftest import DEADLINE, Door

STORY = "Once upon a time,\n  far away."


def ignore(_text: str) -> None: ...


async def test_turns_run_in_order_then_echo(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door
) -> None:
    server.script(Say("one"))
    server.script(Say("two"))
    answers = [door.text(await door.ask(client, query)) for query in "abc"]
    assert answers == ["one", "two", "echo: c"]


async def test_function_follows_script() -> None:
    async with (
        asyncio.timeout(DEADLINE),
        FakeOpenAI(Say("scripted"), choose=lambda asked: Say(asked.query.upper())) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as client,
    ):
        answers = [await client.responses.create(model="m", input=query) for query in ("a", "b")]
    assert [answer.output_text for answer in answers] == ["scripted", "B"]


async def test_both_interfaces_share_script() -> None:
    async with (
        asyncio.timeout(DEADLINE),
        FakeOpenAI(Say("one"), Say("two")) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as client,
    ):
        first = await client.responses.create(model="m", input="hello")
        second = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hello"}]
        )
    assert (first.output_text, second.choices[0].message.content) == ("one", "two")
    assert [request.api for request in server.requests] == ["responses", "chat"]


async def test_text_is_streamed_word_by_word(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door
) -> None:
    server.script(Say(STORY))
    heard: list[str] = []
    answer = await door.listen(client, "tell", heard.append)
    assert "".join(heard) == door.text(answer) == STORY
    assert len(heard) == 6
    assert server.requests[0].streamed


@pytest.mark.parametrize("streamed", [False, True])
async def test_calls_come_with_their_arguments(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door, streamed: bool
) -> None:
    server.script(Calls(Call("add", {"a": 1, "b": [2, "three"]}), Call("stop", '{"broken')))
    answer = await (door.listen(client, "go", ignore) if streamed else door.ask(client, "go"))
    assert door.calls(answer) == [("add", '{"a": 1, "b": [2, "three"]}'), ("stop", '{"broken')]


async def test_ids_of_calls_are_never_used_twice(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    server.script(Call("a", {}), Calls(Call("a", {}), Call("a", {})))
    answers = [await client.responses.create(model="m", input="go") for _ in range(2)]
    ids = [item.call_id for each in answers for item in each.output if item.type == "function_call"]
    assert len(set(ids)) == 3


@pytest.mark.parametrize("streamed", [False, True])
async def test_tokens_are_counted(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door, streamed: bool
) -> None:
    server.script(Say("three words here"))
    answer = await (door.listen(client, "a b", ignore) if streamed else door.ask(client, "a b"))
    given, written, total = door.tokens(answer)
    assert (given, written) == (2 if streamed else 4, 3)  # with the instructions if not streamed
    assert total == given + written


async def test_requests_tell_what_was_asked(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door
) -> None:
    await door.ask(client, "hello")
    (request,) = server.requests
    assert (request.api, request.model, request.key) == (door.name, "m", server.api_key)
    assert (request.instructions, request.query) == ("be kind", "hello")
    assert request.texts == ["be kind", "hello"]
    assert not request.streamed
    assert request.body["model"] == "m"


async def test_chat_output_is_scripted_json(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    schema: Any = {"name": "point", "schema": {"type": "object"}}
    for say in (Say('{"x": 1}'), None):
        server.script(*([say] if say else []))
        answer = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "where?"}],
            response_format={"type": "json_schema", "json_schema": schema},
        )
        assert json.loads(answer.choices[0].message.content or "") == {"x": 1}
    assert [request.structured for request in server.requests] == [True, True]


async def test_responses_output_is_scripted_json(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    server.script(Say('{"x": 1}'))
    form: Any = {"format": {"type": "json_schema", "name": "point", "schema": {"type": "object"}}}
    for _ in range(2):
        answer = await client.responses.create(model="m", input="where?", text=form)
        assert json.loads(answer.output_text) == {"x": 1}
    assert [request.structured for request in server.requests] == [True, True]


async def test_wrong_key_is_masked(server: FakeOpenAI, client: AsyncOpenAI, door: Door) -> None:
    server.script(Say("for others"))
    stranger = client.with_options(api_key="sk-stolen-from-bob")
    with pytest.raises(openai.AuthenticationError, match=r"sk-s\*+-bob") as refusal:
        await door.ask(stranger, "hello")
    assert refusal.value.code == "invalid_api_key"
    assert "stolen" not in str(refusal.value)
    assert server.requests[0].key == "sk-stolen-from-bob"
    assert door.text(await door.ask(client, "hello")) == "for others"


async def test_models_need_right_key(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["scripted"]
    with pytest.raises(openai.AuthenticationError):
        await client.with_options(api_key="sk-other").models.list()


async def test_a_model_that_does_not_exist_is_refused(door: Door) -> None:
    async with (
        asyncio.timeout(DEADLINE),
        FakeOpenAI(models=["small", "large"]) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as client,
    ):
        assert [model.id async for model in client.models.list()] == ["small", "large"]
        with pytest.raises(openai.NotFoundError, match="`m`") as refusal:
            await door.ask(client, "hello")
        assert refusal.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, openai.BadRequestError, "invalid_request_error"),
        (403, openai.PermissionDeniedError, "unsupported_country_region_territory"),
        (404, openai.NotFoundError, "model_not_found"),
        (429, openai.RateLimitError, "rate_limit_exceeded"),
        (500, openai.InternalServerError, "server_error"),
        (418, openai.APIStatusError, "unknown"),
    ],
)
async def test_refusals_look_like_the_real_ones(
    server: FakeOpenAI,
    client: AsyncOpenAI,
    status: int,
    error: type[openai.APIStatusError],
    code: str,
) -> None:
    server.script(Refuse(status), Refuse(status, "not today", "quota"))
    with pytest.raises(error) as usual:
        await client.responses.create(model="m", input="hello")
    with pytest.raises(error, match="not today") as special:
        await client.responses.create(model="m", input="hello", stream=True)
    assert (usual.value.status_code, usual.value.code) == (status, code)
    assert special.value.code == "quota"


async def test_a_client_tries_again_when_it_is_told_to(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door
) -> None:
    busy = Refuse(429, retry_after=0.01)
    server.script(busy, busy, Say("at last"))
    answer = await door.ask(client.with_options(max_retries=2), "hello")
    assert door.text(answer) == "at last"
    assert len(server.requests) == 3


async def test_the_time_to_wait_is_in_seconds(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    server.script(Refuse(429, retry_after=20))
    with pytest.raises(openai.RateLimitError) as refusal:
        await client.responses.create(model="m", input="hello")
    headers = refusal.value.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("20", "20000")


async def test_a_stall_comes_after_the_text(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door
) -> None:
    server.script(Stall("Once upon"))
    heard: list[str] = []
    told = asyncio.Event()

    def hear(text: str) -> None:
        heard.append(text)
        if "".join(heard) == "Once upon":
            told.set()

    patient = client.with_options(timeout=20)
    listening = asyncio.create_task(door.listen(patient, "tell", hear))
    await told.wait()
    await pass_at_once(25)
    with pytest.raises(openai.APITimeoutError):
        await listening
    assert "".join(heard) == "Once upon"


async def test_a_stall_without_streaming_is_silence(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door
) -> None:
    server.script(Stall("Once upon"))
    with pytest.raises(openai.APITimeoutError):
        await door.ask(client.with_options(timeout=0.3), "tell")


async def test_a_cut_comes_in_the_middle_of_the_stream(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door
) -> None:
    server.script(Cut("Once upon"), Say("still here"))
    heard: list[str] = []
    with pytest.raises(openai.APIConnectionError) as broken:
        await door.listen(client, "tell", heard.append)
    assert "".join(heard) == "Once upon"
    assert isinstance(broken.value.__cause__, httpx2.RemoteProtocolError)
    assert door.text(await door.ask(client, "hello")) == "still here"


async def test_unstreamed_cut_breaks_document(
    server: FakeOpenAI, client: AsyncOpenAI, door: Door
) -> None:
    server.script(Cut("Once upon"))
    with pytest.raises(openai.APIConnectionError) as broken:
        await door.ask(client, "tell")
    assert isinstance(broken.value.__cause__, httpx2.RemoteProtocolError)


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"model": "m", "input": [{}]}'])
async def test_what_is_no_request_is_refused(
    server: FakeOpenAI, client: AsyncOpenAI, body: bytes
) -> None:
    with pytest.raises(openai.BadRequestError, match="not a request"):
        await client.post(
            "/responses",
            cast_to=object,
            content=body,
            options={"headers": {"content-type": "application/json"}},
        )
    assert server.requests == []


async def test_a_call_without_a_result_is_refused(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    server.script(Say("not reached"))
    call: Any = {"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    said: Any = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]}]
    with pytest.raises(openai.BadRequestError, match="c1"):
        await client.chat.completions.create(model="m", messages=said)
    said.append({"role": "tool", "tool_call_id": "c1", "content": "done"})
    await client.chat.completions.create(model="m", messages=said)
    assert server.requests[-1].exchanges[0].result == "done"


async def test_a_result_without_a_call_is_refused(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    stray: Any = {"type": "function_call_output", "call_id": "c2", "output": "done"}
    with pytest.raises(openai.BadRequestError, match="c2"):
        await client.responses.create(model="m", input=[stray])


async def test_an_item_of_another_server_is_refused(
    server: FakeOpenAI, client: AsyncOpenAI
) -> None:
    server.script(Call("a", {}))
    own: Any = (await client.responses.create(model="m", input="go")).output[0].to_dict()
    result: Any = {"type": "function_call_output", "call_id": own["call_id"], "output": "done"}
    other: Any = {**own, "id": "fc_elsewhere"}
    server.script(Say("done"))
    with pytest.raises(openai.NotFoundError, match="'fc_elsewhere' not found"):
        await client.responses.create(model="m", input=[other, result])
    assert (await client.responses.create(model="m", input=[own, result])).output_text == "done"


async def test_waiting_until_a_request_has_come(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    server.script(Stall())
    waiting = asyncio.create_task(server.reached(1))
    await asyncio.sleep(0)
    assert not waiting.done()
    asking = asyncio.create_task(client.responses.create(model="m", input="hello"))
    await waiting
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_leaving_drops_whoever_still_waits(door: Door) -> None:
    before = asyncio.all_tasks()
    async with (
        asyncio.timeout(DEADLINE),
        FakeOpenAI(Stall(), Stall("Once"), Stall()) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=server.api_key, max_retries=0) as client,
    ):
        asking = [
            asyncio.create_task(door.ask(client, "a")),
            asyncio.create_task(door.listen(client, "b", ignore)),
        ]
        await server.reached(2)
        await server.__aexit__(None, None, None)
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each) for each in outcomes] == [openai.APIConnectionError] * 2
    assert asyncio.all_tasks() == before
    gc.collect()  # what was not closed would warn here, and warnings are errors


async def test_cancellation_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    addresses: list[str] = []

    async def serve(running: asyncio.Event) -> None:
        async with FakeOpenAI() as server:
            addresses.append(server.base_url)
            running.set()
            await asyncio.Event().wait()

    async with asyncio.timeout(DEADLINE):
        running = asyncio.Event()
        serving = asyncio.create_task(serve(running))
        await running.wait()
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        async with AsyncOpenAI(base_url=addresses[0], api_key="k", max_retries=0) as client:
            with pytest.raises(openai.APIConnectionError):
                await client.models.list()
    assert asyncio.all_tasks() == before


async def test_a_server_can_be_entered_again() -> None:
    server = FakeOpenAI(Say("one"), Say("two"))
    for expected in ("one", "two"):
        async with (
            asyncio.timeout(DEADLINE),
            server,
            AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as client,
        ):
            assert (await client.responses.create(model="m", input="x")).output_text == expected


def test_there_is_no_address_outside() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        _ = FakeOpenAI().base_url
