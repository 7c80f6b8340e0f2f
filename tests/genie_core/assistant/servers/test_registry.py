from collections.abc import Sequence

from genie_core.agent.provider.tool_server_outages import Paused
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.registry import ServerConnection, ServerRegistry
from genie_core.privacy.redaction import know
from genie_core.room.engine.controls import ServerInfo, ToolInfo


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def fail(connection: ServerConnection, reason: str = "it ended") -> None:
    connection.starting()
    connection.down(reason)


def pauses(board: ServerRegistry, clock: Clock, times: int) -> Sequence[float | None]:
    """How long a server is left alone after each of so many failures, one after the other."""
    found = []
    connection = board.connection("git")
    for _ in range(times):
        fail(connection)
        found.append(board.servers[0].retry_in)
        clock.now += found[-1] or 0
    return found


def test_a_server_is_idle_until_it_is_needed() -> None:
    board = ServerRegistry([ServerSpec("git"), ServerSpec("web")])
    assert board.servers == (ServerInfo("git", "idle"), ServerInfo("web", "idle"))
    assert board.tools == ()


def test_its_state_and_its_tools_are_as_reported() -> None:
    board = ServerRegistry([ServerSpec("git")])
    connection = board.connection("git")
    connection.starting()
    assert board.servers == (ServerInfo("git", "starting"),)
    connection.ready()
    connection.ready({"git_log": "Show commits."})
    assert board.servers == (ServerInfo("git", "ready", 1),)
    tool = ToolInfo("", "git_log", "Show commits.", "unknown", "ask", "", "git")
    assert board.tools == (tool,)
    connection.starting()  # the next run
    assert board.servers == (ServerInfo("git", "ready", 1),)
    connection.ready({"git_log": "Show commits.", "git_diff": ""})
    assert board.servers == (ServerInfo("git", "ready", 2),)
    connection.closed()
    assert board.servers[0].state == "idle"


def test_claims_and_omissions_are_listed() -> None:
    board = ServerRegistry([ServerSpec("git")])
    connection = board.connection("git")
    connection.starting()
    connection.claims({"git_log": "it only reads"})
    connection.ready({"git_log": "Show commits."}, left_out=3)
    assert board.servers == (ServerInfo("git", "ready", 1, left_out=3),)
    assert board.tools[0].claim == board.claim("git_log") == "it only reads"
    connection.ready({"git_log": "Show commits."})
    assert board.servers[0].left_out == 0


def test_pause_doubles_until_success() -> None:
    clock = Clock()
    board = ServerRegistry([ServerSpec("git")], clock)
    assert pauses(board, clock, 9) == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    works = board.connection("git")
    works.starting()
    works.ready()
    assert board.servers[0].retry_in is None
    works.closed()
    assert pauses(board, clock, 2) == [1, 2]


def test_failed_server_pauses_unconnected() -> None:
    clock = Clock()
    board = ServerRegistry([ServerSpec("git"), ServerSpec("web")], clock)
    works, broken, other = (board.connection("git") for _ in range(3))
    works.starting()
    works.ready({"git_log": ""})
    fail(broken)
    assert works.paused() is None
    assert board.connection("web").paused() is None
    for connection in (broken, other):
        paused = connection.paused()
        assert isinstance(paused, Paused)
        assert str(paused) == "it ended; it is tried again in 1 seconds"
    assert board.servers[0] == ServerInfo("git", "ready", 1, "it ended", 1.0)
    clock.now += 1.0
    assert other.paused() is None


def test_down_server_has_reason_and_timer() -> None:
    clock = Clock()
    board = ServerRegistry([ServerSpec("git")], clock)
    connection = board.connection("git")
    connection.hint = lambda: "no such file"
    connection.starting()
    connection.ready({"git_log": ""})
    connection.down("it ended")
    connection.down("said by a call that was under way")
    assert board.servers == (ServerInfo("git", "down", 0, "it ended", 1.0),)
    assert board.tools == ()
    clock.now += 0.25
    assert board.servers[0].retry_in == 0.75
    clock.now += 100
    fail(connection)
    assert board.servers[0].detail == "it ended; its last output: no such file"
    paused = connection.paused()
    assert paused is not None
    assert "no such file" not in str(paused)
    connection.closed()
    assert board.servers[0].state == "down"


def test_it_shows_no_secret() -> None:
    know(["v3ry-secret-value"])
    board = ServerRegistry([ServerSpec("git")])
    connection = board.connection("git")
    connection.starting()
    connection.ready({"git_log": "Uses v3ry-secret-value."})
    assert "v3ry" not in repr(board.tools)
    connection.down("401 for v3ry-secret-value")
    connection.hint = lambda: "v3ry-secret-value"
    fail(connection, "401 for v3ry-secret-value")
    assert board.servers[0].detail
    assert "v3ry" not in repr(board.servers)
