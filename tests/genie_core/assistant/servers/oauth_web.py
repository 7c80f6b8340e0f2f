"""A tool server on HTTP that wants a login, with its own authorization server, in this process."""

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from tests.genie_core.assistant.servers.modern_web import serving
from tests.ports import free_port


@dataclass
class Issuer(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Agrees to each login at once; keeps what it has issued. Refresh tokens are used once."""

    lifetime: int = 3600
    resource: str = ""
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    access: dict[str, AccessToken] = field(default_factory=dict)
    refreshing: dict[str, RefreshToken] = field(default_factory=dict)
    challenges: list[str] = field(default_factory=list)

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        self.challenges.append(params.code_challenge)
        self.resource = params.resource or ""
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, _client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issued(client, authorization_code.scopes)

    async def load_refresh_token(
        self, _client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refreshing[refresh_token.token]
        return self._issued(client, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)

    def _issued(self, client: OAuthClientInformationFull, scopes: list[str]) -> OAuthToken:
        first, second = (
            f"access-{secrets.token_urlsafe(24)}",
            f"refresh-{secrets.token_urlsafe(24)}",
        )
        self.access[first] = AccessToken(
            token=first, client_id=client.client_id, scopes=scopes, resource=self.resource
        )
        self.refreshing[second] = RefreshToken(
            token=second, client_id=client.client_id, scopes=scopes
        )
        return OAuthToken(
            access_token=first, refresh_token=second, expires_in=self.lifetime, token_type="Bearer"
        )


@asynccontextmanager
async def with_login(issuer: Issuer) -> AsyncIterator[str]:
    """Serve a tool behind a login; the server's address."""
    port = free_port()
    origin = AnyHttpUrl(f"http://127.0.0.1:{port}")
    server = MCPServer(
        "private",
        auth_server_provider=issuer,
        auth=AuthSettings(
            issuer_url=origin,
            resource_server_url=AnyHttpUrl(f"{origin}mcp"),
            validate_token_resource=True,
            client_registration_options=ClientRegistrationOptions(enabled=True),
        ),
    )

    @server.tool()
    def shout(text: str) -> str:
        return text.upper()

    async with serving(server.streamable_http_app(), port) as url:
        yield url
