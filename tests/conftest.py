from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from genie_core import redaction
from genie_core.known_values import KnownValues

# How long an example takes tells how busy the machine is, and nothing of what is tested.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    """Let no test hide what another one kept as a secret, whichever of them ran before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "_KNOWN", KnownValues())
        yield
