"""An agent and a reasoner on pydantic-ai and group-sense.

Importing this package imports both, which takes a second or two.
"""

from genie_core.runtime.extras import imports_of

with imports_of("pydantic-ai"):
    from genie_core.agent.provider.pydantic_ai.agent import DefaultAgent as DefaultAgent
    from genie_core.agent.provider.pydantic_ai.reasoner import (
        DefaultGroupReasoner as DefaultGroupReasoner,
    )
    from genie_core.agent.provider.pydantic_ai.toolfilter import ToolFilter as ToolFilter
