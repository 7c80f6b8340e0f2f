"""The reasoners of the examples: one prompt, one for each person, paid with that person's key."""

from functools import partial

from examples.service import Service
from genie_core.agent.provider.pydantic_ai import DefaultGroupReasoner
from genie_core.reasoner import GroupReasoner, GroupReasonerFactory
from genie_core.secrets import SecretsProvider


def create_reasoner(
    service: Service, prompt: str, secrets: dict[str, str], owner: str
) -> GroupReasoner:
    """Make the reasoner of one person."""
    return DefaultGroupReasoner(
        prompt.replace("{owner}", owner), model=service.for_pydantic_ai(secrets)
    )


def reasoner_factory(
    service: Service, prompt: str, secrets: SecretsProvider
) -> GroupReasonerFactory:
    """Give everybody a reasoner with this prompt, in which `{owner}` becomes their name."""
    return GroupReasonerFactory(partial(create_reasoner, service, prompt), secrets_provider=secrets)
