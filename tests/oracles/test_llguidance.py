"""Lark grammars against llguidance, byte by byte: the same masks, and the same verdict on every text.

Where the two differ the case is named in ``DIFFERENT`` with the reason, which ``docs/lark.md`` explains.
"""

# ruff: noqa: E501

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from tests.languages.test_lark import CASES
from tests.languages.texts import BYTES

from scansion import Grammar, Matcher, allocate_bitmask

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llguidance") is None, reason="needs llguidance")

MORE: dict[str, tuple[str, list[str], list[str]]] = {
    "arithmetic": (
        'start: e\ne: e "+" t | e "-" t | t\nt: t "*" f | f\nf: "-" f | "(" e ")" | NUM\nNUM: /[0-9]+(\\.[0-9]+)?/',
        ["1+2*(3-4.5)", "--1", "((2))"],
        ["1+", "(1", "1..2", "*1"],
    ),
    "arithmetic with spaces": (
        'start: e\ne: e "+" t | t\nt: "(" e ")" | NUM\nNUM: /[0-9]+/\n%ignore / +/',
        ["1 + 2", "( 1 +2 )+3"],
        ["1 2", "+ 1"],
    ),
    "json by hand": (
        'start: value\nvalue: object | array | STRING | NUMBER | "true" | "false" | "null"\nobject: "{" [pair ("," pair)*] "}"\npair: STRING ":" value\n'
        'array: "[" [value ("," value)*] "]"\nSTRING: /"[^"\\\\\\x00-\\x1f]*"/\nNUMBER: /-?(0|[1-9][0-9]*)(\\.[0-9]+)?/\n%ignore /[ \\n]+/',
        ['{"a": [1, -2.5, true], "é": {}}', "[]", "[ [ ] ]"],
        ["{", '{"a"}', "[1,]", "01"],
    ),
    "keywords of their own": (
        'start: "let" " " NAME "=" NUM ";"\nNAME: /[a-z]+/\nNUM: /[0-9]+/',
        ["let x=1;", "let let=22;"],
        ["letx=1;", "let =1;"],
    ),
    "csv": (
        'start: row+\nrow: FIELD ("," FIELD)* "\\n"\nFIELD: /[^,\\n"]*/ | /"([^"]|"")*"/',
        ["a,b\nc\n", '"x, y",\n', "\n"],
        ["a,b", '"a'],
    ),
    "dates": (
        "start: Y /-/ M /-/ D\nY: /[0-9]{4}/\nM: /0[1-9]|1[0-2]/\nD: /0[1-9]|[12][0-9]|3[01]/",
        ["2026-11-30", "1999-01-01"],
        ["2026-13", "26-1-1"],
    ),
    "versions": (
        'start: "v" N "." N "." N ["-" TAG]\nN: /0|[1-9][0-9]*/\nTAG: /[a-z][a-z0-9.]*/',
        ["v1.2.3", "v0.10.0-rc.1"],
        ["v01.2.3", "v1.2", "v1.2.3-"],
    ),
    "email": ("start: LOCAL /@/ HOST\nLOCAL: /[a-z0-9._]+/\nHOST: /[a-z0-9]+(\\.[a-z0-9]+)+/", ["a.b@c.de", "x@y.z.org"], ["@c.de", "a@b"]),
    "unicode": ('start: /[а-яё]+/ " " /[一-龥]{2,4}/ "😀"?', ["привет 世界", "ёж 世界人😀"], ["Привет", "мир 世"]),
    "negated class": ('start: "<" /[^<>é]+/ ">"', ["<abc>", "<è道😀>"], ["<>", "<é>", "<a<"]),
    "case": ('start: "select"i " " /[a-z]+/i', ["SELECT a", "sElEcT Foo"], ["selec a", "select 1"]),
    "counts": ('start: "a"{2} ("b" | "c"){1,3} /d{2,}/ "e"~0..1', ["aabdd", "aacbcdddde"], ["ab", "aabbbb", "aabd"]),
    "counted terminal": ("start: X\nX: (/[a-c]/ /[0-9]/){2,3}", ["a1b2", "a1b2c3"], ["a1", "a1b2c3a1", "11"]),
    "optional list": ('start: "[" [item ("," item)*] "]"\nitem: /[0-9]+/', ["[]", "[1]", "[1,22,3]"], ["[,]", "[1,]"]),
    "palindromes": ('start: "a" start "a" | "b" start "b" | "c"', ["c", "abcba"], ["abc", "ab"]),
    "nested groups": ('start: (("a" | "b") ("c" | ("d" "e")))+', ["ac", "bdeac"], ["a", "ad", "acb"]),
    "empty alternatives": ('start: "x" (| "y" | "z" "w")', ["x", "xy", "xzw"], ["xz", "y"]),
    "hidden left recursion": ('start: n start "x" | "y"\nn: "q"?', ["y", "qyx", "yxx"], ["x", "qy"]),
    "doubling": ('start: start start | "a"', ["a", "aaaa"], ["", "b"]),
    "intersection": ("start: X\nX: /[a-z]{4}/ & /.*[aeiou].*/ & ~/.*q.*/", ["able", "xyza"], ["xyzt", "qaaa", "abcde"]),
    "exclusion of words": ("start: NAME\nNAME: /[a-z]{2,5}/ & ~(/if/ | /else/)", ["iff", "elsea", "ab"], ["if", "else"]),
    "yaml-like": (
        'start: line+\nline: KEY ": " VALUE "\\n"\nKEY: /[a-z_]+/\nVALUE: /[^\\n]+/',
        ["a: b\n", "key: some value: x\nb: 1\n"],
        ["a:b\n", "A: b\n"],
    ),
    "markdown list": ('start: ("- " TEXT "\\n")+\nTEXT: /[^\\n]+/', ["- a\n- b c\n"], ["* a", "- \n"]),
    "urls": (
        'start: ("http" | "https") "://" HOST PATH?\nHOST: /[a-z0-9.]+/\nPATH: /(\\/[a-z0-9]*)+/',
        ["http://a.b", "https://x.org/y/z/"],
        ["ftp://a", "http:/a"],
    ),
    "json value": (
        'start: "v=" %json {"type": "array", "items": {"type": "integer"}, "maxItems": 2}',
        ["v=[1, 2]", "v=[]"],
        ["v=[1,2,3", "v={}"],
    ),
    "two json values": (
        'start: a | b\na: %json {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "additionalProperties": false}\n'
        'b: %json {"type": "object", "properties": {"b": {"type": "null"}}, "required": ["b"], "additionalProperties": false}',
        ['{"a":null}', '{"b": null}'],
        ['{"c', '{"a":null,'],
    ),
    "comments ignored": ('start: "a" "b"\n%ignore /#[^\\n]*\\n/', ["ab", "a#x\nb", "a#x\n#y\nb"], ["a#b", "#\nab"]),
    "two ignored things": ('start: ID ("," ID)*\nID: /[a-z]+/\n%ignore " "\n%ignore "\\n"', ["a , b", "a\n,\nb"], ["a b", " a"]),
}

