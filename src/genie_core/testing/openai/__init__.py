"""A model provider on loopback that speaks OpenAI's HTTP interface and follows a script."""

from genie_core.runtime.extras import imports_of

with imports_of("testing"):
    from genie_core.testing.openai.request import ModelRequest as ModelRequest
    from genie_core.testing.openai.server import FakeOpenAI as FakeOpenAI
