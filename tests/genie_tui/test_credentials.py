from pathlib import Path

from genie_core.assistant.secrets import OwnSecrets
from genie_tui.credentials import names_at_hand
from genie_tui.locations import find_locations


def test_stored_secrets_count_by_name_and_are_not_shown(tmp_path: Path) -> None:
    places = find_locations({"GENIE_HOME": str(tmp_path)})
    OwnSecrets("ann", places.secrets, keyring=lambda: None).set("MY_KEY", "the value")
    found = names_at_hand("ann", places, {"HOME": "/home/ann"})
    assert found.keys() == {"HOME", "MY_KEY"}
    assert "the value" not in found.values()
    assert names_at_hand("bob", places, {}) == {}
