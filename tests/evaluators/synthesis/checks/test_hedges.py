"""Statements that are left open, and words that only look as if they left one open."""

import pytest

from tests.support.synthesis import HURT, score

STATEMENTS = ("she misses you", "he hates you", "everyone is proud of you", "you'll be fine", "it gets better")
HEDGED = (
    "Perhaps {}.",
    "Maybe {}, maybe not.",
    "It seems that {}.",
    "It sounds as if he is tired and {}.",
    "I think {}.",
    "I hope that {}.",
    "I can't promise that {}.",
    "It's too early to say that {}.",
    "I am not sure that {}.",
    "There's no way of knowing whether {}.",
    "Some people say that {}.",
    "With a bit of luck, {}.",
    "It's a lot, and hopefully {}.",
    "It is hard, but I guess {}.",
    "It is hard, but {}, I hope.",
    "It is hard, but {}, maybe.",
)
FLAT = (
    "{}.",
    "It may hurt now and {}.",
    "That seems hard and {}.",
    "It usually takes a while and {}.",
    "You're not sure now, but {}.",
    "It might take time, but {}.",
    "That sounds hard and {}.",
    "{} and you may rest now.",
    "{} as you may know.",
    "{}, though it might take time.",
    "It is May and {}.",
)


@pytest.mark.parametrize("frame", HEDGED)
def test_a_hedge_leaves_its_statement_open(frame: str) -> None:
    assert [one for one in STATEMENTS if not passes(frame.format(one))] == []


@pytest.mark.parametrize("frame", FLAT)
def test_a_hedge_of_another_statement_leaves_nothing_open(frame: str) -> None:
    assert [one for one in STATEMENTS if passes(frame.format(one))] == []


def passes(reply: str) -> bool | None:
    found = score(HURT, reply[0].upper() + reply[1:], "unverifiable_reassurance")
    return found.checks["unverifiable_reassurance"].passed
