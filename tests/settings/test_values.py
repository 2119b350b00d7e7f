"""Settings are converted alike with and without pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.core.model import CannotJudge, Config
from safe_gate.core.setting import Setting
from safe_gate.settings import precedence
from safe_gate.settings.options import settings as every_setting
from tests.support.examples import examples

_CHOICES = sorted({choice for setting in every_setting() for choice in setting.choices})
_TEXTS = st.sampled_from(
    [*_CHOICES, "true", "False", "yes", "", " ", " a ", "a\nb", " \n", "0.5", "7", "\udc80", "x\ud800"]
)


def _flag(setting: Setting) -> st.SearchStrategy[tuple[str, Any]]:
    """Return what the command line may give for a setting."""
    several = setting.is_list or setting.is_mapping
    values = st.booleans() if setting.kind is bool else st.lists(_TEXTS, min_size=1, max_size=3) if several else _TEXTS
    return st.tuples(st.just(setting.name), values)


_GIVEN = [setting for setting in every_setting() if setting.flags_of("run") and setting.name != "config"]
_FLAGS = st.lists(st.sampled_from(_GIVEN).flatmap(_flag), max_size=3).map(dict)
_NAMES = [name for setting in _GIVEN for name in (*setting.env, f"INPUT_{setting.name.upper()}")]
_ENVIRON = st.dictionaries(st.sampled_from(_NAMES), _TEXTS, max_size=2)
_CONFIG = st.sampled_from(
    [{}, {"comment": "never"}, {"rules": ["a.json", " b "], "allow-removed": True}, {"alpha": 0.01}]
)


@pytest.mark.untraced
@pytest.mark.thorough
@examples(few=40, many=100)
@given(flags=_FLAGS, environ=_ENVIRON, config=_CONFIG)
@example(flags={}, environ={}, config={})
@example(flags={"safe_batch": ["a", " b\n"], "strict_ah": True}, environ={"SAFE_GATE_COMMENT": " never "}, config={})
@example(flags={"rules": ["x\ud800"]}, environ={}, config={})
def test_settings_are_the_same_whether_pydantic_is_imported_or_not(
    flags: Mapping[str, Any], environ: Mapping[str, str], config: Mapping[str, Any]
) -> None:
    def resolved() -> object:
        try:
            return precedence.resolve(flags, environ, lambda _: Config("safe.config.json", config))
        except CannotJudge as error:
            return error.problems

    quick = resolved()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(precedence, "without_pydantic", lambda _: None)
        assert resolved() == quick
