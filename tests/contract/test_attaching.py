"""Large files between processes, over a cable that is cut in the middle."""

import hashlib
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.contract.cable import Cable
from tests.contract.member import Line, Member, join, new

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]

SIZE = 20 * 1024 * 1024


@pytest.fixture
def alice(tmp_path: Path, port: int) -> Iterator[Member]:
    settings = {"port": port, "local": True}
    with Member("alice", tmp_path / "alice", new(), settings=settings) as member:
        yield member


@pytest.fixture
def film(tmp_path: Path) -> Path:
    path = tmp_path / "film.bin"
    path.write_bytes(random.Random(3).randbytes(SIZE))
    return path


@pytest.fixture
def digest(film: Path) -> str:
    return hashlib.sha256(film.read_bytes()).hexdigest()


def progress(member: Member, way: str) -> list[Line]:
    return [line for line in member.all("transfer") if line["direction"] == way]


def send(sender: Member, film: Path, digest: str) -> None:
    assert sender.do("attach", path=str(film)) == digest
    sender.begin("say", text="see this", files=[digest])


def arrived(member: Member, digest: str) -> Path:
    """Where the whole file is; what its message came with is heard already."""
    received = Path(member.do("file", digest=digest))
    assert hashlib.sha256(received.read_bytes()).hexdigest() == digest
    return received


def assert_resumed(line: Cable, steps: list[Line]) -> None:
    """Having been cut in the middle, it went on there, not from the start."""
    assert line.cuts == 1
    done = [step["done"] for step in steps]
    assert done[-1] == SIZE
    assert not [step for step in steps if step["problem"]]
    assert [each for each in done if 0 < each < SIZE]
    begins = [each for before, each in pairwise(done) if each < before]
    assert all(begin > SIZE // 4 for begin in begins)


def test_cut_connection_resumes_upload(
    alice: Member, film: Path, digest: str, tmp_path: Path
) -> None:
    with (
        Cable(alice.seated()["address"]) as line,
        Member("bob", tmp_path / "bob", join(line.address), only=line.address) as bob,
    ):
        bob.seated()
        line.cut_after(SIZE // 2)
        send(bob, film, digest)
        alice.hears("see this")
        received = arrived(alice, digest)
        bob.wait_for("transfer", direction="up", done=SIZE)
        assert_resumed(line, progress(bob, "up"))
        # By its content, never by the name that somebody gave it.
        assert received == alice.sessions[0] / "blobs" / digest
        assert line.passed < SIZE * 1.7


def test_cut_connection_resumes_download(
    alice: Member, film: Path, digest: str, tmp_path: Path
) -> None:
    with (
        Cable(alice.seated()["address"]) as line,
        Member("bob", tmp_path / "bob", join(line.address), only=line.address) as bob,
    ):
        bob.seated()
        line.cut_after(SIZE // 2)
        send(alice, film, digest)
        bob.hears("see this")
        bob.wait_for("transfer", direction="down", done=SIZE)
        arrived(bob, digest)
        assert_resumed(line, progress(bob, "down"))
        assert line.passed < SIZE * 1.7
