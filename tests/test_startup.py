"""Fast to start: what is slow to import is imported by the commands that need it, and by no other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.core.model import CannotJudge, Config
from safe_gate.core.setting import Setting
from safe_gate.settings import precedence
from safe_gate.settings.options import settings as every_setting
from tests.support.cases import safe_case, turn, write_batch, write_cases
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


_TABLES = {"tabulate", "wcwidth"}
_SETTINGS = {
    "annotated_types",
    "dotenv",
    "pydantic",
    "pydantic_core",
    "pydantic_settings",
    "typing_extensions",
    "typing_inspection",
}
_NEEDED: Mapping[str, tuple[list[str], set[str]]] = {
    "version": (["--version"], set()),
    "help": (["--help"], {"report"}),
    "help of a command": (["score", "--help"], set()),
    "score": (["score", "--batch", "b"], {"jsonschema_rs", "safe_v0", *_TABLES}),
    "score as JSON": (["score", "--batch", "b", "--format", "json"], {"jsonschema_rs", "safe_v0"}),
    "eval": (["eval", "--cases", "c.jsonl"], {"jsonschema_rs", "synthesis"}),
    "run": (
        ["run", "--batch", "b", "--cases", "c.jsonl"],
        {"jsonschema_rs", "report", "safe_v0", "synthesis", *_TABLES},
    ),
    "a number is set": (
        ["eval", "--cases", "c.jsonl", "--fail-on", "1"],
        {"jsonschema_rs", "synthesis", *_SETTINGS},
    ),
    "validate": (["validate", "c.jsonl"], {"jsonschema_rs", "report", "synthesis"}),
    "rows of Parquet": (
        ["validate", "c.parquet"],
        {"cloudpickle", "jsonschema_rs", "pyarrow", "report", "synthesis"},
    ),
}
_COUNT = """
import sys  # `report` is `core/report.py`, of which a command that scores alone has none
before = set(sys.modules)  # what `.pth` files of the environment import
from safe_gate.cli import main
try:
    code = main()
except SystemExit as end:  # of --help
    code = end.code
folders = {name.split(".")[2] for name in sys.modules if name.startswith("safe_gate.evaluators.") and name.endswith(".score")}
files = (getattr(sys.modules[name], "__file__", None) or "" for name in set(sys.modules) - before)
names = {file.replace("\\\\", "/").rpartition("/site-packages/")[2].split("/")[0] for file in files if "site-packages" in file}
folders |= {"report"} & {name.rpartition(".")[2] for name in sys.modules if name.startswith("safe_gate.core.")}
print(code, *folders, *(name.partition(".")[0] for name in names), file=sys.stderr)
"""


@pytest.mark.parametrize("needed", _NEEDED.values(), ids=_NEEDED)
def test_a_command_imports_the_libraries_and_evaluators_it_needs_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needed: tuple[list[str], set[str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_batch(Path("b.json"), safe_case("a"))
    write_cases(Path("c.jsonl"), turn("a"))
    pq.write_table(pa.Table.from_pylist([turn("a")]), "c.parquet")
    arguments, modules = needed
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "SAFE_", "INPUT_"))}
    ran = subprocess.run(
        [sys.executable, "-I", "-c", _COUNT, *arguments], capture_output=True, text=True, check=True, env=environ
    )
    code, *imported = ran.stderr.splitlines()[-1].split()
    assert code == "0", ran.stdout + ran.stderr
    assert set(imported) - {"safe_gate"} == modules
