from genie_core.room.protocol.events import FileRef, Quote, QuotedLine
from genie_tui.widgets.brought import file_lines, quote_lines, quote_name


def test_files_are_numbered_with_type_and_size() -> None:
    first, second = file_lines(
        [FileRef("d1", "a\x1b.pdf", 1_200_000, "application/pdf"), FileRef("d2", "b", 7)]
    )
    assert (first.number, first.name, first.about) == (1, "a_.pdf", "application/pdf · 1.2 MB")
    assert (second.number, second.about) == (2, "7 bytes")


def test_quotes_are_folded_to_room_and_number() -> None:
    quote = Quote("2026-garden", "Garden\n", (QuotedLine("ann", "hi"), QuotedLine("bob", "ho")))
    assert quote_lines([quote])[0].text == "Garden␤ · 2 messages"
    assert quote_name(Quote("2026-garden", "", ())) == "2026-garden"
