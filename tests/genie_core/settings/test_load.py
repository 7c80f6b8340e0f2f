from functools import partial
from pathlib import Path

import pytest

from genie_core.settings.edit import put, remove
from genie_core.settings.load import Origin, SettingsError, SettingsSource
from genie_core.settings.model import Settings

TEXT = '# mine\nmodel = "a:b" # chosen\ntheme = "x"\n\n[budget]\nmoney = 3\n'


@pytest.fixture
def source(tmp_path: Path) -> SettingsSource:
    file = tmp_path / "settings.toml"
    file.write_text(TEXT)
    return SettingsSource(
        file, {"GENIE_THEME": "y", "GENIE_BUDGET_TOKENS": "7"}, {"port": 3, "name": None}
    )


def test_every_value_tells_where_it_comes_from(source: SettingsSource) -> None:
    reading = source.read()
    assert reading.settings.theme == "y"
    assert {
        key: reading.origin(key).text
        for key in (
            ("model",),
            ("theme",),
            ("port",),
            ("name",),
            ("budget", "money"),
            ("budget", "tokens"),
            ("limits", "burst"),
        )
    } == {
        ("model",): "settings.toml:2",
        ("theme",): "environment GENIE_THEME",
        ("port",): "command line",
        ("name",): "default",
        ("budget", "money"): "settings.toml:6",
        ("budget", "tokens"): "environment GENIE_BUDGET_TOKENS",
        ("limits", "burst"): "default",
    }
    assert reading.origin(("port",)).overrides
    assert not reading.origin(("model",)).overrides


def test_change_is_written_and_read_back(source: SettingsSource, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(source.file)
    linked = SettingsSource(link)
    reading = linked.change(
        [partial(put, key=("model",), value="c:d"), partial(remove, key=("theme",))]
    )
    assert reading.settings.model == "c:d"
    assert source.file.read_text() == '# mine\nmodel = "c:d" # chosen\n\n[budget]\nmoney = 3\n'
    assert link.is_symlink()
    assert source.file.stat().st_mode & 0o777 == 0o600


def test_first_setting_creates_private_file(tmp_path: Path) -> None:
    source = SettingsSource(tmp_path / "config" / "settings.toml")
    source.change([partial(put, key=("notify",), value="none")])
    assert source.read().settings == Settings(notify="none")
    assert source.file.parent.stat().st_mode & 0o777 == 0o700


def test_what_would_not_load_is_not_written(source: SettingsSource) -> None:
    with pytest.raises(SettingsError, match="port can't be 'x': it is a whole number; nothing was"):
        source.change(
            [partial(put, key=("model",), value="c"), partial(put, key=("port",), value="x")]
        )
    assert source.file.read_text() == TEXT


@pytest.mark.parametrize("text", ["modle = 'x'\n", "model = \n", "limits = 3\n"])
def test_broken_file_is_not_changed(source: SettingsSource, text: str) -> None:
    source.file.write_text(text)
    with pytest.raises(SettingsError, match=r"line 1: .*"):
        source.change([partial(put, key=("limits", "members"), value=3)])
    assert source.file.read_text() == text


def test_repair_adds_no_mistakes(source: SettingsSource) -> None:
    source.file.write_text("modle = 'x'\nport = 'y'\n[agents.a]\ndescription = 'x'\nemoji = 'x'\n")
    source.repair(partial(remove, key=("modle",)))
    assert source.file.read_text().startswith("port = 'y'\n[agents.a]\n")
    with pytest.raises(SettingsError, match=r"agents\.a needs 'description'; nothing was changed"):
        source.repair(partial(remove, key=("agents", "a", "description")))


def test_an_origin_in_words() -> None:
    assert Origin("environment", "GENIE_X").text == "environment GENIE_X"
    assert Origin("file", "settings.toml:3").text == "settings.toml:3"


def test_unwritable_file_is_clear_error(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file where the folder should be")
    source = SettingsSource(tmp_path / "config" / "settings.toml")
    with pytest.raises(SettingsError, match="the settings"):
        source.change([partial(put, key=("notify",), value="none")])
