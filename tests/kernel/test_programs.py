"""Programs that are malformed are refused, each with the entry at fault; nothing is read out of range."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tests.kernel.test_container_masks import any_json
from tests.kernel.walks import byte_vocabulary

from scansion import _kernel
from scansion._kernel import (
    ALT,
    ARRAY,
    BUDGET,
    CALL,
    LEX,
    OBJECT,
    REPEAT,
    RET,
    TEXT,
    TOKEN,
    Constraint,
    Language,
    Matcher,
    Program,
    Vocabulary,
    fill_bitmasks,
)
from scansion.errors import LimitError

LETTER = (Language.literal("a"), TEXT)


def program(**changes: Any) -> Program:
    """``root ::= "a"`` with fields replaced."""
    fields: dict[str, Any] = {
        "nodes": [RET, 0, 0, LEX, 0, 0],
        "targets": [],
        "rules": [1],
        "lexemes": [LETTER],
        "objects": [],
        "arrays": [],
        "conditions": [],
        "token_sets": [],
        "punctuation": [0] * 9,
        "start": 0,
        "canonical_keys": True,
        "node_labels": [],
    }
    return Program(**(fields | changes))


def test_the_smallest_program() -> None:
    matcher = Matcher(Constraint(program(), byte_vocabulary()))
    assert matcher.accept_bytes(b"a")
    assert matcher.is_complete


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": [RET, 0]}, "triples"),
        ({"nodes": [RET, 0, 0, LEX, 1, 0]}, "lexeme 1 of 1"),
        ({"nodes": [RET, 0, 0, LEX, 0, 2]}, "next node 2 of 2"),
        ({"nodes": [RET, 0, 0, CALL, 1, 0]}, "rule 1 of 1"),
        ({"nodes": [RET, 0, 0, ALT, 0, 1]}, "targets out of range"),
        ({"nodes": [RET, 0, 0, ALT, 0, 1], "targets": [9]}, "alternative 9"),
        ({"nodes": [RET, 0, 0, ALT, 4294967295, 4294967295]}, "targets out of range"),
        ({"nodes": [RET, 0, 0, TOKEN, 0, 0]}, "token set 0 of 0"),
        ({"nodes": [RET, 0, 0, OBJECT, 0, 0]}, "object 0 of 0"),
        ({"nodes": [RET, 0, 0, ARRAY, 0, 0]}, "array 0 of 0"),
        ({"nodes": [RET, 0, 0, REPEAT, 0, 0], "targets": [0, 1]}, "repetition out of range"),
        ({"nodes": [RET, 0, 0, REPEAT, 0, 0], "targets": [3, 0, 1]}, "rule 3 of 1"),
        ({"nodes": [RET, 0, 0, REPEAT, 0, 0], "targets": [0, 2, 1]}, "at least 2 and at most 1"),
        ({"nodes": [RET, 0, 0, BUDGET, 0, 0], "targets": [0]}, "budget out of range"),
        ({"nodes": [RET, 0, 0, BUDGET, 0, 0], "targets": [1, 3]}, "rule 1 of 1"),
        ({"nodes": [RET, 0, 0, BUDGET, 0, 0], "targets": [0, 0]}, "budget of 0 tokens"),
        ({"nodes": [RET, 0, 0, BUDGET, 0, 0], "targets": [0, 2**31]}, "budget of 2147483648 tokens"),
        ({"nodes": [RET, 0, 0, BUDGET, 0, 0], "targets": [0, 3]}, "rule 0 is left recursive"),
        (
            {"nodes": [RET, 0, 0, LEX, 0, 0, BUDGET, 0, 0], "targets": [0, 3], "rules": [1, 2], "arrays": [([], 1, 0, -1, False, [], -1)]},
            "inside a container has a budget",
        ),
        ({"nodes": [RET, 0, 0, 10, 0, 0]}, "unknown operation"),
        ({"nodes": [RET, 0, 0, CALL, 0, 0]}, "rule 0 is left recursive"),
        ({"rules": [2]}, "rule entry 2"),
        ({"rules": []}, "start rule out of range"),
        ({"start": 1}, "start rule out of range"),
        ({"conditions": [(0, 2, 1)]}, "condition 2 is not ordered"),
        ({"conditions": [(1, 0, 1), (1, 2, 1)]}, "condition 3 is not ordered"),
        ({"objects": [(0, [("a", 1, True)], [], 0, -1, -1, -1)]}, "a property names rule 1 of 1"),
        ({"objects": [(0, [("a", 0, True), ("a", 0, True)], [], 0, -1, -1, -1)]}, "a key twice"),
        ({"objects": [(0, [], [(Language.anything(), 5)], 0, -1, -1, -1)]}, "a key group names rule 5 of 1"),
        ({"objects": [(0, [], [], 0, -1, 2, -1)]}, "condition is out of range"),
        ({"arrays": [([], 0, 0, -1, False, [], -1)], "punctuation": []}, "need punctuation"),
        ({"arrays": [([3], 0, 0, -1, False, [], -1)]}, "an array item names rule 3 of 1"),
        ({"arrays": [([], ((0, (1,)),), 0, -1, False, [(0, -1)], -1)]}, "an array item names event 1 of 1"),
    ],
)
def test_malformed_programs_are_refused_by_entry(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        program(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": [-1, 0, 0]},
        {"nodes": ["x", 0, 0]},
        {"rules": [1 << 40]},
        {"lexemes": [("a", TEXT)]},
        {"punctuation": [7] * 9},
        {"objects": [(0, [("\ud800", 0, True)], [], 0, -1, -1, -1)]},
        {"objects": [(0, [], [], -1, -1, -1, -1)]},
        {"targets": [1 << 33]},
        {"start": -1},
    ],
)
def test_values_of_the_wrong_kind_are_errors_of_python(changes: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, IndexError, OverflowError, RuntimeError)):
        program(**changes)


SHORT_TUPLES = [
    "Language.char_class([(97,)])",
    "Language.automaton([[(97, 98)]], [True])",
    "program(objects=[(0, [])])",
    "program(arrays=[([], 0, 0)])",
    "program(lexemes=[(Language.empty(),)])",
    "program(token_sets=[[(1,)]])",
    "program(conditions=[(0, 0)])",
]


@pytest.mark.parametrize("expression", SHORT_TUPLES)
def test_short_tuples_are_errors_of_python(expression: str) -> None:
    """In a process of its own: what is read beyond a tuple's end may be anything."""
    code = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("scansion._kernel", {_kernel.__file__!r})
