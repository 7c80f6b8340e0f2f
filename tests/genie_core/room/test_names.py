import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.errors import InvalidName
from genie_core.room.names import MAX_CELLS, RESERVED, cells, check_name, fold_name


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
def test_unusable_names_are_refused_with_the_reason(raw: str, why: str) -> None:
    with pytest.raises(InvalidName) as refusal:
        check_name(raw)
    assert why in refusal.value.why


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
def test_accents_and_other_scripts_make_no_other_person(name: str, other: str) -> None:
    assert fold_name(name) == fold_name(other)


@pytest.mark.parametrize(
    ("name", "other"), [("नील", "नल"), ("がく", "かく"), ("김", "감"), ("Elia", "Ella")]
)
def test_what_tells_people_apart_stays(name: str, other: str) -> None:
    assert fold_name(name) != fold_name(other)


@given(st.text(max_size=20))
def test_folding_twice_changes_nothing(name: str) -> None:
    assert fold_name(fold_name(name)) == fold_name(name)
