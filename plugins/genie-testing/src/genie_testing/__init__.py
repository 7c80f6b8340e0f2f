"""Parts for tests of reasoners, agents and sessions, without any model or network."""

from genie_testing.play import Play as Play
from genie_testing.scripted import DecideFn as DecideFn
from genie_testing.scripted import Emit as Emit
from genie_testing.scripted import RunFn as RunFn
from genie_testing.scripted import ScriptedAgent as ScriptedAgent
from genie_testing.scripted import ScriptedReasoner as ScriptedReasoner
from genie_testing.scripted import agent_factory as agent_factory
from genie_testing.scripted import delegate_all as delegate_all
from genie_testing.scripted import echo as echo
from genie_testing.scripted import ignore_all as ignore_all
from genie_testing.scripted import reasoner_factory as reasoner_factory
