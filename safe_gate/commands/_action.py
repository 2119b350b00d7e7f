"""The inputs of the action that choose its command: `mode`, `shard` and `shards`, as words of a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from safe_gate.settings.sources import MODES, own_inputs


def command_line(argv: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return a command line `run` or `doctor` with what the action's own inputs add; another one as it is.

    >>> command_line(["run", "--quiet"], {"INPUT_MODE": "merge", "INPUT_SHARDS": "a.json"})
    ['merge', 'a.json', '--quiet']
    >>> command_line(["run"], {"INPUT_SHARD": "1/4"})
    ['run', '--shard=1/4']
    """
    command, *rest = argv
    inputs = own_inputs(environ)
    if command not in ("run", "doctor") or any(word in MODES for word in rest[:1]):
        return [*argv]
    doctor = ["doctor"] if command == "doctor" else []
    match inputs.get("mode"):
        case "merge":
            return [*doctor, "merge", *inputs.get("shards", "").splitlines(), *rest]
        case "publish":
            return [*doctor, "publish", *rest]
    shard = [f"--shard={inputs['shard']}"] if "shard" in inputs else []
    return [command, *shard, *rest]
