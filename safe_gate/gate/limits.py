"""Settings that are several limits, and their entries as a report records them: one limit for each rule. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from safe_gate.core.setting import settings_of
from safe_gate.evaluators import EVALUATORS


@cache
def _general() -> Mapping[str, str]:
    """Return the settings that are several limits, each with the entry that a number alone stands for."""
    every = (setting for evaluator in EVALUATORS.values() for setting in settings_of(evaluator.settings))
    return {setting.name: setting.by_name.general for setting in every if setting.by_name and not setting.entries}


def by_rule(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with one entry for each rule, instead of mappings of several limits.

    >>> by_rule({"min_label_accuracy": {"all": 0.8, "two_words": 0.9}})
    {'min_label_accuracy': 0.8, 'min_label_accuracy_two_words': 0.9}
    """
    named = {
        setting if entry == general else f"{setting}_{entry}": limit
        for setting, general in _general().items()
        for entry, limit in (settings.get(setting) or {}).items()
    }
    return {name: value for name, value in settings.items() if name not in _general()} | named


def by_entry(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as `by_rule` takes them, of the limits that a report records.

    >>> by_entry({"min_label_accuracy": 0.8, "min_label_accuracy_two_words": None})
    {'min_label_accuracy': {'all': 0.8}}
    """
    found: dict[str, Any] = {setting: {} for setting in _general()}
    others = dict[str, Any]()
    for name, limit in policy.items():
        for setting, general in _general().items():
            if name == setting or name.startswith(f"{setting}_"):
                if limit is not None:
                    found[setting][general if name == setting else name.removeprefix(f"{setting}_")] = limit
                break
        else:
            others[name] = limit
    return others | found


def setting_of(rule: str) -> str:
    """Return the setting that limits a rule, as a config file names it. One of several limits is an entry.

    >>> setting_of("min-label-accuracy-two-words"), setting_of("min-pass-rate")
    ('min-label-accuracy.two_words', 'min-pass-rate')
    >>> setting_of("min-label-accuracy-acme/no-discounts")  # a team's own check has hyphens, never _
    'min-label-accuracy.acme/no-discounts'
    """
    for setting in (name.replace("_", "-") for name in _general()):
        if rule.startswith(f"{setting}-"):
            entry = rule.removeprefix(f"{setting}-")
            return f"{setting}.{entry if '/' in entry else entry.replace('-', '_')}"
    return rule
