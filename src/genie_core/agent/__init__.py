"""Agents: their interface, their factory, their runner, and approvals."""

from typing import TYPE_CHECKING

from genie_core.agent.approval import Approval as Approval
from genie_core.agent.approval import ApprovalCallback as ApprovalCallback
from genie_core.agent.approval import ApprovalContext as ApprovalContext
from genie_core.agent.approval import Verdict as Verdict
from genie_core.agent.base import Agent as Agent
from genie_core.agent.base import AgentInfo as AgentInfo
from genie_core.agent.base import AgentInput as AgentInput
from genie_core.agent.base import AsyncTool as AsyncTool
from genie_core.agent.factory import AgentFactory as AgentFactory
from genie_core.agent.factory import MultiAgentFactoryFn as MultiAgentFactoryFn
from genie_core.agent.factory import SingleAgentFactoryFn as SingleAgentFactoryFn
from genie_core.agent.runner import AgentRunner as AgentRunner
from genie_core.reasoner.base import Response as Response

if TYPE_CHECKING:
    from genie_core.reasoner.decision import Decision as Decision
else:
    from genie_core.reasoner.decision import __getattr__ as __getattr__  # for `Decision`
