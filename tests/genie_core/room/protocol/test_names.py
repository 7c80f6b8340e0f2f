import itertools
import subprocess
import sys
import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.protocol.errors import InvalidName
from genie_core.room.protocol.names import (
    LONGEST_RAW,
    MAX_CELLS,
    RESERVED,
    cells,
    check_name,
    check_new_name,
    fold_name,
    is_blank,
    is_reserved,
    skeletons,
)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("alice", "alice"),
        ("  bob\n", "bob"),
        ("Jose\u0301", "José"),
        ("李小龍", "李小龍"),
        ("mary-jane_2", "mary-jane_2"),
        ("x" * 32, "x" * 32),
        ("界" * 16, "界" * 16),
        ("genius", "genius"),
        ("田中taro", "田中taro"),
        ("ニコラさん", "ニコラさん"),
        ("김철수", "김철수"),
        ("Дмитрий", "Дмитрий"),
        ("Νίκος", "Νίκος"),
        ("Յակոբ", "Յակոբ"),
        ("नीलेश", "नीलेश"),
        ("สมชาย", "สมชาย"),
        ("Nguyễn", "Nguyễn"),
        ("محمد_2", "محمد_2"),
    ],
)
def test_usable_names_are_trimmed_and_composed(raw: str, name: str) -> None:
    assert check_name(raw) == name


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("", "empty"),
        (" \t ", "empty"),
        ("x" * 33, "longer"),
        ("界" * 17, "longer"),
        ("a" + "\u0301" * 70, "longer"),
        ("two words", "space"),
        ("a\x1b[31m", "control"),
        ("a\x00b", "control"),
        ("a\u202eb", "invisible"),
        ("a\u200db", "invisible"),
        ("a\ufeffb", "invisible"),
        ("a\u3164b", "invisible"),
        ("a\ufe0fb", "invisible"),
        ("a\u2028b", "line"),
        ("a\ud800b", "half"),
        ("@alice", "starts with @"),
        ("/quit", "starts with /"),
        ("\u0301a", "combining"),
        ("system", "reserved"),
        ("Genie", "reserved"),
        ("ＧＥＮＩＥ", "reserved"),
        ("ѕуѕtеm", "reserved"),
        ("gеnіе", "reserved"),
        ("ge\u0308ni\u0301e", "reserved"),
        ("gen\u0131e", "reserved"),
        ("ꓖꓰꓠꓲꓰ", "reserved"),
        ("gеniе", "reserved"),
        ("𝓰𝓮𝓷𝓲𝓮", "reserved"),
        ("geпie", "reserved"),
        ("Ꮐenie", "reserved"),
        ("ցenie", "reserved"),
        ("al\u0438ce", "mixes letters that can be confused (cyrillic, latin)"),
        ("boλ", "mixes"),
        ("太郎я", "mixes"),
        ("e" + "\u0301" * 6 + "x", "more than 4 marks"),
    ],
)
def test_unusable_names_are_refused(raw: str, why: str) -> None:
    with pytest.raises(InvalidName) as refusal:
        check_name(raw)
    assert why in refusal.value.why


