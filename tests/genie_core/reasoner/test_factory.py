import asyncio
from threading import current_thread
from typing import Any

import pytest

from genie_core.errors import InvalidFactory, InvalidSetting, StageFailed
from genie_core.reasoner import GroupReasoner, GroupReasonerFactory
from genie_core.secrets import SecretsProvider
from genie_testing import ScriptedReasoner


class Vault(SecretsProvider):
    def get_secrets(self, username: str) -> dict[str, str] | None:
        if username == "mallory":
            raise PermissionError("locked")
        return {"KEY": username}


def test_function_gets_secrets_and_owner() -> None:
    seen: list[Any] = []

    def create(secrets: dict[str, str], owner: str, **kwargs: Any) -> GroupReasoner:
        seen.append((secrets, owner, kwargs))
        return ScriptedReasoner()

    factory = GroupReasonerFactory(create, secrets_provider=Vault())
    assert isinstance(factory.create_group_reasoner("alice", model="m"), ScriptedReasoner)
    assert seen == [({"KEY": "alice"}, "alice", {"model": "m"})]


def test_ten_minutes_is_the_default_timeout() -> None:
    create: Any = lambda secrets, owner: ScriptedReasoner()  # noqa: E731 - short on purpose
    assert GroupReasonerFactory(create).group_reasoner_idle_timeout == 600
    assert GroupReasonerFactory(create, 5).group_reasoner_idle_timeout == 5
    with pytest.raises(InvalidSetting):
        GroupReasonerFactory(create, 0)


def test_what_cannot_be_called_is_refused() -> None:
    wrong: Any = "not a function"
    with pytest.raises(InvalidFactory):
        GroupReasonerFactory(wrong)


async def test_failures_say_which_stage_it_was() -> None:
    nothing: Any = lambda secrets, owner: None  # noqa: E731 - a factory that is wrong on purpose
    factory = GroupReasonerFactory(nothing, secrets_provider=Vault())
    for owner, stage in [("mallory", "secrets"), ("alice", "factory")]:
        with pytest.raises(StageFailed, match=owner) as caught:
            factory.create_group_reasoner(owner)
        assert caught.value.stage == stage
        with pytest.raises(StageFailed, match=owner) as caught:
            await factory.make_group_reasoner(owner)
        assert caught.value.stage == stage


async def test_secrets_load_in_thread() -> None:
    threads: list[str] = []

    class Keyring(SecretsProvider):
        def get_secrets(self, username: str) -> dict[str, str] | None:
            threads.append(current_thread().name)
            return None

    def create(secrets: dict[str, str], _owner: str, **kwargs: Any) -> GroupReasoner:
        asyncio.get_running_loop()  # raises if this is not on it
        assert (secrets, kwargs) == ({}, {"model": "m"})
        threads.append(current_thread().name)
        return ScriptedReasoner()

    factory = GroupReasonerFactory(create, secrets_provider=Keyring())
    assert isinstance(await factory.make_group_reasoner("alice", model="m"), ScriptedReasoner)
    assert threads == ["secrets of alice", current_thread().name]


def test_a_provider_of_another_kind_is_refused() -> None:
    wrong: Any = {"alice": {"KEY": "k"}}
    with pytest.raises(InvalidSetting, match="secrets_provider must be a SecretsProvider"):
        GroupReasonerFactory(lambda _secrets, _owner: ScriptedReasoner(), secrets_provider=wrong)


async def test_subclass_creates_reasoners() -> None:
    class Own(GroupReasonerFactory):
        def create_group_reasoner(self, owner: str, **kwargs: Any) -> GroupReasoner:
            made.append(owner)
            return super().create_group_reasoner(owner, **kwargs)

    made: list[str] = []
    await Own(lambda _secrets, _owner: ScriptedReasoner()).make_group_reasoner("alice")
    assert made == ["alice"]
