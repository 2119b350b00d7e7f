"""The setting `min-label-accuracy`, and its entries as a report records them: one limit for each rule. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safe_gate.core.setting import ALL

_SETTING = "min_label_accuracy"


def by_rule(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with one entry for each rule on label accuracy instead of the mapping.

    >>> by_rule({"min_label_accuracy": {"all": 0.8, "two_words": 0.9}})
    {'min_label_accuracy': 0.8, 'min_label_accuracy_two_words': 0.9}
    """
    named = {
        _SETTING if entry == ALL else f"{_SETTING}_{entry}": limit
        for entry, limit in (settings.get(_SETTING) or {}).items()
    }
    return {name: value for name, value in settings.items() if name != _SETTING} | named


def by_entry(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as `by_rule` takes them, of the limits that a report records.

    >>> by_entry({"min_label_accuracy": 0.8, "min_label_accuracy_two_words": None})
    {'min_label_accuracy': {'all': 0.8}}
    """
    own = [name for name in policy if name == _SETTING or name.startswith(f"{_SETTING}_")]
    limits = {name.removeprefix(_SETTING).removeprefix("_") or ALL: policy[name] for name in own}
    others = {name: value for name, value in policy.items() if name not in own}
    return others | {_SETTING: {entry: limit for entry, limit in limits.items() if limit is not None}}


def setting_of(rule: str) -> str:
    """Return the setting that limits a rule, as a config file names it. A limit for one check is an entry.

    >>> setting_of("min-label-accuracy-two-words"), setting_of("min-pass-rate")
    ('min-label-accuracy.two_words', 'min-pass-rate')
    >>> setting_of("min-label-accuracy-acme/no-discounts")  # a team's own check has hyphens, never _
    'min-label-accuracy.acme/no-discounts'
    """
    setting = _SETTING.replace("_", "-")
    entry = rule.removeprefix(f"{setting}-")
    return rule if entry == rule else f"{setting}.{entry if '/' in entry else entry.replace('-', '_')}"
