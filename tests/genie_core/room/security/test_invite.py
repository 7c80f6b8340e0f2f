"""Invites: read as they are pasted, and never taken for another when they are damaged."""

import binascii
from base64 import b32encode, urlsafe_b64encode
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import InvalidInvite
from genie_core.room.security.invite import (
    MAX_ADDRESSES,
    MAX_TITLE,
    Invite,
    looks_like_invite,
    read_invite,
    write_invite,
)

PIN = urlsafe_b64encode(bytes(range(32))).rstrip(b"=").decode()
INVITE = Invite(
    addresses=(Address("192.168.178.101", 7654), Address("10.20.30.40", 7655)),
    pin=PIN,
    pass_id="zH5amHg",
    secret=bytes(range(200, 216)),
    title="Stand-up",
)
TEXT = write_invite(INVITE)

TOKEN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
numbers = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)
names = st.from_regex(r"[a-z0-9]{1,20}(\.[a-z0-9-]{1,20}){0,3}", fullmatch=True)
zones = st.from_regex(r"fe80::[1-9a-f]{1,4}%[a-z]{2,4}[0-9]", fullmatch=True)
addresses = st.builds(Address, st.one_of(numbers, names, zones), st.integers(1, 65535))
invites = st.builds(
    Invite,
    addresses=st.lists(addresses, max_size=MAX_ADDRESSES).map(tuple),
    pin=st.binary(min_size=32, max_size=32).map(
        lambda raw: urlsafe_b64encode(raw).rstrip(b"=").decode()
    ),
    pass_id=st.text(TOKEN, min_size=1, max_size=32),
    secret=st.binary(min_size=16, max_size=16),
    title=st.text(st.characters(exclude_categories=["Cs"]), max_size=MAX_TITLE),
)


@given(invites)
def test_what_is_written_is_read(invite: Invite) -> None:
    assert read_invite(write_invite(invite)) == invite


def test_an_invite_with_two_addresses_is_short() -> None:
    assert len(TEXT) < 180


def test_no_invite_shows_its_secret() -> None:
    assert "secret" not in repr(INVITE)
    assert repr(INVITE.secret) not in repr(INVITE)


@given(invites, st.data())
def test_a_changed_character_is_refused(invite: Invite, data: st.DataObject) -> None:
    text = write_invite(invite)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="utf-8"))
    changed = text[:place] + other + text[place + 1 :]
    _is_refused_or_the_same(changed, text)


def test_changed_character_names_reason() -> None:
    for place in range(len(TEXT)):
        for other in set("abcdefghijklmnopqrstuvwxyz0123456789-=") - {TEXT[place]}:
            changed = TEXT[:place] + other + TEXT[place + 1 :]
            with pytest.raises(
                InvalidInvite, match=r"this invite can't be used: .*; copy it again"
            ):
                read_invite(changed)


def test_cut_or_doubled_is_refused() -> None:
    for place in range(len(TEXT)):
        for damaged in (
            TEXT[:place],
            TEXT[place + 1 :],
            TEXT[:place] + TEXT[place + 1 :],
            TEXT[:place] + TEXT[place] * 2 + TEXT[place + 1 :],
        ):
            with pytest.raises(InvalidInvite):
                read_invite(damaged)


def test_swapped_neighbours_are_refused() -> None:
    for place in range(len(TEXT) - 1):
        left, right = TEXT[place], TEXT[place + 1]
        if left != right:
            with pytest.raises(InvalidInvite):
                read_invite(TEXT[:place] + right + left + TEXT[place + 2 :])


@given(st.text())
def test_no_other_text_is_an_invite(text: str) -> None:
    for each in (text, "genie1-" + text):
        with pytest.raises(InvalidInvite):
            read_invite(each)


