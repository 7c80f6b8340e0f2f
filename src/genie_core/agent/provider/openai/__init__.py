"""An agent on the OpenAI Agents SDK.

Importing this package imports the SDK, which takes a second or two.
"""

from genie_core.runtime.extras import imports_of

with imports_of("openai"):
    from genie_core.agent.provider.openai.agent import DefaultAgent as DefaultAgent
