"""Logging in at a real server with a real authorization server, on loopback."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx2
import msgspec
import pytest
from tests.genie_core.assistant.servers.modern_web import serving
from tests.genie_core.assistant.servers.oauth_web import Issuer, with_login
from tests.genie_core.assistant.servers.rig import bench

from genie_core.assistant.secrets import OwnSecrets
from genie_core.assistant.servers import login
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import LoginFailed
from genie_core.assistant.servers.login import (
    KeptLogin,
    LoginStore,
    can_log_in,
    log_in,
    secret_name,
)

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
async def spec(issuer: Issuer) -> AsyncIterator[ServerSpec]:
    async with with_login(issuer) as url:
        yield ServerSpec("toy", url=url)


@pytest.fixture
def store(tmp_path: Path) -> LoginStore:
    return LoginStore("toy", OwnSecrets("ann", tmp_path / "secrets", env={}, keyring=lambda: None))


async def browse(address: str) -> None:
    """Do what a browser does with the address: log in, and follow the way back."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        assert "You are logged in" in (await browser.get(address)).text


def kept(store: LoginStore, spec: ServerSpec) -> dict[str, str]:
    found = store.read(spec.url)
    assert found is not None
    tokens: dict[str, str] = json.loads(found.tokens)
    return tokens


async def test_a_person_logs_in_once_and_runs_use_it(
    runtime: str,
    spec: ServerSpec,
    issuer: Issuer,
    store: LoginStore,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with bench(runtime, spec, auth=lambda: KeptLogin("toy", store)) as made:
        await made.ask()
        assert made.state == "down"
        assert "genie-tui servers login toy" in made.board.servers[0].detail
        assert issuer.clients == {}, "a run registers nowhere"

        assert await log_in(spec, store, browse)
        assert issuer.challenges, "the code is bound to a verifier (PKCE)"
        made.clock.now += 1.0
        assert await made.result() == "HEY"
        tokens = kept(store, spec)
        told = caplog.text + repr(made.board.servers) + str(made.notes.notes)
        assert tokens["access_token"] not in told
        assert tokens["refresh_token"] not in told


async def test_login_works_for_odd_address(
    runtime: str, spec: ServerSpec, store: LoginStore
) -> None:
    spaced = replace(spec, url=f"{spec.url}?for=ann b")
    assert await log_in(spaced, store, browse)
    async with bench(runtime, spaced, auth=lambda: KeptLogin("toy", store)) as made:
        assert await made.result() == "HEY"


async def test_expired_or_revoked_is_refreshed(
    runtime: str, spec: ServerSpec, issuer: Issuer, store: LoginStore
) -> None:
    await log_in(spec, store, browse)
    first = kept(store, spec)
    found = store.read(spec.url)
    assert found is not None
    store.write(msgspec.structs.replace(found, expires=1.0))
    async with bench(runtime, spec, auth=lambda: KeptLogin("toy", store)) as made:
        assert await made.result() == "HEY"
        second = kept(store, spec)
        assert second["refresh_token"] != first["refresh_token"]
        issuer.access.clear()
        assert await made.result() == "HEY"
        assert kept(store, spec)["access_token"] != second["access_token"]
        assert len(issuer.challenges) == 1, "nobody was asked again"


async def test_agents_share_one_time_refresh(
    runtime: str, spec: ServerSpec, issuer: Issuer, store: LoginStore
) -> None:
    await log_in(spec, store, browse)
    async with (
        bench(runtime, spec, auth=lambda: KeptLogin("toy", store)) as one,
        bench(runtime, spec, auth=lambda: KeptLogin("toy", store)) as other,
    ):
        for made in (one, other, one):
            issuer.access.clear()
            assert await made.result() == "HEY"


async def test_a_login_that_is_over_asks_for_another(
    runtime: str, spec: ServerSpec, issuer: Issuer, store: LoginStore
) -> None:
    await log_in(spec, store, browse)
    issuer.access.clear()
    issuer.refreshing.clear()
    async with bench(runtime, spec, auth=lambda: KeptLogin("toy", store)) as made:
        await made.ask()
        assert "genie-tui servers login toy" in made.board.servers[0].detail
        assert len(issuer.challenges) == 1


async def test_tokens_go_to_no_other_address(spec: ServerSpec, store: LoginStore) -> None:
    await log_in(spec, store, browse)
    assert store.read(spec.url.replace("/mcp", "/other")) is None
    assert store.exists
    store.delete()
    assert not store.exists


async def test_a_server_without_a_login_needs_none(store: LoginStore) -> None:
    async with serving() as url:
        assert await log_in(ServerSpec("toy", url=url), store, browse) == ""
    assert not store.exists


@pytest.mark.parametrize(
    ("path", "status"), [("/", 404), ("/callback?code=x", 400), ("/callback?code=x&state=y", 400)]
)
async def test_guessed_callback_ends_nothing(
    spec: ServerSpec, store: LoginStore, path: str, status: int
) -> None:
    async def attacked(address: str) -> None:
        back = httpx2.URL(address).params["redirect_uri"]
        async with httpx2.AsyncClient() as attacker:
            assert (await attacker.get(httpx2.URL(back).join(path))).status_code == status
        await browse(address)

    assert await log_in(spec, store, attacked)


async def test_no_silent_connection_holds_up_a_login(spec: ServerSpec, store: LoginStore) -> None:
    silent: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def opened_in_advance(address: str) -> None:
        back = httpx2.URL(httpx2.URL(address).params["redirect_uri"])
        silent.append(await asyncio.open_connection(back.host, back.port))
        await browse(address)

    assert await log_in(spec, store, opened_in_advance)
    [(reader, writer)] = silent
    async with asyncio.timeout(10.0):
        assert await reader.read() == b"", "it is closed"
    writer.close()


async def test_a_refusal_and_a_timeout_are_one_line(
    spec: ServerSpec, store: LoginStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(address: str) -> None:
        asked = httpx2.URL(address).params
        query = {"error": "access_denied", "state": asked["state"]}
        async with httpx2.AsyncClient() as browser:
            await browser.get(asked["redirect_uri"], params=query)

    with pytest.raises(LoginFailed, match="the server has refused: access_denied"):
        await log_in(spec, store, refused)

    async def ignored(_address: str) -> None:
        """Do nothing."""

    monkeypatch.setattr(login, "LOGIN_TIMEOUT", 0.5)
    with pytest.raises(LoginFailed, match="not completed in"):
        await log_in(spec, store, ignored)
    assert not store.exists


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "javascript:x", "http://evil.example/a", "https://a\x1b[b"]
)
async def test_unsafe_login_address_is_refused(address: str) -> None:
    shown: list[str] = []

    async def show(each: str) -> None:
        shown.append(each)

    async with login._Callback.listening() as callback:
        with pytest.raises(Exception, match="neither https nor local"):
            await callback.begin(address, show)
        with pytest.raises(Exception, match="for tokens is neither https nor local"):
            await callback.begin("https://login.example/", show, "http://evil.example/token")
    assert shown == []


async def test_plain_http_login_is_refused(store: LoginStore) -> None:
    with pytest.raises(LoginFailed, match="neither https nor local"):
        await log_in(ServerSpec("toy", url="http://tracker.example/mcp"), store, browse)


def test_only_headerless_http_can_log_in() -> None:
    assert can_log_in(ServerSpec("toy", url="https://x"))
    assert not can_log_in(ServerSpec("toy", url="https://x", headers={"authorization": "x"}))
    assert not can_log_in(ServerSpec("toy", "program"))
    names = {secret_name(each) for each in ("a-b", "a_b", "A_b")}
    assert len(names) == 3