# Cases whose masks or verdicts differ, and why.
LONGEST = "llguidance's lexer takes the longest match, here every split counts"
DIFFERENT = {
    "every split counts": LONGEST,
    "no longest match": LONGEST,
    "aliases, priorities and marks": "llguidance refuses priorities",
    "strings": "llguidance has no \\x escape",
    "comments": "llguidance ends a rule at a line that holds only a comment",
    "ignore once": "llguidance 1.9.1 does not know skip_repetition yet",
    "ignore takes all it can": "llguidance allows a second space, after which no text comes",
    "two json values": "llguidance takes white space before the first of two JSON values it has merged",
}


def their_matcher(text: str) -> Any:
    import llguidance

    tokenizer = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(text), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return matcher


def their_bytes(matcher: Any) -> set[int]:
    bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8), bitorder="little")
    return set(np.nonzero(bits[:256])[0].tolist())


def our_bytes(matcher: Matcher) -> set[int]:
    mask = allocate_bitmask(1, BYTES.size)
    matcher.fill_bitmask(mask)
    return set(np.nonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")[:256])[0].tolist())


@pytest.mark.parametrize("name", [name for name in {**CASES, **MORE} if name not in DIFFERENT])
def test_masks_and_verdicts_are_llguidances(name: str) -> None:
    text, accepted, rejected = {**CASES, **MORE}[name]
    constraint = Grammar.from_lark(text).compile(BYTES)
    for sample in [*accepted, *rejected]:
        theirs, ours = their_matcher(text), constraint.matcher()
        for count, byte in enumerate(sample.encode()):
            expected, found = their_bytes(theirs), our_bytes(ours)
            assert found == expected, (
                f"{sample!r} at byte {count}: extra {bytes(sorted(found - expected))!r}, missing {bytes(sorted(expected - found))!r}"
            )
            taken = ours.accept(byte)
            assert (theirs.try_consume_tokens([byte]) == 1) == taken
            if not taken:
                break
        else:
            assert theirs.is_accepting() == ours.is_complete, sample
