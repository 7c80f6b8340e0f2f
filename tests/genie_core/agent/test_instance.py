import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.agent.instance import Instance
from genie_core.datastore import path_name

ODD = ["..", "/", "a/b", "a:b", "a_b", "x" * 10_000, "x" * 10_001, "\x1b[31m", "\u202e", "ㅤ", "é"]
anything = st.one_of(st.sampled_from(ODD), st.text())


@pytest.mark.parametrize("wanted", [None, "", " \n"])
def test_missing_id_becomes_eight_hex(wanted: str | None) -> None:
    one, other = Instance.of("search", wanted), Instance.of("search", wanted)
    assert re.fullmatch("[0-9a-f]{8}", one.id)
    assert one != other


def test_usual_instance_is_kept_verbatim() -> None:
    instance = Instance.of("search", "a1b2c3d4")
    assert instance.key == instance.title == "search:a1b2c3d4"
    assert Instance("Suche für alle", "a.b-C_1").title == "Suche für alle:a.b-C_1"


def test_name_end_is_not_id_start() -> None:
    pairs = [("a", "b:c"), ("a:b", "c"), ("a%3ab", "c"), ("a%3Ab", "c")]
    assert len({Instance(*pair).key for pair in pairs}) == len(pairs)


@given(anything, anything)
def test_title_is_short_path_step(name: str, wanted: str) -> None:
    title = Instance(name, wanted).title
    assert len(title) <= 81
    assert title.isprintable()
    assert "/" not in title
    assert title.count(":") == 1
    assert title.split(":")[1].isascii()


@given(anything, anything, anything, anything)
def test_instances_never_look_alike(
    name: str, wanted: str, other_name: str, other_wanted: str
) -> None:
    one, other = Instance(name, wanted), Instance(other_name, other_wanted)
    assert (one == other) is (one.title == other.title)
    assert (one == other) is (path_name(one.key) == path_name(other.key))


def test_no_name_imitates_shown_title() -> None:
    shown = Instance("a/b", "../x").title
    name, _, wanted = shown.partition(":")
    assert Instance(name, "../x").title != shown != Instance("a/b", wanted).title


def test_lone_surrogate_is_valid_id() -> None:
    assert Instance("search", "\ud800").title != Instance("search", "?").title