@given(st.binary(max_size=200))
def test_a_checksum_alone_makes_no_invite(content: bytes) -> None:
    with pytest.raises(InvalidInvite):
        read_invite(_sealed(content))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "invites begin with genie1-"),
        ("192.168.178.101:7654", "invites begin with genie1-"),
        (TEXT[1:], "invites begin with genie1-"),
        ("genie2-abc", r"another version of this program made it \(format 2, not 1\)"),
        ("genie1-", "nearly all of it is missing"),
        (TEXT[:-1], r"a letter of it is missing|a part of it is missing"),
        (TEXT[:60], "a part of it is missing"),
        (TEXT + TEXT[7:], r"there is more than belongs to it|one is too many"),
        (TEXT + TEXT, "it contains '1', which no invite does"),
        (TEXT[:40] + "0" + TEXT[41:], "it contains '0', which no invite does"),
        (TEXT[:40] + ("b" if TEXT[40] == "a" else "a") + TEXT[41:], "it contains a typing error"),
        (TEXT * 60, "far too long"),
    ],
)
def test_the_reason_is_named(text: str, why: str) -> None:
    with pytest.raises(InvalidInvite, match=why):
        read_invite(text)


@pytest.mark.parametrize(
    "pasted",
    [
        f"  {TEXT}\n",
        TEXT.upper(),
        f'"{TEXT}"',
        f"`{TEXT}`",
        f"{TEXT[:50]}\r\n    {TEXT[50:100]}\n\t{TEXT[100:]}",
        f"\ufeff{TEXT[:30]}\u200b{TEXT[30:]}\u00a0",
    ],
)
def test_how_it_was_pasted_does_not_matter(pasted: str) -> None:
    assert read_invite(pasted) == INVITE
    assert looks_like_invite(pasted)


def test_an_address_does_not_look_like_an_invite() -> None:
    assert looks_like_invite("genie7-what")
    for text in ("", "127.0.0.1:7654", "genie1.local", "genie:7654", "my-genie1-"):
        assert not looks_like_invite(text)


def test_what_is_too_much_is_left_out() -> None:
    many = tuple(Address(f"10.0.0.{each}", 7654) for each in range(20))
    read = read_invite(write_invite(replace(INVITE, addresses=many, title="x" * 100)))
    assert read.addresses == many[:MAX_ADDRESSES]
    assert read.title == "x" * MAX_TITLE


def test_half_character_title_is_written() -> None:
    assert read_invite(write_invite(replace(INVITE, title="caf\udce9"))).title == "caf?"


@pytest.mark.parametrize(
    "wrong",
    [
        replace(INVITE, pin="short"),
        replace(INVITE, pin=PIN[:-1] + "9"),
        replace(INVITE, secret=b"short"),
        replace(INVITE, pass_id=""),
        replace(INVITE, pass_id="no spaces"),
        replace(INVITE, addresses=(Address("", 7654),)),
        replace(INVITE, addresses=(Address("a b", 7654),)),
        replace(INVITE, addresses=(Address("10.0.0.1", 0),)),
    ],
)
def test_unreadable_invite_is_not_written(wrong: Invite) -> None:
    with pytest.raises(ValueError, match=r"is none|base64"):
        write_invite(wrong)


@pytest.mark.parametrize("host", ["", "a\x1b[2J", "a b", "a@b", "x\u202ey", "1.2.3.4/24"])
def test_foreign_invite_adds_no_host(host: str) -> None:
    content = [bytes(32), bytes(16), "id", [[7654, b"", host]], ""]
    with pytest.raises(InvalidInvite, match="was not made by this program"):
        read_invite(_sealed(msgspec.msgpack.encode(content)))


def _sealed(content: bytes) -> str:
    raw = len(content).to_bytes(2, "big") + binascii.crc32(content).to_bytes(4, "big") + content
    return "genie1-" + b32encode(raw).decode().rstrip("=").lower()


def _is_refused_or_the_same(changed: str, text: str) -> None:
    try:
        assert read_invite(changed) == read_invite(text)
    except InvalidInvite:
        return
    assert changed.casefold() == text.casefold()
