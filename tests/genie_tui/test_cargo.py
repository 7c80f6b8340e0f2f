from pathlib import Path

from genie_core.room.protocol.events import FileRef, Quote, QuotedLine
from genie_tui.cargo import Cargo, quoted_chars

QUOTE = Quote("r", "Garden", (QuotedLine("ann", "hello"),))


def test_it_is_full_until_it_is_unloaded() -> None:
    cargo = Cargo()
    assert not cargo
    assert cargo.add(FileRef("d", "a.pdf", 7))
    assert not cargo.add(FileRef("d", "b.pdf", 7))
    cargo.quotes.append(QUOTE)
    assert cargo.quoted == quoted_chars(QUOTE) == 8
    assert cargo.unload() == ((FileRef("d", "a.pdf", 7),), (QUOTE,))
    assert not cargo


def test_things_are_taken_out_by_name() -> None:
    cargo = Cargo([Path("/x/b.pdf")], [FileRef("d", "A.pdf", 7)], [QUOTE])
    assert cargo.names() == ["A.pdf", "b.pdf", "Garden"]
    assert not cargo.remove("c.pdf")
    assert cargo.remove("a.PDF")
    assert cargo.remove("garden")
    assert cargo.names() == ["b.pdf"]
    assert cargo.remove("")
    assert not cargo
    assert not cargo.remove("")
