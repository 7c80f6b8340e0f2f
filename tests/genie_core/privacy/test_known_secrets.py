import base64
import html
import json
import threading
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.privacy.known_secrets import HIDDEN, SHORTEST, DeltaMask, KnownSecrets

VALUE = 'p&ss "wörd"/7\\x+1'


def knowing(*values: str) -> KnownSecrets:
    known = KnownSecrets()
    known.know(values)
    return known


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        quote(VALUE),
        quote(VALUE, safe=""),
        quote(VALUE, safe="").replace("%C3%B6", "%c3%b6").replace("%2F", "%2f").lower(),
        quote_plus(VALUE),
        json.dumps(VALUE),
        json.dumps(VALUE, ensure_ascii=False),
        json.dumps({"arguments": json.dumps({"key": VALUE})}),
        repr(VALUE),
        html.escape(VALUE),
        VALUE.encode().hex(),
        *(
            base64.b64encode(before.encode() + VALUE.encode()).decode()
            for before in ("", "a:", "u:p")
        ),
        *(
            base64.urlsafe_b64encode(b"xyz"[:n] + VALUE.encode() + b"rest").decode()
            for n in range(4)
        ),
    ],
)
def test_a_value_is_found_however_it_is_written(written: str) -> None:
    masked = knowing("another-one", VALUE).mask(f"before {written} after")
    assert HIDDEN in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    core = base64.b64encode(VALUE.encode()).decode()[4:-4]
    assert all(part not in masked for part in ("wörd", "w%C3", "w\\u00f6", "rd%22", core))


def test_longest_value_wins() -> None:
    known = knowing("abcdef", "abcdefgh", "abcdefgh-and-more", "xyz.*[(")
    assert known.mask("abcdefg abcdefgh, abcdefgh-and xyz.*[(") == (
        f"{HIDDEN}g {HIDDEN}, {HIDDEN}-and {HIDDEN}"
    )


def test_short_values_and_mask_stay() -> None:
    known = knowing("x" * (SHORTEST - 1), "hidden")
    assert not known
    assert known.mask("xxxxx hidden") == "xxxxx hidden"


def test_names_are_listed_once() -> None:
    known = knowing("nameless-value")
    known.know({"A_KEY": "value-of-a", "B_KEY": "value-of-b"})
    known.know(["value-of-a"])  # does not take the name away
    coded = base64.b64encode(b"value-of-b").decode()
    assert known.names_in(f"value-of-a {coded} value-of-a") == ("A_KEY", "B_KEY")
    assert known.names_in("nameless-value") == ("a secret",)
    assert known.names_in("nothing") == ()


def test_masking_takes_linear_time() -> None:
    # Not by the clock: with a pattern that tries value after value this takes minutes.
    known = knowing(*(f"{number:04d}-secret-{number * 7919:08x}" for number in range(300)))
    text = "0001-secret-0002-secret-" * 20_000
    assert known.mask(text) == text


def test_threads_add_values_while_masking() -> None:
    known = KnownSecrets()
    values = [[f"value-{thread}-{number}" for number in range(20)] for thread in range(4)]

    def work(own: list[str]) -> None:
        for value in own:
            known.know([value])
            assert known.mask(value) == HIDDEN

    threads = [threading.Thread(target=work, args=(own,)) for own in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(known.mask(value) == HIDDEN for own in values for value in own)


ALPHABET = st.text("abc", max_size=30)


@given(st.lists(st.text("abc", min_size=SHORTEST, max_size=9), max_size=5), st.lists(ALPHABET))
def test_pieces_mask_like_whole_text(values: list[str], pieces: list[str]) -> None:
    known = knowing(*values)
    mask, shown = DeltaMask(known), ""
    for piece in pieces:
        before = len(shown)
        shown += mask.feed(piece)
        assert not any(value in shown[before:] for value in values)
    shown += mask.end()
    assert shown == known.mask("".join(pieces))


def test_only_possible_start_is_held_back() -> None:
    mask = DeltaMask(knowing("secret-value"))
    assert mask.feed("It is se") == "It is "
    assert mask.feed("ven o'clock; secret-va") == "seven o'clock; "
    assert mask.feed("lue!") == f"{HIDDEN}!"
    assert mask.feed("secret") == ""
    assert mask.end() == "secret"
    assert mask.end() == ""
