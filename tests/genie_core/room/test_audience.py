import logging

import pytest
from tests.genie_core.room.house import Ear

from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets
from genie_core.room.audience import Audience

VALUE = "correct-horse-battery"


def test_whoever_listens_now_is_told() -> None:
    first, second = Ear(), Ear()
    audience = Audience(first)
    audience.inform("ann hosts this room now")
    audience.listener = second
    audience.inform("ben hosts this room now")
    audience.warn("the disk is full")
    assert first.notices == ["ann hosts this room now"]
    assert second.notices == ["ben hosts this room now", "the disk is full"]


def test_a_warning_is_logged_and_tells_no_secret(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know([VALUE])
    ear = Ear()
    with caplog.at_level(logging.WARNING):
        Audience(ear).warn(f"{VALUE} was refused")
    assert ear.notices == [f"{HIDDEN} was refused"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
