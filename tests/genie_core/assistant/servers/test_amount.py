from genie_core.assistant.servers.amount import cut, too_large


def test_a_text_that_fits_stays() -> None:
    assert cut("x" * 10, 10) == "x" * 10


def test_of_one_that_is_too_long_both_ends_stay() -> None:
    text = cut("a" * 1000 + "b" * 1000, 100)
    assert text == f"{'a' * 50}\n[… 1900 characters left out …]\n{'b' * 50}"


def test_a_file_that_is_left_out_is_told_of() -> None:
    assert too_large(7_340_000) == "[a file of 7.3 MB, which is too large to be passed on]"
