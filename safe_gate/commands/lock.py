"""`lock`: writes what the recordings that the config names were recorded from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from safe_gate.baseline.lock import as_they_are, as_written, find_sources, lock_path, read_lock, spelled
from safe_gate.commands._command import Call, Command, text, texts
from safe_gate.core import jsontext
from safe_gate.core.figures import plural
from safe_gate.core.validate import suggestion
from safe_gate.inputs import disk
from safe_gate.model import codec
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import Lock
from safe_gate.model.results import Untrusted
from safe_gate.render import console
from safe_gate.render.untrusted import plain

COMMAND = Command(
    place=7,
    summary="write what recordings were recorded from, so that run can tell stale ones",
    exit_codes="0 written, 3 could not",
    verb="write the lock",
    arguments={
        "files": texts("RECORDING", "the recordings that are new; default: all that the config names in recordings"),
        "--model": text("ID", "the id of the model that gave the outputs; default: as before"),
    },
)


def main(call: Call) -> int:
    """Write new entries for the recordings that the command line names, and keep the others. Returns 0 or 3.

    If it names none, the new entry of a recording whose bytes did not change has the time of the old entry.
    """
    config = (options := call.options()).config
    known = find_sources(options)
    named = [*map(spelled, call.arguments["files"])] or list(known)
    if not known:
        words = "names no recordings; expected for each file of recordings the files that it came from"
        raise CannotJudge(Problem(Place("the config file"), words, field="recordings", code=Code.NO_INPUT))
    if strangers := [one for one in named if one not in known]:
        words = "is not among the recordings of the config file"
        raise CannotJudge(
            *(Problem(Place(one), words + suggestion(one, [*known]), code=Code.USAGE) for one in strangers)
        )
    wanted, at = {one: known[one] for one in named}, call.effects.generated_at
    if unmatched := [problem for one in wanted.values() for problem in one.unmatched.values()]:
        raise CannotJudge(*unmatched)
    new = as_they_are(wanted, call.arguments["model"], at)
    kept = lock.recordings if (lock := read_lock(config)) else {}
    same = {one.sha256: one for one in kept.values()}  # a renamed recording keeps what its old entry says
    if not call.arguments["files"]:
        new = {path: replace(one, recorded_at=same.get(one.sha256, one).recorded_at) for path, one in new.items()}
    if not call.arguments["model"]:
        new = {path: replace(one, model=kept.get(path, same.get(one.sha256, one)).model) for path, one in new.items()}
    gone = [path for path in sorted(kept) if path not in known and not disk.exists(Path(path))]  # others' may be here
    every = {path: entry for path, entry in sorted({**kept, **new}.items()) if path not in gone}
    disk.write(Path(lock_path(config)), jsontext.to_json(codec.to_json(as_written(Lock(every), config))))
    for path, entry in new.items():
        kept_id = "" if call.arguments["model"] else ", kept from the old entry"
        model = f"model {plain(Untrusted(entry.model))}{kept_id}" if entry.model else "no model named"
        when = "" if entry.recorded_at == at else f", unchanged since {entry.recorded_at}"
        call.effects.out(f"{console.path_text(path)}: {plural(len(entry.sources), 'source')}, {model}{when}")
    for path in gone:
        call.effects.out(f"{console.path_text(path)}: dropped, there is no such file")
    call.effects.out(f"Written: {console.path_text(lock_path(config))}")
    return 0
