"""A headless engine and room for group chats in which several people's agents take part.

The names below are those of most programs that embed the engine. They load their modules when they
are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genie_core.agent.approval import Approval, ApprovalCallback, Verdict
    from genie_core.agent.base import Agent, AgentInfo, AgentInput, AsyncTool
    from genie_core.agent.factory import AgentFactory
    from genie_core.datastore import DataStore
    from genie_core.errors import EventsMissed, ExecutionFailed, GenieError, SessionLocked
    from genie_core.execution import (
        Answered,
        ApprovalClosed,
        ApprovalPending,
        Cancelled,
        Decided,
        Doing,
        Execution,
        ExecutionEvent,
        Failed,
        Spent,
        TextDelta,
        Unsaved,
    )
    from genie_core.message import Attachment, Message, Thread
    from genie_core.preferences import PreferencesSource
    from genie_core.reasoner.base import GroupReasoner, Response
    from genie_core.reasoner.decision import Decision
    from genie_core.reasoner.factory import GroupReasonerFactory
    from genie_core.secrets import SecretsProvider
    from genie_core.session import GroupSession
    from genie_core.session_events import Received, SessionEvent
    from genie_core.storage.executions import Unfinished
    from genie_core.storage.memory import MemoryStore
    from genie_core.storage.sqlite_store import SQLiteStore
    from genie_core.storage.store import Store

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentFactory",
    "AgentInfo",
    "AgentInput",
    "Answered",
    "Approval",
    "ApprovalCallback",
    "ApprovalClosed",
    "ApprovalPending",
    "AsyncTool",
    "Attachment",
    "Cancelled",
    "DataStore",
    "Decided",
    "Decision",
    "Doing",
    "EventsMissed",
    "Execution",
    "ExecutionEvent",
    "ExecutionFailed",
    "Failed",
    "GenieError",
    "GroupReasoner",
    "GroupReasonerFactory",
    "GroupSession",
    "MemoryStore",
    "Message",
    "PreferencesSource",
    "Received",
    "Response",
    "SQLiteStore",
    "SecretsProvider",
    "SessionEvent",
    "SessionLocked",
    "Spent",
    "Store",
    "TextDelta",
    "Thread",
    "Unfinished",
    "Unsaved",
    "Verdict",
    "__version__",
]

_MODULES = {
    "Agent": "agent.base",
    "AgentFactory": "agent.factory",
    "AgentInfo": "agent.base",
    "AgentInput": "agent.base",
    "Approval": "agent.approval",
    "ApprovalCallback": "agent.approval",
    "AsyncTool": "agent.base",
    "Attachment": "message",
    "DataStore": "datastore",
    "Decision": "reasoner.decision",
    "EventsMissed": "errors",
    "ExecutionFailed": "errors",
    "GenieError": "errors",
    "GroupReasoner": "reasoner.base",
    "GroupReasonerFactory": "reasoner.factory",
    "GroupSession": "session",
    "MemoryStore": "storage.memory",
    "Message": "message",
    "PreferencesSource": "preferences",
    "Received": "session_events",
    "Response": "reasoner.base",
    "SQLiteStore": "storage.sqlite_store",
    "SecretsProvider": "secrets",
    "SessionEvent": "session_events",
    "SessionLocked": "errors",
    "Store": "storage.store",
    "Thread": "message",
    "Unfinished": "storage.executions",
    "Verdict": "agent.approval",
}


if not TYPE_CHECKING:  # a type checker would take any name for one of the package

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'execution')}"), name)

    def __dir__() -> list[str]:
        return list(__all__)
