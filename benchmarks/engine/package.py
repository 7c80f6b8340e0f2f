"""The engine under test: ours or the one it is compared with, by the names that both have."""

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

OURS: Final = "genie_core"
REFERENCE: Final = "group_genie"
DISTRIBUTIONS: Final = {OURS: "genie-tui", REFERENCE: "group-genie"}


@dataclass(frozen=True, slots=True)
class Package:
    """What a program that embeds an engine imports from it.

    The values are `Any`: one of the two packages is never installed where types are checked.
    """

    name: str
    version: str
    session: Any
    store: Any
    message: Any
    agent: Any
    agent_factory: Any
    reasoner: Any
    reasoner_factory: Any
    decision: Any
    response: Any


def load(name: str) -> Package:
    """Import an engine; `ImportError` if it is not installed here."""
    agent = import_module(f"{name}.agent")
    reasoner = import_module(f"{name}.reasoner")
    return Package(
        name=name,
        version=version(DISTRIBUTIONS[name]),
        session=import_module(f"{name}.session").GroupSession,
        store=import_module(f"{name}.datastore").DataStore,
        message=import_module(f"{name}.message").Message,
        agent=agent.Agent,
        agent_factory=agent.AgentFactory,
        reasoner=reasoner.GroupReasoner,
        reasoner_factory=reasoner.GroupReasonerFactory,
        decision=agent.Decision,
        response=(agent if hasattr(agent, "Response") else reasoner).Response,
    )
