"""How the path of agents that leads to a tool call is written for people."""

from genie_core.message import SYSTEM


def agent_path(path: str) -> str:
    """Call the system agent by the name that people address it with: "genie › search:1a2b"."""
    agents = path.split("/")
    named = ["genie", *agents] if agents[0] != SYSTEM else ["genie", *agents[1:]]
    return " › ".join(named)
