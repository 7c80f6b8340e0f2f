import asyncio

from tests.limits import scaled

from genie_core.room.client.model import Severity
from genie_core.room.client.receiver import BURST, NOTICE_CHARS, Notices


async def test_burst_passes_and_last_comes_later() -> None:
    shown: list[str] = []
    later = asyncio.Event()

    def show(severity: Severity, text: str) -> None:
        assert severity is Severity.INFO
        shown.append(text)
        if len(shown) > BURST:
            later.set()

    notices = Notices(show)
    for n in range(500):
        notices.show(Severity.INFO, str(n))
    assert shown == [str(n) for n in range(BURST)]
    async with asyncio.timeout(scaled(60)):
        await later.wait()
    assert shown[BURST:] == ["499"]


async def test_at_the_end_what_waits_comes_at_once() -> None:
    shown: list[str] = []
    notices = Notices(lambda _, text: shown.append(text))
    notices.flush()
    for n in range(BURST + 2):
        notices.show(Severity.ERROR, str(n))
    notices.flush()
    notices.flush()
    assert shown == [*map(str, range(BURST)), str(BURST + 1)]


async def test_a_line_is_not_a_book() -> None:
    shown: list[str] = []
    Notices(lambda _, text: shown.append(text)).show(Severity.ERROR, "x" * 10**6)
    assert len(shown[0]) == NOTICE_CHARS + 1
