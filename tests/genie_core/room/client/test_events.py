import logging

import pytest

from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets
from genie_core.room.client.events import Notice, warning
from genie_core.room.client.model import Severity

VALUE = "correct-horse-battery"


def test_a_warning_is_logged_and_tells_no_secret(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know([VALUE])
    with caplog.at_level(logging.WARNING):
        notice = warning(f"{VALUE} was refused")
    assert notice == Notice(Severity.WARNING, f"{HIDDEN} was refused")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
