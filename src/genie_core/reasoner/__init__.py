"""Reasoners: their interface, their factory, and the worker that runs them."""

from genie_core.reasoner.base import Decision as Decision
from genie_core.reasoner.base import GroupReasoner as GroupReasoner
from genie_core.reasoner.base import Response as Response
from genie_core.reasoner.factory import GroupReasonerFactory as GroupReasonerFactory
from genie_core.reasoner.factory import GroupReasonerFactoryFn as GroupReasonerFactoryFn
from genie_core.reasoner.runner import GroupReasonerRunner as GroupReasonerRunner
