"""Showing in a terminal what becomes of a message."""

from collections.abc import Callable
from typing import TypeAlias

from genie_core.agent import Approval, Decision
from genie_core.execution import Answered, ApprovalClosed, ApprovalPending, Decided, Failed
from genie_core.message import Message
from genie_core.session import Execution, GroupSession

Approver: TypeAlias = Callable[[Approval], object]
"""Answers an approval, at once or later."""


def approve(approval: Approval) -> None:
    """Allow every call. Fine for tools that change nothing."""
    approval.approve(by="example")


async def say(session: GroupSession, message: Message, approver: Approver = approve) -> None:
    """Send a message and show what follows, to the end."""
    print(f"{message.sender}: {message.content}")
    await show(session.handle(message), approver)


async def show(execution: Execution, approver: Approver) -> None:
    """Print each event as it happens.

    `events()` tells more than `stream()`: why a message was ignored, and what failed.
    """
    async for event in execution.events():
        match event:
            case Decided(decision=Decision.IGNORE):
                print(f"   ignored: {event.reason or 'no reason given'}")
            case Decided(query=query):
                print(f"   delegated: {query}")
            case ApprovalPending(approval=approval):
                print(f"   {approval.sender} wants to call {approval.call_repr()}")
                approver(approval)
            case ApprovalClosed(approval=approval, verdict=verdict):
                print(f"   {approval.tool_name} was {'allowed' if verdict else 'denied'}")
            case Answered(message=answer):
                print(f"{answer.sender} → {answer.receiver or 'all'}: {answer.content}")
            case Failed(error=error):
                print(f"   failed: {error}")
            case _:
                pass
