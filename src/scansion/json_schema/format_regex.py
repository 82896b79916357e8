"""``regex``: a regular subset of ECMA-262 patterns with the ``u`` flag.

That parentheses balance, that a range or count ascends, that a group name is used once and a back-reference has a group are not
regular. Taken are patterns with groups at most `MAX_NESTING` deep, ranges within digits, capital or small ASCII letters, counts
``{m,n}`` whose order shows in their length or first digits, at most one named group, and no back-references. Every
pattern taken is valid; simple valid ones are taken.
"""

from __future__ import annotations

import functools

from scansion._kernel import Language
from scansion.json_schema.format_rules import either, optional, repeated, rule, sequence

__all__ = ["MAX_NESTING", "pattern"]

MAX_NESTING = 4

_CATEGORIES = "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cn"
_SCRIPTS = "Latin Greek Cyrillic Han Hiragana Katakana Arabic Hebrew Thai Hangul Devanagari"
_BINARY = "Any ASCII Alphabetic Lowercase Uppercase White_Space Emoji ID_Start ID_Continue"


@functools.cache
def pattern() -> Language:
    """The language of the ``regex`` format."""
    properties = [*_CATEGORIES.split(), *_BINARY.split(), *(f"Script={name}" for name in _SCRIPTS.split())]
    common_escape = either(
        r"\\[dDwWsSfnrtv]",
        r"\\[\^$\\.*+?()\[\]{}|/]",
        r"\\c[A-Za-z]",
        r"\\x[0-9A-Fa-f]{2}",
        r"\\u[0-9A-Fa-f]{4}",
        r"\\u\{0*(?:[0-9A-Fa-f]{1,5}|10[0-9A-Fa-f]{4})\}",
        sequence(r"\\[pP]\{", Language.literals(properties), r"\}"),
    )
    single = either(r"[^\^$\\.*+?()\[\]{}|]", r"\.", common_escape, _bracket(common_escape))
    body = _disjunction(single, None)
    for _ in range(MAX_NESTING):
        body = _disjunction(single, body)
    two_names = rule(r"[^]*\(\?<[A-Za-z$_][^]*\(\?<[A-Za-z$_][^]*")
    return Language.intersection([body, two_names.complement()])


def _disjunction(single: Language, inner: Language | None) -> Language:
    """Alternatives of quantified atoms; ``inner`` may stand in a group."""
    atoms = [single]
    assertions = [rule(r"[\^$]|\\[bB]")]
    if inner is not None:
        atoms.append(sequence(r"\((?:\?:|\?<[A-Za-z$_][A-Za-z0-9$_]*>)?", inner, r"\)"))
        assertions.append(sequence(r"\(\?<?[=!]", inner, r"\)"))
    term = either(*assertions, sequence(either(*atoms), optional(_quantifier())))
    alternative = repeated(term)
    return sequence(alternative, repeated(sequence(r"\|", alternative)))


@functools.cache
def _quantifier() -> Language:
    counted = [
        r"\{[0-9]{1,6}\}",
        r"\{[0-9]{1,6},\}",
        *(rf"\{{[1-9][0-9]{{{less - 1}}},[1-9][0-9]{{{less},5}}\}}" for less in range(1, 6)),
        *(rf"\{{{low},(?:[{low}-9]|[1-9][0-9]{{1,5}})\}}" for low in range(10)),
        *(rf"\{{{tens}[0-9],[{tens + 1}-9][0-9]\}}" for tens in range(1, 9)),
        *(rf"\{{{tens}{ones},{tens}[{ones}-9]\}}" for tens in range(1, 10) for ones in range(10)),
    ]
    return sequence(either("[*+?]", *counted), r"\??")


def _bracket(common_escape: Language) -> Language:
    """Character classes; a hyphen stands for itself only first, last or escaped."""
    spans = [(start, end) for start, end in (("0", "9"), ("A", "Z"), ("a", "z"))]
    ordered = [f"{chr(low)}-[{chr(low)}-{end}]" for start, end in spans for low in range(ord(start), ord(end) + 1)]
    item = either(r"[^\]\\\-]", r"\\[b\-]", common_escape, *ordered)
    return sequence(r"\[\^?-?", repeated(item), r"-?\]")
