"""In processes of their own, as the collector is one for all."""

import subprocess
import sys

import pytest
from tests.limits import scaled

IMPORTS = """
import gc, weakref
from genie_core.runtime.garbage_collector import collector_paused, start_collecting
"""


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{IMPORTS}\n{code}"], check=False, timeout=scaled(60)
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    "code",
    [
        "with collector_paused():\n    assert not gc.isenabled()",
        "try:\n    with collector_paused(): raise OSError\nexcept OSError: pass",
        "gc.disable()\nstart_collecting()",
    ],
)
def test_what_there_is_is_left_out_afterwards(code: str) -> None:
    run(f"{code}\nassert gc.isenabled()\nassert gc.get_freeze_count() > 1_000")


def test_what_nothing_refers_to_is_freed_before() -> None:
    code = """
gc.disable()
class Loop: pass
loop = Loop()
loop.itself, watch = loop, weakref.ref(loop)
del loop
assert watch() is not None
start_collecting()
assert watch() is None
"""
    run(code)
