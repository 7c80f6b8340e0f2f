import subprocess
import sys
from dataclasses import replace

from tests.limits import scaled

from genie_core.room.open.requests import NearbyRoom


def test_only_what_there_is_a_copy_of_is_known() -> None:
    room = NearbyRoom("r", "Garden", "hana", "key", "amber-river", "pin", ("192.0.2.7:7654",))
    assert not room.known
    assert replace(room, copy="r@ann").known


def test_lobby_loads_no_network_modules() -> None:
    code = (
        "import sys, genie_tui.app, genie_core.room.open.service; "
        "sys.exit(', '.join({'zeroconf', 'ifaddr', 'cryptography', 'mnemonic', "
        "'genie_core.room.discovery.browser', 'genie_core.room.open.nearby'} & sys.modules.keys()) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=scaled(60)
    )
    assert (done.returncode, done.stderr) == (0, "")
