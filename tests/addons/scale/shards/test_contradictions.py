"""A shard that contradicts itself is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from tests.support.shards import ran


def edit(value: Any, path: str, new: Any) -> None:
    """Set a part of a document to another value, None to drop it."""
    *keys, last = path.split(".")
    for key in keys:
        value = value[int(key) if isinstance(value, list) else key]
    if new is None:
        del value[last]
    else:
        value[int(last) if isinstance(value, list) else last] = new


EDITS = {  # what is changed of a SAFE v0 case for review and of a Synthesis case that fails
    "safe_v0": [
        ("label", "Pass"),
        ("scores.CR", 0.5),
        ("scores.composite", 1.0),
        ("details.AC.missing", []),
        ("archetype", "Other"),
        ("digests.case", "0" * 64),
        ("source.line", 77),
    ],
    "synthesis": [
        ("pass", True),
        ("is_negative_example", True),
        ("tags", ["agency-fail"]),
        ("checks.agency_language.pass", True),
        ("checks.agency_language.score", 5),
        ("checks.agency_language.applicable", False),
        ("checks.unverifiable_reassurance.pass", True),
        ("checks.unverifiable_reassurance.applicable", False),
        ("checks.topic_pivot.pass", True),
        ("checks.topic_pivot.applicable", False),
        ("checks.topic_pivot.followed_up", True),
        ("checks.topic_pivot", None),
        ("label_comparison.agency_language.match", True),
        ("label_comparison.agency_language", None),
        ("cluster", "two"),
        ("digests.output", "0" * 64),
        ("no_reply", "empty"),
    ],
}


@pytest.mark.parametrize(
    ("evaluator", "path", "new", "text"),
    [
        *((one, *change, "full") for one, changes in EDITS.items() for change in changes),
        *((one, *changes[0], "none") for one, changes in EDITS.items()),
    ],
)
def test_a_shard_that_contradicts_itself_is_refused(
    shared_out: Callable[[str], Path], text: str, evaluator: str, path: str, new: Any
) -> None:
    with chdir(shared_out(text)):
        shard = json.loads(Path("reports/safe-gate.shard-1-of-1.json").read_text("utf-8"))
        before = json.dumps(shard)
        edit(shard[evaluator][0], path, new)
        assert json.dumps(shard) != before
        Path("edited.json").write_text(json.dumps(shard), "utf-8")
        flags = ("--batch", "b.json", "--cases", "c.jsonl", "--text", text, "--cluster-key", "x_topic")
        code, said = ran("merge", "edited.json", *flags)
        assert code == 3, said
        case_id = "S-1" if evaluator == "safe_v0" else "T-1"
        assert re.search(rf"^edited\.json: {case_id}: {re.escape(path)}[.0-9]*: ", said, re.MULTILINE), said
        assert "its evidence and its case give" in said
        assert not any(word in said for word in ("went home", "You should"))
