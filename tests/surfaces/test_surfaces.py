"""Every surface shows the sample of all events as its golden file says."""

import typing

import pytest
from tests.surfaces.golden import golden, shown_on
from tests.surfaces.sample import sample
from tests.surfaces.surfaces import SURFACES

from genie_core.room.protocol.events import AnyBody

RAW = {"transcript", "search", "landmarks", "chat_tools"}
"""Surfaces whose texts are made safe where they are shown, or that only a program reads."""


def test_sample_has_every_kind_of_event() -> None:
    kinds = {type(event.body) for event in sample()}
    assert kinds == set(typing.get_args(AnyBody))


@pytest.mark.parametrize("surface", SURFACES)
def test_surface_matches_golden_file(surface: str) -> None:
    assert shown_on(surface).encode("utf-8", "backslashreplace") == golden(surface).read_bytes()


@pytest.mark.parametrize("surface", sorted(SURFACES.keys() - RAW))
def test_surface_shows_no_control_characters(surface: str) -> None:
    assert not {"\x1b", "\u202e"} & set(golden(surface).read_text("utf-8"))
