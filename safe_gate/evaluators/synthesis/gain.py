"""What learning from labelled cases gains: agreement with labels left out, before and after. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from safe_gate.evaluators.synthesis import Case, Rules, score_case
from safe_gate.evaluators.synthesis.report import matches
from safe_gate.figures import wilson

_PARTS = 5
_MOST_PARTS = 10


@dataclass(frozen=True, slots=True)
class Gain:
    """How a check agrees with labels that were left out, without what the others teach and with it.

    `mended` labels agree only with it, `spoiled` ones only without.
    """

    check: str
    labels: int
    before: int
    mended: int
    spoiled: int

    @property
    def after(self) -> int:
        """How many labels agree with what was learned."""
        return self.before + self.mended - self.spoiled

    @property
    def is_beyond_chance(self) -> bool:
        """Whether more labels are mended than spoiled, by the 95 % Wilson interval of the share."""
        changed = self.mended + self.spoiled
        return changed > 0 and wilson(self.mended, changed)[0] > 0.5


def parts(cases: Sequence[Case]) -> list[list[Case]]:
    """Return the cases in parts, each to be left out once.

    Several files are left out file by file, because files differ in voice as what comes next will
    (above ten, some go together); one file is cut in five by the SHA-256 of the ids.
    """
    files = sorted({case.place.path for case in cases})
    if len(files) > 1:
        keys = [files.index(case.place.path) % _MOST_PARTS for case in cases]
    else:
        keys = [int(sha256(case.id.encode("utf-8", "surrogatepass")).hexdigest(), 16) % _PARTS for case in cases]
    return [[case for case, key in zip(cases, keys, strict=True) if key == part] for part in sorted(set(keys))]


def gains(
    cases: Sequence[Case], checks: Sequence[str], today: Rules, taught: Callable[[Sequence[Case]], Rules]
) -> tuple[Gain, ...]:
    """Return the gain of each check with labels, over all parts of the cases.

    `today` are the rules without anything learned, `taught` returns the rules that some cases teach.
    """
    pairs: dict[str, list[tuple[bool, bool]]] = {check: [] for check in checks}
    for part in parts(cases):
        left_out = {case.id for case in part}
        tomorrow = taught([case for case in cases if case.id not in left_out])
        for case in part:
            before, after = score_case(case, today).checks, score_case(case, tomorrow).checks
            for check in before.keys() & case.expected.keys() & pairs.keys():
                label = case.expected[check]
                pairs[check].append((matches(before[check], label), matches(after[check], label)))
    return tuple(
        Gain(check, len(found), sum(old for old, _ in found), found.count((False, True)), found.count((True, False)))
        for check, found in pairs.items()
        if found
    )
