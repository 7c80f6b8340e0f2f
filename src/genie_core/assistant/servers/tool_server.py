"""One tool server of one agent, whichever library the agent is on."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import httpx2
from fastmcp import Client

from genie_core.assistant.servers import launch
from genie_core.assistant.servers.calls import CallsInProgress
from genie_core.assistant.servers.client import (
    ProgramTransport,
    answer_requests,
    prepare,
    transport_of,
)
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.elicitation import elicit
from genie_core.assistant.servers.offered_tools import (
    RESERVED,
    ListedTool,
    offered,
    public_names,
)
from genie_core.assistant.servers.registry import ServerConnection
from genie_core.assistant.servers.resources import ABOUT, use_resources
from genie_core.assistant.servers.sampling import ModelSource, sample


class ToolServer:
    """Fills in placeholders at the start and gives tools their public names.

    `keys` are secrets for the placeholders, `model` is the one that the server may ask, `auth` sends
    the login of a server on HTTP.
    """

    def __init__(
        self,
        spec: ServerSpec,
        keys: Mapping[str, str],
        connection: ServerConnection,
        model: ModelSource | None = None,
        auth: httpx2.Auth | None = None,
    ) -> None:
        self.spec = spec
        self.connection = connection
        self.transport = transport_of(spec, auth)
        self.calls = CallsInProgress()
        self.client: Client[Any]
        self.names: dict[str, str] = {}
        """The server's own names of its tools, by public name."""
        self.resources: dict[str, str] = {}
        """Our tools for the server's resources, by public name."""
        self._keys = keys
        self._model = model
        if isinstance(self.transport, ProgramTransport):
            connection.hint = self.transport.last_line

    def use(self, client: Client[Any]) -> None:
        """Take the client over the transport, and answer the server's requests in calls."""
        self.client = client
        name, calls, model = self.spec.name, self.calls, self._model
        answer_requests(
            client,
            elicit=partial(elicit, name, calls),
            sample=partial(sample, name, calls, model) if model is not None else None,
        )

    def prepare(self) -> None:
        """Fill in placeholders before a start. Raises `MissingValue` and `ServerError`."""
        prepare(self.transport, launch.ready_to_start(self.spec, self._keys))

    def offer(self, tools: Mapping[str, ListedTool], *, quietly: bool = False) -> dict[str, str]:
        """Return the server's names of the tools that models get, by public name.

        Sets `resources` too. `quietly` does not report the tools that are left out.
        """
        fit = offered(self.spec, tools, self.connection, quietly=quietly)
        names = public_names(self.spec.name, fit, RESERVED)
        self.names |= names
        self.connection.claims({name: tools[own].claim for name, own in names.items()})
        has = self.client.server_capabilities
        ours = public_names(self.spec.name, ABOUT, RESERVED) if has and has.resources else {}
        self.resources = {name: tool for name, tool in ours.items() if name not in names}
        return names

    async def use_resources(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call one of our tools for resources by its own name."""
        async with self.calls.call():
            return await use_resources(self.client, tool, arguments)
