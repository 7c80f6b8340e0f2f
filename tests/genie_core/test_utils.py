"""The id that programs written for group-genie give their sessions."""

import re

from genie_core.utils import identifier


def test_identifier_is_unique_hex() -> None:
    ids = {identifier() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)
