"""Files that come with a query."""
# ruff: noqa: FBT001, S101 - these are tests: their names say it all, flags are fixtures

import struct
import zlib
from pathlib import Path

import pytest

from genie_core.errors import AttachmentError
from genie_core.message import Attachment
from genie_testing.contract.rig import ContractCase, ask
from genie_testing.turns import Say

TOO_LARGE = 1 << 28  # for any provider, and yet an agent that reads it leaves the machine alive


class Reading(ContractCase):
    """A file reaches the model, or an error says which one didn't and why."""

    async def test_an_image_reaches_the_model(self, streaming: bool, tmp_path: Path) -> None:
        self.needs("attachments")
        image = tmp_path / "dot.png"
        image.write_bytes(_png())
        async with self.opened(Say("A dot.")) as rig:
            attached = [Attachment(str(image), "dot.png", "image/png")]
            answer = await ask(rig.agent, "What is it?", attachments=attached, streaming=streaming)
            assert answer == "A dot."
            assert list(rig.last.files) == ["image/png"]

    async def test_a_text_file_reaches_the_model(self, tmp_path: Path) -> None:
        self.needs("attachments")
        note = tmp_path / "note.txt"
        note.write_text("buy seven lemons", encoding="utf-8")
        async with self.opened(Say("Lemons.")) as rig:
            await ask(rig.agent, attachments=[Attachment(str(note), "note.txt", "text/plain")])
            inline = "buy seven lemons" in "\n".join(rig.last.texts)
            assert inline or list(rig.last.files) == ["text/plain"]

    async def test_a_pdf_reaches_the_model(self, tmp_path: Path) -> None:
        self.needs("attachments")
        paper = tmp_path / "paper.pdf"
        paper.write_bytes(b"%PDF-1.4\n%%EOF\n")
        async with self.opened(Say("Empty.")) as rig:
            await ask(rig.agent, attachments=[Attachment(str(paper), "p.pdf", "application/pdf")])
            assert list(rig.last.files) == ["application/pdf"]

    async def test_the_model_is_told_what_the_file_is_called(self, tmp_path: Path) -> None:
        self.needs("attachments")
        image = tmp_path / "dot.png"
        image.write_bytes(_png())
        async with self.opened(Say("A dot.")) as rig:
            await ask(rig.agent, attachments=[Attachment(str(image), "holiday", "image/png")])
            assert "holiday" in "\n".join(rig.last.texts)

    async def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        gone = Attachment(str(tmp_path / "gone.png"), "the holiday", "image/png")
        await self._refused(gone, "the holiday")

    async def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        await self._refused(Attachment(str(tmp_path), "folder.png", "image/png"), "folder.png")

    async def test_a_media_type_no_model_reads_is_named(self, tmp_path: Path) -> None:
        odd = tmp_path / "odd.bin"
        odd.write_bytes(b"\x00\x01")
        refused = Attachment(str(odd), "odd.bin", "application/x-unheard-of")
        await self._refused(refused, "odd.bin", "application/x-unheard-of")

    async def test_a_file_that_is_too_large_is_named(self, tmp_path: Path) -> None:
        huge = tmp_path / "huge.png"
        with huge.open("wb") as file:
            file.truncate(TOO_LARGE)  # takes no room on the disk
        await self._refused(Attachment(str(huge), "huge.png", "image/png"), "huge.png")

    async def _refused(self, attachment: Attachment, *named: str) -> None:
        """Check the error, that the model was not asked, and that the agent continues."""
        self.needs("attachments")
        async with self.opened(Say("And now?")) as rig:
            with pytest.raises(AttachmentError) as refusal:
                await ask(rig.agent, attachments=[attachment])
            assert [name for name in named if name not in str(refusal.value)] == []
            assert await ask(rig.agent, "without the file") == "And now?"
            assert len(rig.model.requests) == 1


def _png() -> bytes:
    """Draw one black dot."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
