"""An object alternative to an object spec of the program.

Named keys become properties, each with the conjunction of all that applies to it. All other keys are cut into disjoint regions by the key
patterns: one group each. A region of few keys becomes properties too. Obligations become events of the members that can meet them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.json_schema.formulas import assume, leaves
from scansion.json_schema.lower_conditions import Member, write_condition
from scansion.json_schema.property_order import declared_names, own_order
from scansion.json_schema.scalars import ANYTHING
from scansion.json_schema.shapes import Expr, ObjectAlternative, ObjectFacet, Obligation, both

if TYPE_CHECKING:
    from scansion.json_schema.lower import Lowering

__all__ = ["object_specs"]

MAX_LISTED_KEYS = 64  # a key language with at most this many words becomes properties
MAX_REGIONS = 512  # disjoint key languages of one object


def object_specs(
    lowering: Lowering, alternative: ObjectAlternative, expr: Expr, order: dict[str, int] | None, label: int
) -> tuple[list[int], bool, dict[str, int] | None]:
    """Write the specs of an alternative: one, or one for each order its keys may come in.

    Args:
        expr: the expression the alternative belongs to: it fixes the order of keys.
        order: that order, where another alternative of the expression has asked for it already.

    Returns:
        The indices of the specs (none: plainly impossible), whether the empty object surely satisfies them, and the order.
    """
    facets = alternative.facets
    required = alternative.required
    maximum = alternative.maximum
    if alternative.condition is False or 0 <= maximum < max(len(required), alternative.minimum):
        return [], False, order
    ways: list[tuple[list[Any], list[Any], int]] = []  # properties, groups, condition
    if alternative.condition is True and len(facets) < 2 and (not facets or (not facets[0].patterns and facets[0].names is None)):
        properties, groups = _plain(lowering, facets[0] if facets else None, required)
        if len(properties) > 1 and lowering.declared and expr is not None and len(lowering.norm.shape(expr).objects) > 1:
            order = declared_names(lowering.norm, expr) if order is None else order
            common = _sorted(properties, order)
            if common != properties:
                ways.append((common, groups, 1))
        ways.append((properties, groups, 1))
    elif lowering.declared:
        order = declared_names(lowering.norm, expr) if order is None else order
        named = _named(alternative, order)
        ways.append(_general(lowering, alternative, *named))
        several = expr is not None and len(lowering.norm.shape(expr).objects) > 1
        own = _named(alternative, own_order(lowering.norm, expr, alternative, order)) if several else named
        if own is not named and _possible_names(*own) != _possible_names(*named):
            ways.append(_general(lowering, alternative, *own))
    else:
        ways.append(_general(lowering, alternative, *_named(alternative, {})))
    minimum = max(alternative.minimum, len(required))
    certain = minimum == 0 and ways[0][2] == 1
    indices = [
        lowering.builder.object(
            0 if lowering.declared else 1, properties, groups, minimum, maximum, -1 if condition == 1 else condition, label
        )
        for properties, groups, condition in ways
        if condition != 0
    ]
    return indices, certain, order


def _sorted(properties: list[Any], order: dict[str, int]) -> list[Any]:
    last = len(order)
    return sorted(properties, key=lambda item: order.get(item[0], last))


def _possible_names(names: list[str], values: dict[str, Expr]) -> list[str]:
    return [name for name in names if values[name] is not None]


def _plain(lowering: Lowering, facet: ObjectFacet | None, required: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """Properties and groups of an alternative with at most one facet and no key patterns: nearly all of them."""
    rule, known = lowering.rule, lowering.rules
    if facet is None:
        anything = rule(())
        return [(name, anything, True) for name in required], [(ANYTHING, anything)]
    needed = frozenset(required)
    properties = [(name, known[value] if value in known else rule(value), name in needed) for name, value in facet.properties.items()]
    if needed and not needed <= facet.properties.keys():
        properties += [(name, rule(facet.additional), True) for name in required if name not in facet.properties]
    return properties, [] if facet.additional is None else [(ANYTHING, rule(facet.additional))]


def _general(
    lowering: Lowering, alternative: ObjectAlternative, names: list[str], values: dict[str, Expr]
) -> tuple[list[Any], list[Any], int]:
    """Properties, groups and condition node of any alternative, its known keys in the order given."""
    needed = frozenset(alternative.required)
    properties: list[Any]
    if alternative.condition is True:
        rule = lowering.rule
        properties = [(name, rule(value), name in needed) for name, value in values.items()]
        others: list[tuple[Language, Expr]] = []
        for language, value, _ in _regions(lowering, alternative.facets, ()):
            listed = _few_words(language)
            if listed is None:
                others.append((language, value))
            else:
                properties += [(name, rule(value), False) for name in listed if name not in values]
        return properties, _grouped([(language, rule(value)) for language, value in others]), 1
    known = {("has", name): name in needed for name in names if name in needed or values[name] is None}
    condition = assume(alternative.condition, known)
    obligations = list(dict.fromkeys(item for kind, item in leaves(condition) if kind == "met"))
    members = [Member(name, values[name], tuple(item.value(name) for item in obligations), name in needed) for name in names]
    regions: list[tuple[Language, Member]] = []
    for language, value, asked in _regions(lowering, alternative.facets, obligations):
        listed = _few_words(language)
        if listed is None:
            regions.append((language, Member(None, value, asked)))
        else:
            members += [Member(name, value, asked) for name in listed if name not in values]
    written = write_condition(lowering, condition, obligations, members, [member for _, member in regions])
    properties = [(member.name, written.value(member), member.required) for member in members]
    return properties, _grouped([(language, written.value(member)) for language, member in regions]), written.node


def _grouped(parts: Sequence[tuple[Language, Any]]) -> list[Any]:
    """The groups of languages of keys, those with one value together, those with none left out."""
    merged: dict[Any, list[Language]] = {}
    for language, value in parts:
        merged.setdefault(value, []).append(language)
    return [
        (languages[0] if len(languages) == 1 else Language.union(languages), value) for value, languages in merged.items() if value != -1
    ]


def _named(alternative: ObjectAlternative, order: dict[str, int]) -> tuple[list[str], dict[str, Expr]]:
    """The keys an alternative knows by name, in their order, and the value of each."""
    named: dict[str, None] = {}
    for facet in alternative.facets:
        named.update(dict.fromkeys(facet.properties))
    if alternative.condition is not True:
        for kind, item in leaves(alternative.condition):
            named.update({item: None} if kind == "has" else dict.fromkeys(item.properties))
    names = list(named)
    if order:
        last = len(order)
        names.sort(key=order.__getitem__ if named.keys() <= order.keys() else lambda name: order.get(name, last))
    names += [name for name in alternative.required if name not in named]
    return names, alternative.values(names)


def _regions(
    lowering: Lowering, facets: Sequence[ObjectFacet], obligations: Sequence[Obligation]
) -> list[tuple[Language, Expr, tuple[Expr, ...]]]:
    """Disjoint languages of the keys no facet names, each with its value and what each obligation asks."""
    regions: list[tuple[Language, Expr, tuple[Expr, ...]]] = [(ANYTHING, (), ())]
    # Facets that leave no room for other keys first: they cut most.
    for facet in sorted(facets, key=lambda facet: (facet.additional is not None, len(facet.patterns))):
        cut = []
        for language, value, _ in regions:
            for part, own in _cut(lowering, language, facet):
                joined = both(value, own)
                if joined is not None:
                    cut.append((part, joined, ()))
        regions = cut
        _check_regions(lowering, regions)
    for obligation in obligations:
        regions = [(part, value, (*asked, own)) for language, value, asked in regions for part, own in _cut(lowering, language, obligation)]
        _check_regions(lowering, regions)
    return regions


def _check_regions(lowering: Lowering, regions: Sequence[Any]) -> None:
    if len(regions) > MAX_REGIONS:
        raise LimitError(
            f"{lowering.where}: key patterns cut the keys of one object into more than {MAX_REGIONS} kinds",
            limit="key_regions",
            allowed=MAX_REGIONS,
        )


def _cut(lowering: Lowering, language: Language, facet: ObjectFacet) -> list[tuple[Language, Expr]]:
    """The parts of a key language that a facet treats alike (keys it names apart), empty parts left out."""
    if facet.names is not None:
        language = _meet(language, facet.names.as_language())
        if language.is_nothing:
            return []
    if not facet.patterns:
        return [(language, facet.additional)]
    parts: list[tuple[Language, Expr, bool]] = [(language, (), False)]
    covered: list[Language] = []
    for pattern, expr in facet.patterns:
        # Most patterns have nothing to do with those before: one look at all of these saves a look at each.
        apart = not covered or Language.intersection([Language.union(covered), pattern]).is_nothing
        covered.append(pattern)
        split: list[tuple[Language, Expr, bool]] = []
        for part, value, matched in parts:
            if matched and apart:
                split.append((part, value, matched))
                continue
            inside = _meet(part, pattern)
            if inside.is_nothing:
                split.append((part, value, matched))
                continue
            split.append((inside, both(value, expr), True))
            outside = _meet(part, pattern.complement())
            if not outside.is_nothing:
                split.append((outside, value, matched))
        parts = split
        _check_regions(lowering, parts)
    return [(part, value if matched else facet.additional) for part, value, matched in parts]


def _meet(left: Language, right: Language) -> Language:
    return right if left is ANYTHING else Language.intersection([left, right])


def _few_words(language: Language) -> list[str] | None:
    if language is ANYTHING or language.max_length() is None:
        return None
    return language.words(MAX_LISTED_KEYS)
