from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.tools.files.diff import MAX_DIFF_LINES, MAX_LINE_CHARS, unified_diff

texts = st.lists(st.sampled_from(["a", "b", "c", "", "d e"]), max_size=30).map("\n".join)


def test_difference_has_context_lines() -> None:
    before = "".join(f"{n}\n" for n in range(20))
    assert unified_diff(before, before.replace("10\n", "ten\n"), "a.txt") == (
        "--- a.txt\n+++ a.txt\n@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13"
    )
    assert unified_diff("", "new\n", "b") == "--- b\n+++ b\n@@ -0,0 +1 @@\n+new"
    assert unified_diff(before, before, "a") == ""


def test_final_newline_makes_difference() -> None:
    assert unified_diff("a", "a\n", "x").splitlines()[2:] == [
        "@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+a",
    ]  # fmt: skip


def applied(before: str, diff: str) -> str:
    """Make of `before` what a unified diff says, checking each line that it names."""
    old = before.splitlines(keepends=True)
    new: list[str] = []
    place = 0
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            first = int(start) - (count != "0")
            new += old[place:first]
            place = first
        elif line[0] == "+":
            new.append(f"{line[1:]}\n")
        else:
            assert old[place] == f"{line[1:]}\n"
            new += [old[place]] if line[0] == " " else []
            place += 1
    return "".join([*new, *old[place:]])


@given(texts, texts)
def test_applied_difference_gives_new_text(before: str, after: str) -> None:
    before, after = f"{before}\n", f"{after}\n"
    diff = unified_diff(before, after, "x")
    assert bool(diff) == (before != after)
    assert applied(before, diff) == after


def test_a_long_difference_is_cut_and_soon_there() -> None:
    before = "".join(f"{n * n % 499}\n" for n in range(30_000))
    after = "".join(f"{n**3 % 503}\n" for n in range(30_000))
    lines = unified_diff(before, after, "x").splitlines()
    assert lines[2] == "@@ -3,29998 +3,29998 @@"  # one piece: nothing in common was looked for
    assert len(lines) == MAX_DIFF_LINES + 1
    assert "only its first" in lines[-1]
    [line] = [each for each in unified_diff("", "y" * 10_000, "x").splitlines() if "yy" in each]
    assert len(line) == MAX_LINE_CHARS + 2
