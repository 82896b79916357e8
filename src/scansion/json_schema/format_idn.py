"""``idn-hostname``: RFC 5890 labels by the rules of RFC 5892 (code points), 5893 (direction) and 5891 section 4.2.

What is decided: the code points of a label; its first mark and hyphens; every contextual rule; the Bidi rule, for all labels as
soon as one is right-to-left; composition (NFC); lengths in characters. What is not regular:

- an A-label's Punycode: no label may begin with ``xn--``;
- the length of a U-label in Punycode, 63 at most: a label with non-ASCII characters may have `MAX_U_LABEL` characters, as each
  takes at least one octet after ``xn--``; a label of many different characters near that length may be too long for the DNS.
"""

from __future__ import annotations

import functools

from scansion._kernel import Language
from scansion.json_schema.format_rules import at_most, either, list_of, repeated, rule, sequence
from scansion.languages.regex_syntax import Ranges
from scansion.languages.unicode_classes import complement, difference, idna_property, idna_values, intersection, property_ranges, union

__all__ = ["MAX_U_LABEL", "international_domain"]

MAX_U_LABEL = 59

_ANYTHING = Language.anything()
_ASCII: Ranges = ((0, 0x7F),)
_LDH = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"

_MIDDLE_DOT, _KERAIA, _KATAKANA_DOT = 0xB7, 0x375, 0x30FB
_GERESH: Ranges = ((0x5F3, 0x5F4),)
_ARABIC_DIGITS: Ranges = ((0x660, 0x669),)
_EXTENDED_DIGITS: Ranges = ((0x6F0, 0x6F9),)
_NON_JOINER, _JOINER = 0x200C, 0x200D


@functools.cache
def international_domain(*, dots: str, composed: bool) -> Language:
    """Labels between ``dots`` (characters), 253 characters in all. ``composed``: U-labels in Unicode Normalization Form C."""
    plain = Language.intersection([rule(_LDH), _hyphens_in_third_place().complement()])
    label = either(plain, _u_label(composed))
    separator = _one_of(union((ord(dot), ord(dot)) for dot in dots))
    separators = union((ord(dot), ord(dot)) for dot in dots)
    right_to_left = _one_of(_bidi("r", "al", "an"))
    no_right_to_left = sequence(_ANYTHING, right_to_left, _ANYTHING).complement()
    every_label_ordered = list_of(_bidi_label(separators), separator)
    return at_most(253, Language.intersection([list_of(label, separator), either(no_right_to_left, every_label_ordered)]))


def _one_of(ranges: Ranges) -> Language:
    return Language.char_class(ranges)


def _point(code: int) -> Ranges:
    return ((code, code),)


def _script(name: str) -> Ranges:
    return property_ranges("Script", name) or ()


def _hyphens_in_third_place() -> Language:
    """``??--...``: the form that A-labels have, reserved."""
    return rule("[^]{2}--[^]*")


def _u_label(composed: bool) -> Language:
    """A label with a character beyond ASCII (RFC 5891 section 4.2.3, RFC 5892)."""
    valid = idna_property("idna", "pvalid")
    contextual = union(_point(_MIDDLE_DOT), _point(_KERAIA), _GERESH, _point(_KATAKANA_DOT), _ARABIC_DIGITS, _EXTENDED_DIGITS)
    joiners = ((_NON_JOINER, _JOINER),)
    allowed = union(valid, contextual, joiners)
    inner_or_end = difference(allowed, _point(0x2D))
    mark = union(property_ranges("M") or ())
    shape = either(
        _one_of(difference(inner_or_end, mark)),
        sequence(_one_of(difference(inner_or_end, mark)), repeated(_one_of(allowed), 0, MAX_U_LABEL - 2), _one_of(inner_or_end)),
    )
    parts = [
        shape,
        sequence(_ANYTHING, _one_of(difference(allowed, _ASCII)), _ANYTHING),
        _hyphens_in_third_place().complement(),
        *_context_rules(),
    ]
    if composed:
        parts.append(_composed(allowed))
    return Language.intersection(parts)


def _context_rules() -> list[Language]:
    """RFC 5892 appendix A, one language each."""
    el, greek, hebrew = _point(0x6C), _script("Greek"), _script("Hebrew")
    virama = idna_property("ccc", "9")
    japanese = union(_script("Hiragana"), _script("Katakana"), _script("Han"))
    has_japanese = sequence(_ANYTHING, _one_of(japanese), _ANYTHING)
    digits = _holds(_one_of(_ARABIC_DIGITS))
    more_digits = _holds(_one_of(_EXTENDED_DIGITS))
    return [
        _always_after(_point(_MIDDLE_DOT), el),
        _always_before(_point(_MIDDLE_DOT), el),
        _always_before(_point(_KERAIA), greek),
        _always_after(_GERESH, hebrew),
        either(_holds(_one_of(_point(_KATAKANA_DOT))).complement(), has_japanese),
        Language.intersection([digits, more_digits]).complement(),
        _always_after(_point(_JOINER), virama),
        _non_joiner_rule(virama),
    ]


