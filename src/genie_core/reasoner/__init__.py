"""Reasoners: their interface, their factory, and the worker that runs them."""

from typing import TYPE_CHECKING

from genie_core.reasoner.base import GroupReasoner as GroupReasoner
from genie_core.reasoner.base import Response as Response
from genie_core.reasoner.factory import GroupReasonerFactory as GroupReasonerFactory
from genie_core.reasoner.factory import GroupReasonerFactoryFn as GroupReasonerFactoryFn

if TYPE_CHECKING:
    from genie_core.reasoner.decision import Decision as Decision
else:
    from genie_core.reasoner.decision import __getattr__ as __getattr__  # for `Decision`