sys.modules["scansion._kernel"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from scansion._kernel import *
from tests.kernel.test_programs import program
try:
    {expression}
except (TypeError, ValueError, IndexError):
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "refused\n", (done.returncode, done.stderr)


def test_damaged_programs_are_refused_or_work() -> None:
    """One number of a good program changed at random: an error in words, or a program that can be walked."""
    draw = random.Random(6)
    vocabulary = byte_vocabulary()
    refused = walked = 0
    for _ in range(400):
        data = any_json(draw)
        fields = {name: list(getattr(data, name)) for name in ("nodes", "targets", "rules", "punctuation")}
        name = draw.choice(sorted(fields))
        place = draw.randrange(len(fields[name]))
        fields[name][place] = draw.choice([0, 1, 2, 3, 7, 8, len(data.nodes) // 3, len(data.rules), 1000, 0xFFFFFFF0, draw.randrange(40)])
        rest = {
            key: getattr(data, key)
            for key in ("lexemes", "objects", "arrays", "conditions", "token_sets", "start", "canonical_keys", "node_labels")
        }
        try:
            matcher = Matcher(Constraint(Program(**fields, **rest), vocabulary))
            for _ in range(12):
                following = matcher.next_bytes()
                mask = np.zeros((1, (vocabulary.size + 31) // 32), np.int32)
                matcher.fill_bitmask(mask, 0)
                if not following:
                    break
                matcher.accept(draw.choice(following))
            matcher.shortest_cost()
            walked += 1
        except (ValueError, IndexError, LimitError):
            refused += 1
    assert refused > 100
    assert walked > 50


@pytest.mark.parametrize(("eos", "special"), [([3], []), ([], [7]), ([4294967295], [])])
def test_vocabularies_refuse_ids_outside(eos: list[int], special: list[int]) -> None:
    with pytest.raises(ValueError, match="outside the vocabulary of 2"):
        Vocabulary([b"a", b"b"], eos, special)


def test_vocabularies_keep_bytes_and_drop_what_is_no_text() -> None:
    vocabulary = Vocabulary([b"a", b"", None, b"<s>", b"ab", b"a"], [2], [3])
    assert [vocabulary.token_bytes(token) for token in range(vocabulary.size)] == [b"a", None, None, None, b"ab", b"a"]
    assert vocabulary.eos_token_ids == [2]
    assert vocabulary.tokenize_greedy(b"aab") in ([0, 4], [5, 4])
    assert vocabulary.tokenize_greedy(b"abb") is None
    assert vocabulary.tokenize_greedy(b"") == []
    with pytest.raises(IndexError):
        vocabulary.token_bytes(6)
    with pytest.raises(TypeError):
        Vocabulary(["a"], [], [])  # type: ignore[list-item]


def test_an_empty_vocabulary_allows_nothing() -> None:
    for vocabulary in (Vocabulary([], [], []), Vocabulary([None], [], []), Vocabulary([b"b"], [], [])):
        matcher = Matcher(Constraint(program(), vocabulary))
        mask = np.full((1, (vocabulary.size + 31) // 32), -1, np.int32)
        matcher.fill_bitmask(mask, 0)
        assert not mask.any()
        assert not matcher.allows(0)


def test_masks_of_the_wrong_shape_are_refused() -> None:
    matcher = Matcher(Constraint(program(), byte_vocabulary()))
    good = np.zeros((2, 9), np.int32)
    matcher.fill_bitmask(good, 1)
    matcher.fill_bitmask(good[0])
    assert (good[0] == good[1]).all()
    matcher.fill_bitmask(np.zeros((4, 9), np.int32)[::2], 1)  # rows may be strided
    for wrong in (
        np.zeros((2, 8), np.int32),
        np.zeros((2, 9), np.int64),
        np.zeros((2, 18), np.int32)[:, ::2],
        np.zeros((2, 2, 9), np.int32),
    ):
        with pytest.raises(ValueError, match="allocate_bitmask"):
            matcher.fill_bitmask(wrong, 0)
    for row in (-1, 2, 1 << 40):
        with pytest.raises(IndexError):
            matcher.fill_bitmask(good, row)
    frozen = np.zeros((1, 9), np.int32)
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        matcher.fill_bitmask(frozen, 0)
    with pytest.raises(ValueError, match="fewer rows"):
        fill_bitmasks([matcher, matcher, matcher], good)
    with pytest.raises(ValueError, match="share a vocabulary size"):
        fill_bitmasks([matcher, Matcher(Constraint(program(), Vocabulary([b"a"], [], [])))], good)
    fill_bitmasks([], good)
    fill_bitmasks([None, None], good)
