"""Keys that others have written into their texts."""

from time import process_time

import pytest

from genie_core.redaction import hide_secrets

SECRET = "dQw4w9WgXcQ"


@pytest.mark.parametrize(
    "text",
    [
        f"401 Unauthorized for url 'https://host/v1/models?key={SECRET}'",
        f"GET /v1?x=1&session={SECRET} HTTP/1.1",
        f"headers: {{'Authorization': 'Bearer {SECRET}', 'accept': '*/*'}}",
        f"Authorization: Token {SECRET}",
        f"authorization: {SECRET}",
        f"Proxy-Authorization: Basic {SECRET}==",
        f"b'x-api-key: {SECRET}'",
        f"cannot connect to https://ann:{SECRET}@proxy:8080/",
        f"cannot connect to ann:{SECRET}@db.example.org",
        f"Incorrect API key provided: sk-{SECRET}",
        f"OPENAI_API_KEY={SECRET}",
        f"Settings(key='{SECRET}', retries=2)",
        f"password = {SECRET}",
        f"connect: host=db pwd={SECRET}",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    told = hide_secrets(text)
    assert SECRET not in told
    assert "[hidden]" in told
    assert hide_secrets(told) == told


@pytest.mark.parametrize(
    "text",
    [
        "'NoneType' object has no attribute 'key'",
        "KeyError: 'token'\n  File \"agent.py\", line 12, in run",
        "Unexpected token: this. Did you mean max_tokens: 4096? See https://host/docs",
        "write to mailto:ann@example.org or ann@example.org at 10:30",
        "f(*args, **options) takes 2 positional arguments",
        "cannot reach http://[::1]:8080/v1: connection refused",
    ],
)
def test_anything_else_stays_as_it_is(text: str) -> None:
    assert hide_secrets(text) == text


@pytest.mark.parametrize(
    "unit",
    ["x", "x.", "x-", "a:", "eyJ-", "sk", "://", "?a", "key", "bearer ", "authorization:", "*"],
)
def test_a_long_text_takes_no_longer_than_its_length_deserves(unit: str) -> None:
    began = process_time()
    hide_secrets(unit * (200_000 // len(unit)))
    assert process_time() - began < 2
