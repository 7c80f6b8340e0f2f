"""What becomes of the parts of a prompt."""

import pytest
from acp.helpers import (
    audio_block,
    embedded_blob_resource,
    image_block,
    resource_block,
    resource_link_block,
    text_block,
)

from genie_bridges.acp.prompts import Block, UnusablePrompt, read_prompt


@pytest.mark.parametrize(
    ("uri", "named"),
    [
        ("file:///work/src/a%20b.py#L3", "src/a b.py#L3"),
        ("file:///home/ben/.ssh/key", "key"),
        ("https://example.org/x", "https://example.org/x"),
        ("", "link"),
    ],
)
def test_a_link_is_named_and_not_read(uri: str, named: str) -> None:
    draft = read_prompt([text_block("see "), resource_link_block("link", uri)], "/work")
    assert (draft.text, draft.files) == (f"see {named}", ())


def test_names_of_files_are_safe() -> None:
    blob = resource_block(embedded_blob_resource("file:///etc/..%2f..%2fx\u202e", "aGk="))
    (file,) = read_prompt([blob], "/work").files
    assert (file.name, file.data) == ("x", b"hi")


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (text_block(" "), "needs a text"),
        (image_block("?", "image/png"), "not valid base64"),
        (audio_block("aGk=", "audio/wav"), "no sound"),
    ],
)
def test_what_is_no_message_is_refused(block: Block, why: str) -> None:
    with pytest.raises(UnusablePrompt, match=why):
        read_prompt([block], "")
