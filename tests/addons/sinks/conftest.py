from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.cases import BAD, SILENT, Patch, safe_case, turn, write_batch, write_cases
from tests.support.events_sent import AT, SECRET
from tests.support.receivers import Receiver, receiving


@pytest.fixture(autouse=True)
def _inputs(monkeypatch: Patch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NETRC", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(datetime.fromisoformat(AT).timestamp())))
    write_batch(Path("b_1.json"), safe_case("S-1"), safe_case("S-2", output=SILENT, concern_id="I26"))
    write_batch(Path("b_2.json"), safe_case("S-3", archetype="Auditor"))
    write_cases(Path("c.jsonl"), turn("good", tags=["x"]), turn("bad", assistant=BAD))


@pytest.fixture
def webhook(monkeypatch: Patch) -> Iterator[Receiver]:
    monkeypatch.setenv("SAFE_GATE_SINK_SECRET", SECRET)
    with receiving() as receiver:
        yield receiver
