from genie_core.assistant.tools.output import Clip


def clipped(*pieces: bytes, limit: int = 100) -> str:
    clip = Clip(limit)
    for piece in pieces:
        clip.feed(piece)
    return clip.text()


def test_short_output_is_shown_whole() -> None:
    assert clipped() == "No output."
    assert clipped(b"a\n", b"b\n") == "Output:\n```\na\nb\n```"
    assert clipped("Grü".encode()[:-1], "ü".encode()[1:]) == "Output:\n```\nGrü\n```"
    whole = bytes(range(33, 83)) * 2
    assert clipped(whole) == f"Output:\n```\n{whole.decode()}\n```"


def test_long_output_keeps_both_ends() -> None:
    lines = "".join(f"line {n}\n" for n in range(1_000)).encode()
    for step in (1, 7, 64, len(lines)):
        said = clipped(*(lines[at : at + step] for at in range(0, len(lines), step))).splitlines()
        assert said[2:8] == [f"line {n}" for n in range(6)]
        assert f"[… {len(lines) - 100:,} of {len(lines):,} bytes omitted …]" in said
        assert said[-2] == "line 999"


def test_memory_does_not_grow_with_the_output() -> None:
    clip = Clip(1_000)
    for _ in range(1_000):
        clip.feed(b"x" * 65_536)
        assert len(clip._head) + len(clip._tail) <= 65_536 + 3_000
    assert clip.total == 65_536_000


def test_what_is_no_text_is_described() -> None:
    assert clipped(b"\x7fELF\0\0", b"x" * 1_000) == "The output is 1,006 bytes that are not text."
    assert "not text" in clipped(b"fine\n" * 10, bytes(range(128, 256)) * 9)


def test_what_steers_terminals_is_left_out() -> None:
    said = clipped(b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://x\x1b\\link")
    assert said == "Output:\n```\nred  link\n```"
