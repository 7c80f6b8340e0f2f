"""A model service on loopback for the examples, and somebody's key for it."""

from collections.abc import AsyncIterator

import pytest
from examples.service import KEY, EnvironmentSecrets, Service

from genie_testing.openai import FakeOpenAI


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        yield server


@pytest.fixture
async def service(fake: FakeOpenAI) -> AsyncIterator[Service]:
    async with Service("scripted", fake.base_url) as service:
        yield service


@pytest.fixture
def secrets(fake: FakeOpenAI) -> EnvironmentSecrets:
    return EnvironmentSecrets({KEY: fake.api_key})
