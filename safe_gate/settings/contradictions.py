"""Settings that contradict each other or are not for their command, and addresses that nothing may be sent to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from safe_gate.core.given import Documents
from safe_gate.core.text.patterns import later
from safe_gate.evaluators import EVALUATORS
from safe_gate.model.config import Config
from safe_gate.model.problems import Code, Place, Problem
from safe_gate.settings.destinations import Sink
from safe_gate.settings.model import Settings
from safe_gate.settings.sources import CONFIG_FILE, Source, in_config, of_default

A_NUMBER_OF_JOBS = later("[1-9][0-9]{0,2}")


def contradictions(options: Settings, origins: Mapping[str, Source], config: Config) -> Iterator[Problem]:
    """Yield a problem for settings that contradict each other, and for an invalid number of jobs."""
    if not (options.jobs == "auto" or options.scheduler or A_NUMBER_OF_JOBS.fullmatch(options.jobs)):
        yield origins["jobs"].unfit(options.jobs, "a whole number from 1 to 999, auto, or the address of a scheduler")
    for found in (one for name in EVALUATORS for one in options.group(name).contradictions()):
        first, *others = [origins.get(name, of_default(name)) for name in found.options] or [in_config(config)]
        if found.key and (not found.options or any(one.kind == CONFIG_FILE for one in (first, *others))):
            yield in_config(config, *found.key).problem(found.message)
        elif found.key:
            yield Problem(Place(found.key[0]), found.message, code=Code.INVALID_SETTING)
        else:
            yield first.problem(found.message.format(*(one.name for one in others)))


def misplaced(options: Settings, origins: Mapping[str, Source], command: str) -> Iterator[Problem]:
    """Yield a problem for recorded outputs that the command would not read.

    A command for one evaluator ignores the settings of others.
    """
    for form in (one.input for one in EVALUATORS.values() if isinstance(one.input, Documents)):
        origin = origins.get(form.outputs)
        is_named = origin and not origin.field and options.value(form.outputs)  # a config may serve another gate, too
        if origin and is_named and not options.value(form.setting) and command in ("run", "merge"):
            setting = form.setting.replace("_", "-")
            words = (
                f"names recorded outputs, and {setting} names no cases that they are of; set it, or leave this unset"
            )
            yield origin.problem(words)


def unfit_sinks(options: Settings, origins: Mapping[str, Source]) -> Iterator[Problem]:
    """Yield a problem for each sink that events must not be sent to."""
    for place, entry in enumerate(options.sinks, 1):
        if words := unfit_sink(Sink.of(entry), options.allow):
            yield origins["sinks"].problem(f"entry {place} {words}")


def unfit_sink(sink: Sink, allow: Collection[str]) -> str:
    """Return the problem of a sink, "" for none. It does not quote the address, which may hold a secret."""
    if sink.kind == "file" and sink.to:
        return ""
    with suppress(ValueError):  # not a valid address
        parts = urlsplit(sink.to)
        if parts.scheme == "http" and parts.hostname and "plain-http" not in allow:
            return "is plain http, which anyone on the network can read; use https, or set allow: plain-http"
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return ""
    return "is no sink; expected file:PATH, https://HOST/PATH or otlp:https://HOST"
