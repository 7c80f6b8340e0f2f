"""The list of services elsewhere."""

from pathlib import Path

import pytest

from genie_core.room.protocol.errors import InvalidAddress
from genie_serve.admin.errors import InvalidRemote, UnknownRemote
from genie_serve.admin.remotes import Remote, Remotes
from serve_tests.admin.administering import places

PIN = "k" * 43


def test_added_remote_lasts_until_removed(tmp_path: Path) -> None:
    remotes = Remotes(places(tmp_path))
    assert remotes.all() == {}
    with pytest.raises(UnknownRemote, match="none was added yet"):
        remotes.find("club")
    remotes.add("club", "chat.example.org:7654", PIN)
    remotes.add("other", "[fe80::1]:1", PIN)
    assert remotes.find("club") == Remote("chat.example.org:7654", PIN)
    remotes.add("club", "192.0.2.7", PIN)
    assert remotes.find("club").address == "192.0.2.7"
    remotes.remove("club")
    with pytest.raises(UnknownRemote, match="those added are other"):
        remotes.remove("club")


@pytest.mark.parametrize(
    ("name", "address", "pin", "error"),
    [
        ("a b", "host:1", PIN, InvalidRemote),
        ("--at", "host:1", PIN, InvalidRemote),
        ("club", "host:1", "", InvalidRemote),
        ("club", "host:1", "short", InvalidRemote),
        ("club", "host:99999", PIN, InvalidAddress),
    ],
)
def test_what_leads_to_no_service_is_not_added(
    tmp_path: Path, name: str, address: str, pin: str, error: type[Exception]
) -> None:
    remotes = Remotes(places(tmp_path))
    with pytest.raises(error):
        remotes.add(name, address, pin)
    assert remotes.all() == {}


def test_a_damaged_list_is_reported(tmp_path: Path) -> None:
    remotes = Remotes(places(tmp_path))
    remotes.add("club", "host:1", PIN)
    (tmp_path / "config/remotes.json").write_text("{")
    with pytest.raises(InvalidRemote, match="is damaged"):
        remotes.all()
    with pytest.raises(InvalidRemote, match="is damaged"):
        remotes.add("club", "host:1", PIN)
