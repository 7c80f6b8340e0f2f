"""Messages and the store as the documented API describes them."""

import json
from dataclasses import FrozenInstanceError, asdict, replace
from pathlib import Path

import pytest

from genie_core.agent import AgentInfo, AgentInput
from genie_core.datastore import DataStore
from genie_core.message import Attachment, Message, Thread
from genie_core.reasoner import Decision, GroupReasoner, GroupReasonerFactory, Response

FILE = Attachment(path="/tmp/doc.pdf", name="Document", media_type="application/pdf")


def test_message_needs_content_and_sender() -> None:
    message = Message(content="hello", sender="ann")
    assert (message.receiver, message.threads, message.attachments, message.request_id) == (
        *(None, [], [], None),
    )
    assert Message("a", "b").threads is not message.threads


@pytest.mark.parametrize(
    "value",
    [
        Message("hello", "ann"),
        Message("a", "b", "c", [Thread("t", [Message("x", "y", attachments=[FILE])])], [FILE], "r"),
    ],
)
def test_a_message_comes_back_from_a_dictionary(value: Message) -> None:
    assert Message.deserialize(json.loads(json.dumps(asdict(value)))) == value


def test_threads_and_attachments_round_trip() -> None:
    thread = Thread(id="t", messages=[Message("x", "y")])
    assert Thread.deserialize(asdict(thread)) == thread
    assert Attachment.deserialize(asdict(FILE)) == FILE


async def test_an_attachment_reads_its_file(tmp_path: Path) -> None:
    file = tmp_path / "doc"
    file.write_bytes(b"\x00tea")
    attachment = Attachment(path=str(file), name="Document", media_type="text/plain")
    assert attachment.bytes() == b"\x00tea"  # may also be awaited
    assert await attachment.bytes() == b"\x00tea"


def test_missing_file_raises_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _ = Attachment(str(tmp_path / "gone"), "Gone", "text/plain").bytes()


def test_values_have_the_documented_defaults() -> None:
    assert AgentInput(query="q") == AgentInput("q", attachments=[], preferences=None)
    assert AgentInfo("n", "d") == AgentInfo(
        name="n", description="d", emoji=None, idle_timeout=None
    )
    response = Response(decision=Decision.IGNORE)
    assert (response.query, response.receiver) == (None, None)
    assert [each.value for each in Decision] == ["ignore", "delegate"]


def test_replace_changes_frozen_values() -> None:
    message = Message("hello", "ann")
    message.receiver = "ben"
    assert asdict(message)["receiver"] == "ben"
    info = AgentInfo("search", "Searches")
    with pytest.raises(FrozenInstanceError):
        info.emoji = "mag"  # type: ignore[misc]  # the point
    assert replace(info, emoji="mag").emoji == "mag"
    response = replace(Response(Decision.IGNORE), decision=Decision.DELEGATE, query="q")
    assert response == Response(Decision.DELEGATE, "q")


@pytest.mark.parametrize("data", [{"a": [1, 2.5, None]}, [], "text", 3, None, True, {"é": "ü"}])
async def test_any_json_value_is_stored(store: DataStore, data: object) -> None:
    await store.save("key", data)
    assert await store.load("key") == data


async def test_the_last_value_of_a_key_counts(store: DataStore) -> None:
    for n in range(5):
        _ = store.save("key", {"n": n})
    assert await store.load("key") == {"n": 4}


async def test_a_missing_key_is_a_key_error(store: DataStore) -> None:
    with pytest.raises(KeyError, match="missing"):
        await store.load("missing")


async def test_narrowed_stores_are_folders(store: DataStore) -> None:
    async with store.narrow("ann") as ann, ann.narrow("agent") as agent:
        await agent.save("state", {"n": 1})
        assert agent.root_path == store.narrow_path("ann", "agent")
    assert (store.root_path / "ann" / "agent" / "state.json").is_file()
    async with store.narrow("ann") as ann, ann.narrow("agent") as agent:
        assert await agent.load("state") == {"n": 1}
    async with store.narrow("bob") as bob:
        with pytest.raises(KeyError):
            await bob.load("state")


async def test_keys_with_any_characters_are_kept_apart(store: DataStore) -> None:
    keys = ["a/b", "a_b", "a:b", "../a", "A/B", "é", " ", "x" * 300]
    for number, key in enumerate(keys):
        await store.save(key, number)
    assert [await store.load(key) for key in keys] == list(range(len(keys)))
    assert all(path.parent == store.root_path for path in store.root_path.rglob("*.json"))


async def test_another_store_reads_what_was_saved(tmp_path: Path) -> None:
    async with DataStore(root_path=tmp_path) as first:
        _ = first.save("key", {"n": 1})
    async with DataStore(root_path=tmp_path) as second:
        assert await second.load("key") == {"n": 1}


async def test_foreign_plain_json_is_loaded(store: DataStore) -> None:
    store.root_path.mkdir(parents=True)
    (store.root_path / "key.json").write_text('{\n  "n": 1\n}')
    assert await store.load("key") == {"n": 1}


def test_reasoner_factory_passes_arguments() -> None:
    given: list[object] = []

    class Silent(GroupReasoner):
        processed = 0

        def get_serialized(self) -> object:
            return None

        def set_serialized(self, serialized: object) -> None:
            """Nothing."""

        async def run(self, updates: list[Message]) -> Response:
            return Response(Decision.IGNORE)

    def create(secrets: dict[str, str], owner: str, **more: object) -> GroupReasoner:
        given.append((secrets, owner, more))
        return Silent()

    factory = GroupReasonerFactory(
        group_reasoner_factory_fn=create, group_reasoner_idle_timeout=600
    )
    assert isinstance(factory.create_group_reasoner(owner="ann", mood="calm"), Silent)
    assert given == [({}, "ann", {"mood": "calm"})]
