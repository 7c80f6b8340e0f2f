import asyncio
import zlib
from pathlib import Path
from struct import pack

import pytest
from examples.service import PROVIDERS, EnvironmentSecrets, Service
from tests.examples.rulings import delegate, ignore
from tests.limits import scaled

from examples import attachments
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Say

ANSWER = "The last one leaves the island at 18:35."


def chunk(name: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))


def png() -> bytes:
    """Draw one black pixel."""
    head = pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(b"\0\0")), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_agent_gets_text_shared_by_other(
    provider: str,
    fake: FakeOpenAI,
    service: Service,
    secrets: EnvironmentSecrets,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake.script(ignore("just sharing"), delegate("When does the last ferry leave?", "bob"))
    fake.script(Say(ANSWER))
    async with asyncio.timeout(scaled(60)):
        await attachments.run(service, secrets, provider, attachments.TIMETABLE)
    assert capsys.readouterr().out.splitlines()[-1] == f"system → bob: {ANSWER}"
    assert "ferry.txt" in "\n".join(fake.requests[1].texts)  # the reasoner reads its name
    assert "18:35" in "\n".join(fake.requests[2].texts)  # the agent its content


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_picture_is_shown_to_the_agent(
    provider: str,
    fake: FakeOpenAI,
    service: Service,
    secrets: EnvironmentSecrets,
    tmp_path: Path,
) -> None:
    picture = tmp_path / "harbour.png"
    picture.write_bytes(png())
    fake.script(ignore("just sharing"), delegate("When does the last ferry leave?", "bob"))
    async with asyncio.timeout(scaled(60)):
        await attachments.run(service, secrets, provider, picture)
    assert fake.requests[2].files == ["image/png"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_file_that_no_model_reads_is_named(
    provider: str,
    fake: FakeOpenAI,
    service: Service,
    secrets: EnvironmentSecrets,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    archive = tmp_path / "photos.zip"
    archive.write_bytes(b"PK")
    fake.script(ignore("just sharing"), delegate("What is in it?", "bob"))
    async with asyncio.timeout(scaled(60)):
        await attachments.run(service, secrets, provider, archive)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("   failed: ")
    assert "photos.zip" in last
    assert "application/zip" in last
