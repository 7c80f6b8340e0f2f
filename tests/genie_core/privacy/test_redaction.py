"""Keys that others have written into their texts."""

from time import process_time

import pytest

from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets
from genie_core.privacy.redaction import (
    hide_addresses,
    hide_secrets,
    know,
    mask_known,
    mask_value,
    put_back,
    secrets_in,
)

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
def test_long_text_takes_linear_time(unit: str) -> None:
    began = process_time()
    hide_secrets(unit * (200_000 // len(unit)))
    assert process_time() - began < 2


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> str:
    """A value that is known as long as the test runs."""
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know({"A_KEY": "correct-horse"})
    return "correct-horse"


def test_known_and_similar_are_hidden(known: str) -> None:
    assert hide_secrets(f"{known} said Bearer {SECRET}") == f"{HIDDEN} said {HIDDEN}"
    assert mask_known(f"{known} said Bearer {SECRET}") == f"{HIDDEN} said Bearer {SECRET}"
    assert secrets_in(f"is it {known}?") == ("A_KEY",)


def test_nested_values_and_keys_are_hidden(known: str) -> None:
    know(["123456789"])
    value = {
        known: [1, True, None, (f"a {known}", known.encode())],
        "n": {"x": 123456789, "y": 1.5},
    }
    assert mask_value(value) == {
        HIDDEN: [1, True, None, (f"a {HIDDEN}", HIDDEN.encode())],
        "n": {"x": HIDDEN, "y": 1.5},
    }
    huge = 10**5_000
    assert mask_value([huge, b"\xff\xfe"]) == [huge, b"\xff\xfe"]


def test_hidden_value_returns_after_edit(known: str) -> None:
    know(["battery-staple"])
    original = {
        "headers": {"auth": f"Token {known}", "x": "1"},
        "list": [known, 2],
        "text": f"{known} battery-staple",
        "left": known,
    }
    edited = mask_value(original)
    assert known not in str(edited)
    assert put_back(edited, original) == original
    edited["headers"]["x"] = "2"
    edited["text"] = f"first {HIDDEN} then {HIDDEN}"
    edited["left"] = f"{HIDDEN}{HIDDEN}"  # nobody knows what that would be
    edited["new"] = HIDDEN
    back = put_back(edited, original)
    assert back == {
        "headers": {"auth": f"Token {known}", "x": "2"},
        "list": [known, 2],
        "text": f"first {known} then battery-staple",
        "left": f"{HIDDEN}{HIDDEN}",
        "new": HIDDEN,
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot reach http://u:p@llm.corp.example:8443/v1?x=1 now", "cannot reach [address] now"),
        ("10.0.0.7:5432 and 10.0.0.7 refused", "[address] and [address] refused"),
        ("::1, fe80::1 and [fe80::1%eth0]:80", "[address], [address] and [address]"),
        ("db.example.org:5432 or localhost refused", "[address] or [address] refused"),
        ("nas.local is off", "[address] is off"),
        ("can't write /home/ann/rooms/x: no space", "can't write [address]: no space"),
        (r"C:\Users\ann\x is gone", "[address] is gone"),
        ("model 'gpt-4.1' at 12:30:45, ratio 1:2", "model 'gpt-4.1' at 12:30:45, ratio 1:2"),
        ("docs/x.md:12 and app.py:100 say and/or", "docs/x.md:12 and app.py:100 say and/or"),
    ],
)
def test_addresses_and_paths_are_hidden(text: str, shown: str) -> None:
    assert hide_addresses(text) == shown
