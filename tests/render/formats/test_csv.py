"""Reports as tables."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from safe_gate.model.untrusted import Untrusted
from safe_gate.render.untrusted import cell, sarif, xml
from tests.support.cases import BAD
from tests.support.formats import FORMULA


def test_tables_have_every_case(judged: Any) -> None:
    assert [row["id"] for row in judged.csv] == [case["id"] for case in judged.jsonl]
    assert len(judged.csv) == 11
    by_id = {row["id"]: row for row in judged.csv}
    assert (by_id["good"]["topic_pivot"], by_id["calm"]["topic_pivot"]) == ("passes", "not applicable")
    assert (by_id["fails"]["CR"], by_id["fails"]["topic_pivot"]) == ("0.0", "")
    assert (by_id["negative"]["label"], by_id["negative"]["passed"]) == ("fails", "yes")
    assert by_id["known"]["waived"] == "agency_language; topic_pivot; unverifiable_reassurance"
    lines = {case["id"]: case for case in judged.jsonl}
    assert lines["known"]["judgements"]["topic_pivot"]["waiver"]["reason"] == "Known since March."
    assert lines["negative"]["expected_failure"]
    for hit in lines["bad"]["judgements"]["agency_language"]["hits"]:
        assert BAD[hit["start"] : hit["end"]] == hit["text"]


@given(st.text() | st.text("=+-@;' \"a"))
def test_a_text_is_one_cell_that_is_no_formula_and_legal_xml(text: str) -> None:
    from xml.etree import ElementTree

    assert not any(one.lstrip(' "').startswith(FORMULA) for one in cell(Untrusted(text)).split(";"))
    assert ElementTree.fromstring(f'<a b="{xml(Untrusted(text))}"/>').get("b") is not None
    assert "##[" not in xml(Untrusted(text)) + cell(Untrusted(text)) + sarif(Untrusted(text))
