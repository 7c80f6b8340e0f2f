"""The command that serves a room's page: what it is told, and what it refuses."""

from pathlib import Path

import pytest

from genie_tui.cli.commands import parse
from genie_tui.cli.main import main


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))


def test_link_lasts_twelve_hours_by_default() -> None:
    assert parse(["web", ":7654"]).lifetime == 12 * 3600
    given = parse(["web", ":7654", "--for", "30m", "--uses", "5", "--observers", "--port", "8080"])
    assert (given.lifetime, given.uses, given.observers) == (1800.0, 5, True)
    assert given.page_port == 8080


@pytest.mark.parametrize("text", ["", "0h", "2", "h", "-1h", "2w"])
def test_what_is_no_time_is_told_in_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["web", ":7654", f"--for={text}"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["web", "genie1-broken"], "invite"),
        (["web", "nothing-like-it"], "nothing-like-it"),
        (["web", ":7654", "--host", "192.0.2.1"], "without TLS"),
        (["web", ":7654", "--url", "ftp://example.org"], "is no address such as https://"),
        (["web", ":7654", "--certificate", "none.pem"], "needs its key"),
    ],
)
def test_unservable_is_one_line(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1
