from dataclasses import dataclass

import pytest

from genie_core.agent.provider.masking import masked
from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets

VALUE = "correct-horse"


@dataclass(frozen=True)
class Page:
    title: str
    body: bytes


@pytest.fixture(autouse=True)
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know([VALUE])


def test_results_of_any_kind_lose_what_is_secret() -> None:
    assert masked(f"it is {VALUE}") == f"it is {HIDDEN}"
    assert masked([{"a": VALUE}]) == [{"a": HIDDEN}]
    assert masked(Page(VALUE, b"x")) == {"title": HIDDEN, "body": "eA=="}
    assert VALUE not in repr(masked({1: Page("x", VALUE.encode())}))


def test_secretless_result_is_unchanged() -> None:
    page = Page("harmless", b"\xff")
    assert masked(page) is page
    assert masked(None) is None


def test_what_nobody_can_write_down_stays() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("broken")

    broken = Broken()
    assert masked(broken) is broken
