"""What is found on this machine, from servers of all kinds, on ports of the test's own."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from pydantic_ai.models import known_model_names
from tests.limits import scaled

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.models import discover as module
from genie_core.assistant.models.discover import LOCAL, Local, ModelOffer, discover, local_address
from genie_testing.openai import FakeOpenAI

pytestmark = pytest.mark.timeout(100)

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(answer: Answer) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
            await writer.drain()
        except (OSError, EOFError):
            pass  # the client is gone, or only looked whether the port is open
        finally:
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def saying(
    body: bytes, head: bytes = b"HTTP/1.0 200 OK\r\n\r\n", requests: list[bytes] | None = None
) -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if requests is not None:
            requests.append(request)
        writer.write(head + body)

    return answer


def listing(*names: object) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()


async def found_at(port: int) -> list[ModelOffer]:
    return await discover({}, [Local("LM Studio", port, "vllm")])


@pytest.mark.parametrize(
    ("choice", "address"),
    [
        (ModelChoice("ollama:q"), "http://127.0.0.1:11434/v1"),
        (ModelChoice("ollama:q", "http://box.example/v1"), ""),
        (ModelChoice("vllm:q", "http://localhost:1234/v1"), "http://localhost:1234/v1"),
        (ModelChoice("openai:q"), ""),
        (ModelChoice(), ""),
    ],
)
def test_only_local_servers_have_address(choice: ModelChoice, address: str) -> None:
    assert local_address(choice, {}) == address
    assert not local_address(ModelChoice("ollama:q"), {"OLLAMA_BASE_URL": "http://box.example"})


async def test_server_models_carry_address() -> None:
    requests: list[bytes] = []
    models = listing("nomic-embed-text", "qwen3:8b", "llama3", "third")
    async with listening(saying(models, requests=requests)) as port:
        offers = await found_at(port)
    address = f"http://127.0.0.1:{port}/v1"
    assert offers == [
        ModelOffer(ModelChoice(f"vllm:{name}", address), f"{name} (LM Studio)", offers[0].why)
        for name in ("qwen3:8b", "llama3")
    ]
    assert str(port) in offers[0].why
    (request,) = requests
    assert request.startswith(b"GET /v1/models HTTP/1.1\r\n")
    assert b"authorization" not in request.lower()


async def test_usual_ollama_needs_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening(saying(listing("qwen3"))) as port:
        monkeypatch.setattr(module, "OLLAMA_LOCAL_URL", f"http://127.0.0.1:{port}/v1")
        offers = await discover({}, [Local("Ollama", port, "ollama")])
    assert [offer.choice for offer in offers] == [ModelChoice("ollama:qwen3")]


@pytest.mark.parametrize(
    "answer",
    [
        saying(b"not json"),
        saying(b"[" * 200_000),
        saying(b'{"data": {"id": "x"}}'),
        saying(b'{"data": [1, null, {"id": 7}, {"name": "x"}]}'),
        saying(b"[]"),
        saying(listing("x" * 101, "a b", "\x1b[2J", "sm\u00f8rre", "line\nbreak", "")),
        saying(listing("fine"), b"HTTP/1.0 401 No\r\n\r\n"),
        saying(listing("fine"), b"HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"),
        saying(b"", b"SSH-2.0-OpenSSH\r\n\r\n"),
        saying(b"", b"HTTP/1.0\r\n\r\n"),
        saying(b"", b"x" * 400_000),
        saying(b" " * 1_000_000 + listing("fine")),
        saying(b"", b""),
    ],
    ids=range(13),
)
async def test_whatever_else_answers_is_no_offer(answer: Answer) -> None:
    async with listening(answer) as port:
        assert await found_at(port) == []


async def test_silent_server_causes_short_delay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    left = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        while await reader.read(100):
            pass
        left.set()

    async with listening(drip) as port, asyncio.timeout(scaled(60)):
        assert await found_at(port) == []
        await left.wait()


async def test_a_port_where_nobody_is() -> None:
    async with listening(saying(b"")) as port:
        pass
    assert await found_at(port) == []


async def test_server_with_key_is_left_alone() -> None:
    async with FakeOpenAI(api_key="") as server:
        port = int(server.base_url.rpartition(":")[2].removesuffix("/v1"))
        assert [offer.label for offer in await found_at(port)] == ["scripted (LM Studio)"]
        server.api_key = "secret"
        assert await found_at(port) == []


async def test_openai_base_url_offers_models() -> None:
    requests: list[bytes] = []
    body = listing("qwen3", "nomic-embed-text", "llama3", "third")
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    async with listening(saying(body, head, requests)) as port:
        keys = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1/", "OPENAI_API_KEY": "sk-x"}
        offers = await discover(keys, [])
        assert offers == [
            ModelOffer(ModelChoice(f"openai-chat:{name}"), f"openai-chat:{name}", "at 127.0.0.1")
            for name in ("qwen3", "llama3")
        ]
        assert await discover({"OPENAI_BASE_URL": keys["OPENAI_BASE_URL"]}, []) == offers
    assert requests[0].startswith(b"GET /v1/models ")
    assert b"sk-x" not in requests[0]


@pytest.mark.parametrize(
    ("body", "head"),
    [
        (b" " * 1_000_000 + listing("qwen3"), b""),
        (gzip.compress(b" " * 50_000_000 + listing("qwen3")), b"Content-Encoding: gzip\r\n"),
    ],
    ids=["plain", "compressed"],
)
async def test_overlong_answer_is_dropped(body: bytes, head: bytes) -> None:
    requests: list[bytes] = []
    answer = saying(body, b"HTTP/1.1 200 OK\r\nConnection: close\r\n%b\r\n" % head, requests)
    async with listening(answer) as port:
        assert await discover({"OPENAI_BASE_URL": f"http://127.0.0.1:{port}"}, []) == []
    assert b"accept-encoding: identity\r\n" in requests[0].lower()


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "no address", "http://[", "ftp://x"])
async def test_dead_base_url_offers_nothing(url: str) -> None:
    assert await discover({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-x"}, []) == []


async def test_keys_that_are_there_are_offered_by_name() -> None:
    offers = await discover({"OPENAI_API_KEY": "sk-x", "GEMINI_API_KEY": "y", "HOME": "/"}, [])
    assert [offer.choice.name.partition(":")[0] for offer in offers] == ["openai", "google"]
    assert offers[1].why == "GEMINI_API_KEY is set"
    assert "sk-x" not in repr(offers)
    assert await discover({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, []) == []
    assert await discover({"OPENAI_API_KEY": ""}, []) == []


def test_the_offered_models_exist() -> None:
    known = set(known_model_names())
    unlisted = {"openrouter"}
    for provider, model in module._USUAL.items():
        assert f"{provider}:{model}" in known or provider in unlisted


def test_the_usual_ports() -> None:
    assert [(each.label, each.port) for each in LOCAL] == [
        ("Ollama", 11434),
        ("LM Studio", 1234),
        ("vLLM", 8000),
    ]
