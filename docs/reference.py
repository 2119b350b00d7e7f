"""Writes the tables of the documents, llms.txt, both action.yml and the keys of the config schema from the code.

A page marks a table with `<!-- NAME -->` and `<!-- end -->`; `make docs` writes what stands between them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from safe_gate import commands
from safe_gate.core.setting import HEADINGS, Setting
from safe_gate.evaluators import registry
from safe_gate.gate.rules import LIMITS, RULES
from safe_gate.settings import settings

FOLDER = Path(__file__).parent
GITLAB = FOLDER.parent / "safe_gate/commands/starter/gitlab/.gitlab/safe-gate.yml"
ACTION = FOLDER.parent / "action.yml"
COMPOSITE = FOLDER.parent / "composite/action.yml"
README, LLMS = FOLDER.parent / "README.md", FOLDER.parent / "llms.txt"
CONFIG_SCHEMA = FOLDER.parent / "schemas/config.schema.json"
EVALUATORS = {"safe_v0": "SAFE v0", "synthesis": "Synthesis"}


def page(text: str) -> str:
    """Return a page with its tables as the code has them."""
    marked = re.compile(rf"(<!-- ({'|'.join(TABLES)}) -->\n).*?(<!-- end -->)", re.DOTALL)
    return marked.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], text)


def config_schema(text: str) -> str:
    """Return the config schema with a key for each setting, and what the setting does as its description.

    What a key may hold, and the words of the error if it does not, stand in `$defs`.
    """
    schema: dict[str, Any] = json.loads(text)
    wanted = {setting.key: setting for setting in settings() if setting.key}
    schema["properties"] = {key: one for key, one in schema["properties"].items() if (key,) in {("$schema",), *wanted}}
    for key, setting in wanted.items():
        found = schema
        for name in key:
            shapes = schema["$defs"].get(found.get("$ref", "").rpartition("/")[2], found)["properties"]
            if name not in shapes:
                shapes[name] = {"$ref": f"#/$defs/{_definition(setting, schema['$defs'])}"}
            found = shapes[name]
        found["description"] = setting.help
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _definition(setting: Setting, known: dict[str, Any]) -> str:
    """Return what the key of a new setting may hold, as a name in the `known` definitions. Choices get one there.

    Raises ValueError if it takes a definition that is to be written by hand, and none has the setting's name.
    """
    if setting.choices and not setting.takes:
        name, choice = f"{setting.input}-value", {"enum": [*setting.choices]}
        known[name] = {"type": "array", "items": choice} if setting.is_list else choice
        return name
    shared: dict[tuple[Any, float | None, float | None], str] = {
        (bool, None, None): "flag",
        (str, None, None): "text",
        (tuple, None, None): "texts",
        (int, 0, None): "count",
        (int, 1, None): "positive",
        (float, 0, 1): "share",
    }
    name = shared.get((setting.kind, setting.low, setting.high), "") + "-or-off" * setting.can_be_off
    if setting.takes or setting.excluded or name not in known:
        name = setting.input
    if name not in known:
        raise ValueError(f"add the definition {name} to $defs of the config schema: what {name} may hold is not known")
    return name


_OUTPUTS = "\noutputs:\n"
OWN_INPUTS = {
    "mode": "What the action does: `run` the gate, `merge` shards, or `publish` the comment of a run that had no write "
    "access, from report-dir. Outside the action, use the command.",
    "shard": "Score one part of the cases, such as `2/4`, and judge nothing. `merge` judges all parts together. "
    "Outside the action: `safe-gate run --shard 2/4`.",
    "shards": "For `mode: merge`: the files that runs with `shard` wrote, as paths or globs, one per line. Outside the "
    "action: `safe-gate merge SHARD...`.",
}
"""The inputs of the action that are no settings."""


def action(text: str) -> str:
    """Return action.yml with an input for each setting, in its words and in the order of `--help`.

    Only the token has a default.
    """
    head, _, rest = text.partition("\ninputs:\n")
    inputs = []
    inputs_of_help = sorted(filter(lambda one: one.is_input, settings()), key=lambda one: HEADINGS.index(one.heading))
    meanings = {setting.input: setting.help for setting in inputs_of_help}
    for name, meaning in {**meanings, **OWN_INPUTS}.items():
        default = "    default: ${{ github.token }}\n" if name == "github-token" else ""
        words = json.dumps(meaning, ensure_ascii=False)
        inputs.append(f"  {name}:\n    description: {words}\n    required: false\n{default}")
    return f"{head}\ninputs:\n{''.join(inputs)}outputs:\n{rest.partition(_OUTPUTS)[2]}"


def composite(text: str, action: str) -> str:
    """Return the composite action.yml with the inputs of action.yml, and its outputs, which come from a step."""
    shared, _, _ = action.partition("\ninputs:\n")[2].partition("runs:\n")
    inputs, _, outputs = shared.partition(_OUTPUTS)
    valued = re.sub(r"^  (\S+):\n.+\n", r"\g<0>    value: ${{ steps.gate.outputs.\1 }}\n", outputs, flags=re.MULTILINE)
    head, _, rest = text.partition("\ninputs:\n")
    steps = rest.partition("runs:\n")[2]
    return f"{head}\ninputs:\n{inputs}{_OUTPUTS}{valued}runs:\n{steps}"


def llms(readme: str) -> str:
    """Return llms.txt: what the project is, and the pages of the README with their questions."""
    first = next(block for block in readme.split("\n\n") if block.startswith("**"))
    summary = first.replace("**", "").replace("\n", " ")
    rows = re.findall(r"^\| (\[.+?\]\(docs/.+?\)) \| (.+?) \|$", readme, re.MULTILINE)
    pages = "".join(f"- {link}: {question}\n" for link, question in rows)
    more = "".join(f"- [{name}]({name})\n" for name in ("README.md", "AGENTS.md", "ARCHITECTURE.md", "CONTRIBUTING.md"))
    return f"# SAFE Gate\n\n> {summary}\n\n## Documents\n\n{pages}\n## Project\n\n{more}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table, one line a row."""
    names = list(head)
    lines = [names, [":--" for _ in names], *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _codes(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def _default(setting: Setting) -> str:
    """Return a default as a user writes it, nothing for an empty one."""
    value = setting.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if setting.entries:
        return "<br>".join(f"`{one.name}={one.default}`" for one in setting.entries)
    if value is None and setting.env:
        return "`off`"
    if isinstance(value, tuple):
        return _codes(value)
    return "" if value in ("", None) else f"`{value}`"


def _names(setting: Setting) -> str:
    """Return the names of a setting on the command line, in the environment and in the config file, one a line."""
    flags = dict.fromkeys(flag for flags in setting.flags.values() for flag in flags)
    if setting.kind is bool:
        flags |= dict.fromkeys([f"--no-{flag.removeprefix('--')}" for flag in flags])
    key = f"config `{'.'.join(setting.key)}`" if setting.key else ""
    return "<br>".join(filter(None, (_codes(flags), _codes(setting.env), key)))


_RULES = {name.replace("_", "-") for name in LIMITS}
"""The settings that are rules of the gate, which have a page of their own."""


def _settings() -> str:
    rows = (
        (f"`{setting.input}`", setting.help, _default(setting), _names(setting))
        for setting in settings()
        if setting.input not in _RULES
    )
    return _table(("setting", "meaning", "default", "flag, variable, config key"), rows)


def _rules() -> str:
    judged: dict[str, dict[str, None]] = {name.replace("_", "-"): {} for name in LIMITS}
    for rule in RULES:
        judged[rule.name][EVALUATORS[rule.evaluator]] = None
    for evaluator in registry.EVALUATORS.values():
        for name in judged.keys() & {name.replace("_", "-") for name in evaluator.settings.model_fields}:
            judged[name][evaluator.title] = None
    by_name = {setting.input: setting for setting in settings()}
    rows = (
        (
            f"`{name}`",
            ", ".join(evaluators),
            by_name[name].help.removeprefix("Rule: ").removesuffix(" Off unless set.").rstrip("."),
            _default(by_name[name]),
            _names(by_name[name]),
        )
        for name, evaluators in judged.items()
    )
    return _table(("rule", "evaluator", "holds when", "default", "flag, variable, config key"), rows)


def _commands() -> str:
    rows = (
        (f"`safe-gate {name}`", f"{one.summary[0].upper()}{one.summary[1:]}.", one.exit_codes)
        for name, one in commands.every().items()
    )
    return _table(("command", "what it does", "exit codes"), rows)


def _outputs() -> str:
    action = yaml.safe_load((FOLDER.parent / "action.yml").read_text("utf-8"))
    rows = ((f"`{name}`", facts["description"]) for name, facts in action["outputs"].items())
    return _table(("output", "meaning"), rows)


def _gitlab() -> str:
    return f"```yaml\n{GITLAB.read_text('utf-8')}```\n"


TABLES: dict[str, Callable[[], str]] = {
    "settings": _settings,
    "rules": _rules,
    "commands": _commands,
    "outputs": _outputs,
    "gitlab": _gitlab,
}

if __name__ == "__main__":
    for file in FOLDER.glob("*.md"):
        file.write_text(page(file.read_text("utf-8")), "utf-8")
    ACTION.write_text(action(ACTION.read_text("utf-8")), "utf-8")
    LLMS.write_text(llms(README.read_text("utf-8")), "utf-8")
    COMPOSITE.write_text(composite(COMPOSITE.read_text("utf-8"), ACTION.read_text("utf-8")), "utf-8")
    CONFIG_SCHEMA.write_text(config_schema(CONFIG_SCHEMA.read_text("utf-8")), "utf-8")
