"""One message's run while it is under way: what it waits for, and what it has taken so far."""

from dataclasses import dataclass, field

from genie_core.agent.approval import Approval
from genie_core.execution import Execution
from genie_core.room.court import Ruling
from genie_core.room.protocol.events import Spending
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.runtime.progress import Usage


@dataclass(slots=True, eq=False)
class Running:
    """A running execution and the approvals it waits for."""

    exchange: MessageThread
    execution: Execution
    pending: dict[str, Approval] = field(default_factory=dict)
    answers: dict[str, Ruling] = field(default_factory=dict)
    parked: set[str] = field(default_factory=set)
    offered: tuple[ToolApproval, ...] = ()
    bill: dict[tuple[str, str, bool], Usage] = field(default_factory=dict)

    def charge(self, agent: str, usage: Usage) -> None:
        """Note what an agent took."""
        key = agent, usage.model, usage.cost is None
        known = self.bill.get(key)
        self.bill[key] = usage if known is None else known + usage

    def settle_bill(self) -> tuple[Spending, ...]:
        """What was taken since this was last asked."""
        spent = tuple(Spending.of(agent, usage) for (agent, *_), usage in self.bill.items())
        self.bill.clear()
        return spent
