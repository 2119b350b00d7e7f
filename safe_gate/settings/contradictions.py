"""Settings that contradict each other, and addresses that nothing may be sent to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from safe_gate.core.model import Config, Place, Problem
from safe_gate.settings.options import Options
from safe_gate.settings.origins import Source, in_config, of_default
from safe_gate.settings.values import A_NUMBER_OF_JOBS


def contradictions(
    options: Options, origins: Mapping[str, Source], config: Config, *, is_merge: bool
) -> Iterator[Problem]:
    """Yield a problem for settings that are fine alone but not together, and for a number of jobs that is none."""
    if options.engine == "dask" and not options.scheduler and not is_merge:
        words = "is dask, which needs a scheduler; set its address, such as tcp://10.0.0.2:8786"
        yield origins["engine"].problem(words)
    if options.scheduler and options.engine != "dask":
        yield origins["scheduler"].problem("is for engine dask; set engine to dask, or leave it unset")
    if options.jobs != "auto" and not A_NUMBER_OF_JOBS.fullmatch(options.jobs):
        yield origins["jobs"].unfit(options.jobs, "a whole number from 1 to 999, or auto")
    for metric in ("cr", "ah", "ac"):
        names = f"{metric}_pass", f"{metric}_review"
        pass_, review = (getattr(options, name) for name in names)
        if pass_ < review:
            by_pass, by_review = (origins.get(name, of_default(name)) for name in names)
            yield by_pass.problem(f"is {pass_}, below {review} ({by_review.name}); expected pass >= review")
    for archetype, overrides in (options.archetypes or {}).items():
        for metric, own in overrides.get("thresholds", {}).items():
            general = {level: getattr(options, f"{metric.lower()}_{level}") for level in ("pass", "review")}
            limits = {**general, **own}
            if limits["pass"] < limits["review"]:
                words = f"pass is {limits['pass']}, below review, {limits['review']}"
                words = f"{words} (what is not set here is as for all); expected pass >= review"
                yield in_config(config, "archetypes", archetype, "thresholds", metric).problem(words)
    weights = {metric: getattr(options, f"{metric.lower()}_weight") for metric in ("CR", "AH", "AC")}
    nowhere = "are all zero; expected at least one weight above 0"
    if not any(weights.values()):
        is_in_config = any(origins[name].field for name in ("cr_weight", "ah_weight", "ac_weight") if name in origins)
        yield (in_config(config, "weights") if is_in_config else Source("", Place("weights"))).problem(nowhere)
    for archetype, overrides in (options.archetypes or {}).items():
        if not any({**weights, **overrides.get("weights", {})}.values()):
            yield in_config(config, "archetypes", archetype, "weights").problem(nowhere)


def unfit_addresses(options: Options, origins: Mapping[str, Source]) -> Iterator[Problem]:
    """Yield a problem for each sink that events must not be sent to."""
    for name in ADDRESSES:
        if words := unfit_address(getattr(options, name), allow_insecure=options.allow_insecure):
            yield origins[name].problem(words)


ADDRESSES = ("sink_webhook", "sink_otlp")


def unfit_address(address: str, *, allow_insecure: bool) -> str:
    """Return what is wrong with a sink's address, without quoting it: it may hold a secret. "" if nothing is."""
    with suppress(ValueError):  # an address that is none
        parts = urlsplit(address)
        if parts.scheme == "http" and parts.hostname and not allow_insecure:
            return "is plain http, which anybody on the way can read; use https, or set allow-insecure: true"
        if not address or (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0):
            return ""
    return "is not an address of a server; expected https://HOST or https://HOST/PATH"