def _holds(part: Language) -> Language:
    return sequence(_ANYTHING, part, _ANYTHING)


def _always_after(characters: Ranges, before: Ranges) -> Language:
    """Each of ``characters`` stands right after one of ``before``."""
    wrong = either("", sequence(_ANYTHING, _one_of(complement(before))))
    return sequence(wrong, _one_of(characters), _ANYTHING).complement()


def _always_before(characters: Ranges, after: Ranges) -> Language:
    """Each of ``characters`` stands right before one of ``after``."""
    wrong = either("", sequence(_one_of(complement(after)), _ANYTHING))
    return sequence(_ANYTHING, _one_of(characters), wrong).complement()


def _non_joiner_rule(virama: Ranges) -> Language:
    """ZERO WIDTH NON-JOINER: after a virama, or between characters that join (appendix A.1)."""
    left, right, both = idna_property("jt", "l"), idna_property("jt", "r"), idna_property("jt", "d")
    transparent = repeated(_one_of(difference(idna_property("jt", "t"), _point(_NON_JOINER))))
    joins_before = sequence(_ANYTHING, _one_of(union(left, both)), transparent)
    joins_after = sequence(transparent, _one_of(union(right, both)), _ANYTHING)
    after_virama = sequence(_ANYTHING, _one_of(virama))
    non_joiner = _one_of(_point(_NON_JOINER))
    # Wrong where one stands after no virama and either side does not join.
    wrong_before = Language.intersection([after_virama.complement(), joins_before.complement()])
    wrong = either(
        sequence(wrong_before, non_joiner, _ANYTHING),
        sequence(after_virama.complement(), non_joiner, joins_after.complement()),
    )
    return wrong.complement()


def _bidi(*classes: str) -> Ranges:
    return union(*(idna_property("bc", name) for name in classes))


def _bidi_label(dots: Ranges) -> Language:
    """RFC 5893 section 2, rules 1 to 6."""
    neutral = ("es", "cs", "et", "on", "bn", "nsm")

    def inside(*classes: str) -> Language:
        return repeated(_one_of(difference(_bidi(*classes, *neutral), dots)))

    marks = repeated(_one_of(_bidi("nsm")))
    strong = _one_of(_bidi("r", "al"))

    def right_to_left(*numbers: str) -> Language:
        return either(
            sequence(strong, marks),
            sequence(strong, inside("r", "al", *numbers), _one_of(_bidi("r", "al", *numbers)), marks),
        )

    left = _one_of(_bidi("l"))
    left_to_right = either(sequence(left, marks), sequence(left, inside("l", "en"), _one_of(_bidi("l", "en")), marks))
    return either(right_to_left("an"), right_to_left("en"), left_to_right)


def _composed(allowed: Ranges) -> Language:
    """Texts over ``allowed`` in NFC: marks in canonical order, and nothing left to compose (Unicode standard, D117 and D118).

    A subset: what may follow is decided for families of marks (all of U+0300 to U+036F together), so that a letter which
    composes with one of a family is followed by none of it.
    """
    wrong: list[Language] = []
    classes = {number: intersection(idna_property("ccc", str(number)), allowed) for number in map(int, idna_values("ccc"))}
    classes = {number: ranges for number, ranges in classes.items() if ranges}
    marks = union(*classes.values())
    composite = {int(number): intersection(idna_property("tccc", number), allowed) for number in idna_values("tccc")}
    for number, ranges in classes.items():
        # A mark of a lower class right behind one of a higher class, or behind a letter composed with one.
        higher = union(*(found for known in (classes, composite) for other, found in known.items() if other > number))
        if higher:
            wrong.append(sequence(_one_of(higher), _one_of(ranges)))
    families: dict[int, tuple[Ranges, Ranges]] = {}
    for value in idna_values("compose"):
        second = int(value, 16)
        family = 0x300 if second < 0x370 else second & ~0x7F
        firsts, seconds = families.get(family, ((), ()))
        families[family] = union(firsts, idna_property("compose", value)), union(seconds, _point(second))
    between = repeated(_one_of(marks))
    for firsts, seconds in families.values():
        starters, following = difference(intersection(firsts, allowed), marks), intersection(seconds, allowed)
        if starters and following:
            wrong.append(sequence(_one_of(starters), between, _one_of(following)))
    return _holds(either(*wrong)).complement()
