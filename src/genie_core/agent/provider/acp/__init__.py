"""An agent that is an installed program and speaks the Agent Client Protocol over stdio."""

from genie_core.runtime.extras import imports_of

with imports_of("acp"):
    from genie_core.agent.provider.acp.agent import DefaultAgent
    from genie_core.agent.provider.acp.errors import AgentProgramFailed
    from genie_core.agent.provider.acp.process import AgentProgram
    from genie_core.agent.provider.acp.run import FileAccess
    from genie_core.agent.provider.acp.terminals import RunCommand

__all__ = ["AgentProgram", "AgentProgramFailed", "DefaultAgent", "FileAccess", "RunCommand"]
