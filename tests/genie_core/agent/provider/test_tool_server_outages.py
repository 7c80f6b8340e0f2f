import pytest
from mcp import MCPError
from tests.genie_core.agent.provider.both import RUNTIMES, Reports, bench

from genie_core.agent.provider.tool_server_outages import (
    CONNECTION_CLOSED,
    Paused,
    failure,
    late,
    note_outage,
    outage_instruction,
    shown,
)
from genie_core.assistant.servers.errors import ServerError
from genie_core.runtime.progress import reporting_to
from genie_testing.turns import Call, Say

WEB = "streamable_http: https://me:12345678@host/mcp?token=abc123"
REFUSED = ConnectionError("401 for url 'https://host/mcp?token=abc123'")


def test_shown_name_hides_key() -> None:
    assert shown("files") == "'files'"
    assert shown(WEB) == "'streamable_http: https://[hidden]@host/mcp?token=[hidden]'"


def test_outage_names_server_and_cause() -> None:
    failed = failure(WEB, REFUSED)
    assert isinstance(failed.cause, BaseException)
    assert (failed.stage, failed.cause.__cause__) == ("tools", REFUSED)
    told = str(failed)
    assert "host/mcp" in told
    assert "ConnectionError: 401" in told
    assert "abc123" not in told
    assert "12345678" not in told
    model = outage_instruction("web", REFUSED)
    assert "'web' cannot be used at the moment (its owner sees why)" in model
    assert "host/mcp" not in model + outage_instruction("web", late(30))


def test_slow_start_names_time_limit() -> None:
    assert str(late(30)) == "it did not start within 30 seconds"


def test_server_error_reaches_only_owner() -> None:
    reports = Reports()
    with reporting_to(reports):
        note_outage("web", REFUSED)
    public, whole = reports.doings
    assert public == "note tool server 'web' cannot be used"
    assert whole.startswith("detail tool server 'web' cannot be used: ConnectionError: 401")
    assert "host/mcp" in whole
    with reporting_to(reports):
        note_outage("web", ServerError("web", "can't be started: it is away"))
    assert reports.doings[-1] == "detail the tool server 'web' can't be started: it is away"
    assert failure("web", REFUSED).public == "tool server 'web': it cannot be used"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (MCPError(CONNECTION_CLOSED, "https://host/mcp"), "it has ended, or closed the connection"),
        (late(30), "it did not start within 30 seconds"),
        (Paused("401 for url 'https://host/mcp'", 4), "it is tried again in 4 seconds"),
    ],
)
def test_harmless_reason_reaches_everybody(error: Exception, why: str) -> None:
    reports = Reports()
    with reporting_to(reports):
        note_outage("web", error)
    assert reports.doings[0] == f"note tool server 'web' cannot be used: {why}"
    assert failure("web", error).public == f"tool server 'web': {why}"


async def look() -> str:
    """Look."""
    raise REFUSED


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.timeout(100)
async def test_tool_error_reaches_only_owner(runtime: str) -> None:
    async with bench(runtime, Call("look", {}), Say("oh"), tools=[look]) as desk:
        assert await desk.ask(desk.agent(), "go") == "oh"
    told = [each for each in desk.reports.doings if each.startswith(("note", "detail"))]
    assert told[0] == "note look: ConnectionError"
    assert told[1].startswith("detail look: ConnectionError: 401 for url 'https://host/mcp")