@pytest.mark.parametrize("marks", [LONGEST_RAW // 2, 60_000])
def test_overlong_name_is_not_normalised(marks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    normalised: list[int] = []
    normalize = unicodedata.normalize

    def record(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
        normalised.append(len(text))
        return normalize(form, text[:LONGEST_RAW])

    monkeypatch.setattr(unicodedata, "normalize", record)
    raw = "a" + "\u0315\u0300" * marks
    with pytest.raises(InvalidName, match="longer") as refusal:
        check_name(raw)
    assert len(str(refusal.value)) < 200
    assert fold_name(raw) == raw
    assert skeletons(raw) == {raw}
    assert normalised == []


def test_a_decomposed_name_may_be_as_long_as_any() -> None:
    name = "\u1e69" * MAX_CELLS
    assert check_name(f"  {unicodedata.normalize('NFD', name)}{' ' * LONGEST_RAW}") == name


@given(st.text(max_size=40))
def test_whatever_passes_is_safe_and_stable(raw: str) -> None:
    try:
        name = check_name(raw)
    except InvalidName:
        return
    assert check_name(name) == name
    assert name.isprintable()
    assert 0 < cells(name) <= MAX_CELLS
    assert fold_name(name) not in RESERVED


def test_names_that_look_alike_are_the_same() -> None:
    assert fold_name("Alice") == fold_name("аlісе")  # four of those letters are Cyrillic
    assert fold_name("alice") != fold_name("alicia")


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("José", "Jose"),
        ("Søren", "soren"),
        ("Straße", "STRASSE"),
        ("ЅОРНІА", "sophia"),
        ("ꓮꓡꓲꓚꓰ", "alice"),
        ("Ꮪᏼ", "sb"),
        ("ﬁona", "fiona"),
    ],
)
def test_accents_and_case_fold_alike(name: str, other: str) -> None:
    assert fold_name(name) == fold_name(other)


@pytest.mark.parametrize(
    ("name", "other"), [("नील", "नल"), ("がく", "かく"), ("김", "감"), ("Elia", "Ella")]
)
def test_what_tells_people_apart_stays(name: str, other: str) -> None:
    assert fold_name(name) != fold_name(other)


@given(st.text(max_size=20))
def test_folding_twice_changes_nothing(name: str) -> None:
    assert fold_name(fold_name(name)) == fold_name(name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("\u0251nn", "ann"),
        ("ann\u00b7", "ann"),
        ("a.n-n_", "ann"),
        ("b0b", "bob"),
        ("B0B", "bob"),
        ("al1ce", "alice"),
        ("alIce", "allce"),
        ("torn", "tom"),
        ("\u0391\u039d\u039d", "ann"),  # Greek capitals
        ("\u0430nna", "anna"),
        ("pa\u1d20l", "pavl"),
        ("a\u2019nn", "ann"),
        ("\u0665", "o"),
        ("\U0001d41a\U0001d427n", "ann"),
        ("\u1d00\u0274\u0274", "ann"),  # small capitals
        ("\u1d00nn", "ann"),
        ("\U0001f150\U0001f15d\U0001f15d", "ann"),  # in black circles
        ("\U0001f170\U0001f17d\U0001f17d", "ann"),  # in black squares
        ("\U0001f1e6\U0001f1f3\U0001f1f3", "ann"),  # of flags
        ("\u0250nn", "ann"),  # turned
        ("\ua730r\u1d07d", "fred"),
        ("\u0253ob", "bob"),  # with a hook
    ],
)
def test_a_reader_could_take_one_for_the_other(name: str, other: str) -> None:
    assert skeletons(name) & skeletons(other)


@pytest.mark.parametrize(
    "names",
    [
        ("\u0410\u043d\u043d\u0430", "\u0410\u043b\u043b\u0430", "Anna", "Hanna"),
        ("\u674e\u96f7", "\u674e\u96ea", "\u738b\u96f7"),
        ("Jos\u00e9", "Joseph", "Josefa"),
        ("\u0645\u062d\u0645\u062f", "\u0645\u062d\u0645\u0648\u062f"),
        ("bob", "bob2", "rob", "\U0001f98a", "\U0001f43b", "bob\U0001f43b"),
        ("\u30e9\u30fc\u30e1\u30f3", "\u30e9\u30e1\u30f3"),
    ],
)
def test_distinct_names_stay_distinct(names: tuple[str, ...]) -> None:
    for name in names:
        assert check_name(name) == name
    for one, other in itertools.combinations(names, 2):
        assert not skeletons(one) & skeletons(other), (one, other)


def test_reserved_names_have_no_lookalike() -> None:
    assert all(
        map(is_reserved, ("system", "gen1e", "GENlE", "sy\u0455tem", "g\u0435nie", "_genie_"))
    )
    assert not any(map(is_reserved, ("eugenie", "genies", "systems")))


def test_forms_of_letters_look_like_the_letters() -> None:
    """Compatibility letters, those in circles and squares, superscripts, small capitals."""
    for word in ("ann", "host"):
        for start in (0x1D400, 0x1D41A, 0x1F110, 0x1F130, 0x1F150, 0x1F170, 0xFF21, 0x24D0):
            name = "".join(chr(start + ord(letter) - ord("a")) for letter in word)
            assert skeletons(name) & skeletons(word), name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "host",
            "Host",
            "h\u043est",
            "HOST",
            "h0st",
            "\u029c\u1d0f\ua731\u1d1b",
            "_host_",
            "co-host",
        ),
        *("you", "y\u1d0fu", "everyone", "Everyone", "every\u043ene", "room", "service", "servlce"),
        *("all", "ALL", "me", "agent", "reasoner", "nobody", "no-one", "noone", "anyone", "none"),
    ],
)
def test_words_of_the_program_are_no_new_names(name: str) -> None:
    assert is_reserved(name)
    with pytest.raises(InvalidName):
        check_new_name(name)


@pytest.mark.parametrize(
    "name", ["Ali", "Alli", "hostess", "Youssef", "Meg", "Roomi", "Anyon", "guest", "Mei", "Al"]
)
def test_reserved_prefix_is_allowed(name: str) -> None:
    assert check_new_name(name) == name


def test_old_reserved_name_stays_valid() -> None:
    assert check_name("host") == "host"


@given(st.text(max_size=20))
def test_any_text_has_skeletons(text: str) -> None:
    assert skeletons(text) & skeletons(text)


def test_what_is_folded_alike_looks_alike() -> None:
    assert skeletons("Alice") & skeletons("\u00c0LICE")


def test_names_of_ascii_need_no_list() -> None:
    code = (
        "import sys; from genie_core.room.protocol.names import skeletons; skeletons('ann');"
        "sys.exit('confusable_homoglyphs' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "\u200b\u200d",
        "\u2060\ufeff",
        "\u0301\u20dd",
        "\u3164\u2800\u115f",
        "\ufe0f",
        "\U000e0041",
    ],
)
def test_what_cannot_be_seen_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize(
    "text", ["x", "\u200bx", ".", "\U0001f44d\U0001f3fd", "e\u0301", "\u674e", "\u0bcd\u0b95"]
)
def test_what_can_be_seen_is_not(text: str) -> None:
    assert not is_blank(text)
