from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from tests.support.cases import BAD, Patch, safe_case, turn, write_batch, write_cases
from tests.support.shards import ran


@pytest.fixture(autouse=True)
def _day(monkeypatch: Patch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")  # 2026-01-01


@pytest.fixture
def inputs() -> tuple[str, ...]:
    """Write cases of both evaluators that pass and that fail; return the flags that name them."""
    output = safe_case("x")["output"]
    cases = [safe_case(f"S-{i}", output=output | ({"summary": ""} if i % 3 else {})) for i in range(9)]
    write_batch(Path("I25_batch_1.json"), *cases)
    write_cases(Path("c.jsonl"), *(turn(f"T-{i}", **({"assistant": BAD} if i % 4 == 0 else {})) for i in range(12)))
    return "--batch", "I25_batch_1", "--cases", "c.jsonl"


@pytest.fixture(scope="module")
def shared_out(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function from `text` to a folder with inputs that fail and their one shard."""
    made: dict[str, Path] = {}

    def make(text: str) -> Path:
        if text not in made:
            made[text] = tmp_path_factory.mktemp("shared")
            with chdir(made[text]):
                missed = safe_case("x")["output"] | {"summary": ""}
                write_batch(Path("b.json"), safe_case("S-1", output=missed))
                bad = turn("T-1", assistant=BAD, user="I lost my mother and I cry every night.", x_topic="one")
                write_cases(Path("c.jsonl"), bad | {"expected": {"agency_language": True}})
                flags = ("--batch", "b.json", "--cases", "c.jsonl", "--text", text, "--cluster-key", "x_topic")
                assert ran("run", "--shard", "1/1", *flags)[0] == 0
        return made[text]

    return make
