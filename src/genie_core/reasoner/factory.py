"""Making a reasoner for a person."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from genie_core.errors import InvalidFactory, InvalidSetting, StageFailed, stage
from genie_core.reasoner.base import GroupReasoner
from genie_core.secrets import SecretsProvider

GroupReasonerFactoryFn: TypeAlias = Callable[[dict[str, str], str], GroupReasoner]
"""Makes a reasoner from a person's secrets and their name."""

DEFAULT_IDLE_TIMEOUT: Final = 600.0
"""Seconds without a message after which a reasoner is put away, unless told otherwise."""


class GroupReasonerFactory:
    """Makes one reasoner per person, with that person's secrets.

    `group_reasoner_idle_timeout` is in seconds; None means ten minutes.
    """

    def __init__(
        self,
        group_reasoner_factory_fn: GroupReasonerFactoryFn,
        group_reasoner_idle_timeout: float | None = None,
        secrets_provider: SecretsProvider | None = None,
    ) -> None:
        if not callable(group_reasoner_factory_fn):
            raise InvalidFactory(repr(group_reasoner_factory_fn), "factory(secrets, owner)")
        if group_reasoner_idle_timeout is None:
            group_reasoner_idle_timeout = DEFAULT_IDLE_TIMEOUT
        if not group_reasoner_idle_timeout > 0:
            raise InvalidSetting(
                "group_reasoner_idle_timeout",
                group_reasoner_idle_timeout,
                "a positive number of seconds",
            )
        self._create = group_reasoner_factory_fn
        self._idle_timeout = group_reasoner_idle_timeout
        self._secrets_provider = secrets_provider

    @property
    def group_reasoner_idle_timeout(self) -> float:
        """Seconds without a message after which a reasoner is put away."""
        return self._idle_timeout

    def create_group_reasoner(self, owner: str, **kwargs: Any) -> GroupReasoner:
        """Make a reasoner; further arguments go to the factory function.

        `StageFailed` tells whether it was the secrets or the function that failed.
        """
        secrets = secrets_of(owner, self._secrets_provider)
        with stage("factory", f"reasoner factory for {owner}"):
            reasoner = self._create(secrets, owner, **kwargs)
        if not isinstance(reasoner, GroupReasoner):
            raise StageFailed(
                "factory",
                f"reasoner factory for {owner}",
                f"returned {type(reasoner).__name__}, not a GroupReasoner",
            )
        return reasoner


def secrets_of(owner: str, provider: SecretsProvider | None) -> dict[str, str]:
    """Ask for a person's secrets; no provider and no answer both mean none."""
    if provider is None:
        return {}
    with stage("secrets", f"secrets of {owner}"):
        return dict(provider.get_secrets(owner) or {})
