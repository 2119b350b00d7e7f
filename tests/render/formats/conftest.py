from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import BAD, SafeGate, turn, write_cases
from tests.support.formats import ALL, read
from tests.support.judged_run import CHECKS, clinical, waive


@pytest.fixture
def judged(safe_gate: SafeGate) -> Any:
    """Return the reports of a run with cases of every fate."""
    clinical()
    calm = turn("calm", user="Where is my invoice?", assistant="It is under Billing.", checks=["topic_pivot"])
    write_cases(
        Path("c.jsonl"),
        *(turn("good"), turn("bad", assistant=BAD), turn("known", assistant=BAD), calm),
        turn("negative", assistant=BAD, tags=["custody", "negative_example"]),
        turn("feigned", tags=["negative_example"]),
        turn("silent", assistant=""),
    )
    waive({"id": "waived", "metric": "AC"}, *({"id": "known", "check": check} for check in CHECKS))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--safe-batch", "b", *ALL).code == 1
    return read()
