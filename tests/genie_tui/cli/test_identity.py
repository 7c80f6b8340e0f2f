import io
from pathlib import Path

import pytest

from genie_core.room.open.identities import identity_of_person
from genie_core.room.security.identity import words
from genie_core.settings.locations import Locations, find_locations
from genie_core.settings.model import Settings
from genie_tui.cli.identity import show_identity


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    return find_locations({"GENIE_HOME": str(tmp_path)})


def test_id_shows_name_words_and_key(locations: Locations) -> None:
    out = io.StringIO()
    assert show_identity(Settings(name="alice"), locations, out) == 0
    key = identity_of_person("alice", locations).key
    assert out.getvalue() == f"name   alice\nwords  {words(key)}\nkey    {key}\n"


def test_who_sets_no_name_has_the_login_name(
    locations: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "carol")
    out = io.StringIO()
    show_identity(Settings(), locations, out)
    assert out.getvalue().startswith("name   carol\n")
