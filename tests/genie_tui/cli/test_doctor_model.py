import asyncio
import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pydantic_ai.models
import pytest
from tests.limits import scaled

from genie_core.assistant.secrets import OwnSecrets
from genie_core.settings.locations import find_locations
from genie_core.settings.model import Settings
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Refuse, Say, Turn
from genie_tui.cli.doctor import check_models

pytestmark = pytest.mark.timeout(300)

DECISION = Say(json.dumps({"decision": "ignore", "query": None, "receiver": None, "reason": "ok"}))
ADD = Call("add", {"first": 2, "second": 3})


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)


@pytest.fixture(autouse=True)
def _no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


def check(home: Path, settings: Settings, env: Mapping[str, str]) -> tuple[int, list[str]]:
    out = io.StringIO()
    code = check_models(settings, find_locations({"GENIE_HOME": str(home)}), env, out)
    return code, out.getvalue().splitlines()


def store(home: Path, key: str) -> None:
    folder = find_locations({"GENIE_HOME": str(home)}).secrets
    OwnSecrets("ann", folder, keyring=lambda: None).set("OPENAI_API_KEY", key)


async def served(
    home: Path, *turns: Turn, key_name: str = "OPENAI_API_KEY", **env: str
) -> tuple[int, list[str]]:
    async with FakeOpenAI(*turns) as server:
        settings = Settings(
            name="ann", model="tiny\x1b[2J", base_url=server.base_url, api_key_env=key_name
        )
        return await asyncio.to_thread(check, home, settings, env)


async def test_server_without_key_name_gets_none(tmp_path: Path) -> None:
    code, lines = await served(tmp_path, key_name="", OPENAI_API_KEY="sk-scripted-key")
    assert code == 1
    assert "asks for a key, and none is sent to this address" in lines[1]
    assert "--api-key-env NAME" in lines[1]
    assert "without a key, at http://127.0.0.1:" in lines[2]


async def test_working_model_names_key_source(tmp_path: Path) -> None:
    store(tmp_path, "sk-scripted-key")
    code, lines = await served(tmp_path, ADD, Say("5"), DECISION)
    assert code == 0
    assert lines[0].startswith("...  model      asking tiny␛[2J")
    assert "tiny␛[2J (agent, reasoner): answered in " in lines[1]
    assert lines[1].startswith("ok ")
    assert lines[1].endswith("calls tools, gives decisions by schema")
    assert "key OPENAI_API_KEY from the stored secrets, at http://127.0.0.1:" in lines[2]
    assert "scripted-key" not in "".join(lines)


async def test_failure_is_one_line_and_code_1(tmp_path: Path) -> None:
    code, lines = await served(tmp_path, OPENAI_API_KEY="sk-wrong-key-0123456789")
    assert (code, len(lines)) == (1, 3)
    assert lines[1].startswith("BAD  model      tiny")
    assert "does not accept the key" in lines[1]
    assert "from the environment" in lines[2]
    assert "0123456" not in "".join(lines)
    store(tmp_path, "sk-scripted-key")
    code, lines = await served(tmp_path, Refuse(400, "tiny does not support tools"), DECISION)
    assert code == 1
    assert "choose another model" in lines[1]


def test_without_a_model_nothing_is_asked(tmp_path: Path) -> None:
    code, lines = check(tmp_path, Settings(name="ann"), {})
    assert code == 0
    assert "none is set: the offline helper answers" in lines[0]


def test_bad_settings_stop_before_request(tmp_path: Path) -> None:
    code, lines = check(tmp_path, Settings(name="ann", model="openai:gpt-5"), {})
    assert (code, len(lines)) == (1, 1)
    assert "needs OPENAI_API_KEY" in lines[0]


async def test_the_command_asks_the_configured_model(tmp_path: Path) -> None:
    async with FakeOpenAI(ADD, Say("5"), DECISION) as server:
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "genie_tui", "doctor", "--model"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=scaled(200),
            env={
                "PATH": "/usr/bin:/bin",
                "GENIE_HOME": str(tmp_path),
                "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
                "GENIE_MODEL": "tiny",
                "GENIE_BASE_URL": server.base_url,
                "GENIE_API_KEY_ENV": "OPENAI_API_KEY",
                "OPENAI_API_KEY": server.api_key,
            },
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert "calls tools, gives decisions by schema" in done.stdout
    assert "key OPENAI_API_KEY from the environment" in done.stdout
