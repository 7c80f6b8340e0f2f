"""Create a person's reasoner."""

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any, Final, TypeAlias

from genie_core.errors import InvalidFactory, StageFailed
from genie_core.reasoner.base import GroupReasoner
from genie_core.runtime.progress import stage
from genie_core.secrets import SecretsProvider, fetch_secrets, secrets_of
from genie_core.validation import check_setting, check_timeout

GroupReasonerFactoryFn: TypeAlias = Callable[[dict[str, str], str], GroupReasoner]
"""Creates a reasoner from a person's secrets and name."""

DEFAULT_IDLE_TIMEOUT: Final = 600.0
"""Seconds without a message after which a reasoner is closed, by default."""


class GroupReasonerFactory:
    """Creates one reasoner per person, with that person's secrets.

    `group_reasoner_idle_timeout` is in seconds; None means ten minutes.
    """

    def __init__(
        self,
        group_reasoner_factory_fn: GroupReasonerFactoryFn,
        group_reasoner_idle_timeout: float | None = None,
        secrets_provider: SecretsProvider | None = None,
    ) -> None:
        if not _takes_secrets_and_owner(group_reasoner_factory_fn):
            name = getattr(group_reasoner_factory_fn, "__name__", repr(group_reasoner_factory_fn))
            raise InvalidFactory(name, "factory(secrets, owner)")
        check_timeout("group_reasoner_idle_timeout", group_reasoner_idle_timeout)
        check_setting("secrets_provider", secrets_provider, SecretsProvider, optional=True)
        self._factory_fn = group_reasoner_factory_fn
        self._idle_timeout = group_reasoner_idle_timeout or DEFAULT_IDLE_TIMEOUT
        self._secrets_provider = secrets_provider

    @property
    def group_reasoner_idle_timeout(self) -> float:
        """Seconds without a message after which a reasoner is closed."""
        return self._idle_timeout

    def create_group_reasoner(self, owner: str, **kwargs: Any) -> GroupReasoner:
        """Create a reasoner; further arguments go to the factory function.

        Raises:
            StageFailed: the secrets or the function failed; it says which.
        """
        return self._create(owner, secrets_of(owner, self._secrets_provider), **kwargs)

    async def make_group_reasoner(self, owner: str, **kwargs: Any) -> GroupReasoner:
        """Call `create_group_reasoner`, without blocking the event loop for secrets.

        Uses a subclass's own `create_group_reasoner`.
        """
        own = type(self).create_group_reasoner
        if own is not GroupReasonerFactory.create_group_reasoner:
            return self.create_group_reasoner(owner, **kwargs)
        return self._create(owner, await fetch_secrets(owner, self._secrets_provider), **kwargs)

    def _create(self, owner: str, secrets: dict[str, str], /, **kwargs: Any) -> GroupReasoner:
        subject = f"reasoner factory for {owner}"
        with stage("factory", subject):
            reasoner = self._factory_fn(secrets, owner, **kwargs)
        if not isinstance(reasoner, GroupReasoner):
            raise StageFailed(
                "factory", subject, f"returned {type(reasoner).__name__}, not a GroupReasoner"
            )
        return reasoner


def _takes_secrets_and_owner(function: Any) -> bool:
    """Whether a function can be called with both; the caller may supply required keywords."""
    if not callable(function) or inspect.iscoroutinefunction(function):
        return False
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in ones have no signature
        return True
    keywords = {
        name: None
        for name, parameter in signature.parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY
    }
    try:
        signature.bind({}, "", **keywords)
    except TypeError:
        return False
    return True
