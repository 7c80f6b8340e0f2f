"""A model provider on loopback that speaks OpenAI's HTTP interface and follows a script."""

from genie_testing.openai.request import ModelRequest as ModelRequest
from genie_testing.openai.server import FakeOpenAI as FakeOpenAI
