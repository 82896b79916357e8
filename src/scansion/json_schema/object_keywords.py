"""Keywords on objects: what one schema object says about keys and members, and how it can be broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scansion._kernel import Language
from scansion.json_schema.documents import Site, escape
from scansion.json_schema.formulas import Formula, conjunction, disjunction, has, negation
from scansion.json_schema.json_values import kind_of
from scansion.json_schema.keywords import above, below, least, most, schema_map, whole
from scansion.json_schema.scalar_keywords import pattern
from scansion.json_schema.scalars import ANY_STRING, StringSet
from scansion.json_schema.shapes import (
    NOT_EVALUATED,
    Evaluated,
    Expr,
    ObjectAlternative,
    ObjectFacet,
    Obligation,
)

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = ["alternative", "must_meet", "required", "violations"]


def alternative(norm: Normaliser, site: Site, tracking: bool) -> ObjectAlternative:
    """The objects that the object keywords of a site allow."""
    schema = site.schema
    facet = _facet(norm, site)
    listed = required(site)
    minimum = least(site, "minProperties") if "minProperties" in schema else 0
    maximum = most(site, "maxProperties") if "maxProperties" in schema else -1
    condition: Formula = True
    if "dependentRequired" in schema or "dependencies" in schema:
        condition = conjunction(
            disjunction((negation(has(name)), conjunction(has(other) for other in others))) for name, others in _dependents(site)
        )
    evaluated = NOT_EVALUATED
    if tracking and facet is not None:
        languages = tuple(language for language, _ in facet.patterns)
        evaluated = Evaluated(frozenset(facet.properties), languages, "additionalProperties" in schema)
    return ObjectAlternative((facet,) if facet is not None else (), listed, minimum, maximum, condition, evaluated)


def _facet(norm: Normaliser, site: Site) -> ObjectFacet | None:
    """What the site says about members, or None where it says nothing."""
    schema = site.schema
    properties = norm.members(site) if "properties" in schema else {}
    patterns: tuple[tuple[Language, Expr], ...] = ()
    if "patternProperties" in schema:
        patterns = tuple(
            (_key_pattern(site, text), norm.child(site, value, f"/patternProperties/{escape(text)}"))
            for text, value in schema_map(site, schema, "patternProperties").items()
        )
    additional: Expr = ()
    if "additionalProperties" in schema:
        additional = norm.child(site, schema["additionalProperties"], "/additionalProperties")
    names: StringSet | None = None
    if "propertyNames" in schema:
        allowed = norm.shape(norm.child(site, schema["propertyNames"], "/propertyNames")).strings
        names = StringSet({}, None) if allowed is None else None if allowed is ANY_STRING else allowed
    if not properties and not patterns and additional == () and names is None and "additionalProperties" not in schema:
        return None
    return ObjectFacet(properties, patterns, additional, names, site.index)


def _key_pattern(site: Site, text: str) -> Language:
    return pattern(site, text, "patternProperties")


def required(site: Site) -> tuple[str, ...]:
    """The keys that ``required`` of a site lists, each once."""
    listed = site.schema.get("required")
    if listed is None:
        if "required" in site.schema:
            raise site.wrong("required must be an array of names, not null", "required")
        return ()
    if not isinstance(listed, list):
        raise site.wrong(f"required must be an array of names, not {kind_of(listed)}", "required", "list the names in the parent object")
    try:
        plain = "".join(listed).isascii()
    except TypeError:
        plain = False
    if not plain:
        for name in listed:
            if not isinstance(name, str):
                raise site.wrong(f"required must be an array of names, and {name!r:.40} is not a string", "required")
            whole(site, name, "required")
    return tuple(dict.fromkeys(listed))


def _dependents(site: Site) -> list[tuple[str, list[str]]]:
    """``dependentRequired``, and the name lists of ``dependencies``."""
    found: list[tuple[str, list[str]]] = []
    for keyword in ("dependentRequired", "dependencies"):
        if keyword not in site.schema:
            continue
        for name, others in schema_map(site, site.schema, keyword).items():
            if isinstance(others, str) and keyword == "dependencies":
                others = [others]  # draft 3 spelling, unambiguous
            if isinstance(others, list) and all(isinstance(other, str) for other in others):
                found.append((name, [whole(site, other, keyword) for other in others]))
            elif keyword == "dependentRequired" or isinstance(others, list):
                raise site.wrong(f"{keyword} must map names to arrays of names", keyword)
    return found


def violations(norm: Normaliser, site: Site) -> tuple[ObjectAlternative, ...]:
    """The ways an object can break the object keywords of a site.

    All but the counts are one alternative with a condition, "a key is missing or an obligation met": negations are conjoined
    with each other (``oneOf``, chains of ``if``), and alternatives would multiply.
    """
    broken: list[ObjectAlternative] = []
    fewer, more = below(site, "minProperties"), above(site, "maxProperties")
    if fewer is not None:
        broken.append(ObjectAlternative(maximum=fewer))
    if more is not None:
        broken.append(ObjectAlternative(minimum=more))
    conditions: list[Formula] = [negation(has(name)) for name in required(site)]
    conditions += [conjunction((has(name), disjunction(negation(has(other)) for other in others))) for name, others in _dependents(site)]
    facet = _facet(norm, site)
    if facet is not None:
        obligations = _broken_members(norm, facet)
        if facet.names is not None:
            wrong = facet.names.complement()
            if not wrong.is_empty:
                obligations.append(Obligation({}, ((wrong.as_language(), ()),), None))
        if not conditions and len(obligations) == 1:
            only = obligations[0]
            named = {name: expr for name, expr in only.properties.items() if expr is not None}
            if len(named) == 1 and not only.patterns and only.additional is None:
                return (*broken, ObjectAlternative((ObjectFacet(named),), tuple(named)))
        conditions += [("met", obligation) for obligation in obligations]
    condition = disjunction(conditions)
    if condition is not False:
        broken.append(ObjectAlternative(condition=condition))
    return tuple(broken)


def _broken_members(norm: Normaliser, facet: ObjectFacet) -> list[Obligation]:
    """One obligation for each schema of the facet that a member can break: a key under two patterns can break either."""
    negated = norm.negated
    obligations = []
    named = {name: negated(expr) for name, expr in facet.properties.items()}
    if any(expr is not None for expr in named.values()):
        obligations.append(Obligation(named, (), None))
    for language, expr in facet.patterns:
        if expr != ():
            obligations.append(Obligation({}, ((language, negated(expr)),), None))
    if facet.additional != ():
        exempt: dict[str, Expr] = dict.fromkeys(facet.properties, None)
        covered = tuple((language, None) for language, _ in facet.patterns)
        obligations.append(Obligation(exempt, covered, negated(facet.additional)))
    return obligations


def must_meet(obligation: Obligation) -> ObjectAlternative:
    """The objects with a member that meets the obligation."""
    return ObjectAlternative(minimum=1, condition=("met", obligation))
