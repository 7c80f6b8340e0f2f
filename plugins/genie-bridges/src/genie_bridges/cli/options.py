"""The options of `genie-tui mcp` and `acp`; importing this module is cheap."""

from genie_tui.cli.options import AddPart, add_settings
from genie_tui.plugins import CommandCall


def add_mcp(add: AddPart) -> None:
    mcp = add("mcp", "join a room as an agent: an MCP server on standard input and output")
    mcp.used = frozenset({"name", "workspace", "local"})
    add_settings(mcp)
    mcp.add_argument(
        "way",
        metavar="INVITE",
        nargs="+",
        help="what the host gave you; on the host's own machine :PORT does, too. The agent has a key "
        "of its own under its --name, and attaches files of --workspace (default: the current folder)",
    )
    mcp.set_defaults(command="mcp", run=_run_mcp)


def _run_mcp(call: CommandCall) -> int:
    from genie_bridges.cli.mcp import run_mcp

    return run_mcp(call.options, call.source, call.locations)


def add_acp(add: AddPart) -> None:
    acp = add("acp", "join a room from your editor: an ACP agent on standard input and output")
    add_settings(acp)
    acp.add_argument(
        "way",
        metavar="INVITE",
        nargs="+",
        help="as for join; you are the same member as there",
    )
    acp.add_argument("--guest", action="store_true", help="bring no engine; the host's answers")
    acp.set_defaults(command="acp", run=_run_acp)


def _run_acp(call: CommandCall) -> int:
    from genie_bridges.cli.acp import run_acp

    return run_acp(call.options, call.source, call.locations)
