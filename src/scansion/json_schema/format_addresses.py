"""``ipv4``, ``ipv6``, ``hostname``, ``email``, ``idn-email``."""

from __future__ import annotations

import functools

from scansion._kernel import Language
from scansion.json_schema.format_idn import international_domain
from scansion.json_schema.format_rules import at_most, either, list_of, optional, rule, sequence

__all__ = ["email", "hostname", "ipv4", "ipv6"]

_OCTET = "(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_H16 = "[0-9A-Fa-f]{1,4}"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ATEXT = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\-"
_NON_ASCII = r"\u0080-\u{10FFFF}"


@functools.cache
def ipv4() -> Language:
    """RFC 2673 section 3.2 ``dotted-quad``: no leading zeros."""
    return rule(_IPV4)


@functools.cache
def ipv6() -> Language:
    """RFC 4291 section 2.2, as the rule ``IPv6address`` of RFC 3986 spells it out: ``::`` once, dotted quad at the end."""
    group = rule(f"{_H16}:")
    last_32_bits = either(f"{_H16}:{_H16}", _IPV4)
    forms = [sequence(group.repeat(6, 6), last_32_bits)]
    # ``::`` with at most ``before`` groups in front of it and the rest of the eight behind.
    for before, behind in enumerate([sequence(group.repeat(n, n), last_32_bits) for n in (5, 4, 3, 2, 1, 0)] + [rule(_H16), rule("")]):
        front = optional(sequence(group.repeat(0, before - 1), _H16)) if before else rule("")
        forms.append(sequence(front, "::", behind))
    return either(*forms)


@functools.cache
def hostname(*, punycode: bool) -> Language:
    """RFC 1123 section 2.1: labels of letters, digits and inner hyphens, 63 long, 253 in all.

    ``punycode``: names are read as RFC 5891 does. Whether ``xn--...`` decodes to an allowed label is not regular, so no label may
    begin with that; without, it is a label like any other.
    """
    label = rule(_LABEL)
    if punycode:
        label = Language.intersection([label, rule("[Xx][Nn]--[^]*").complement()])
    return at_most(253, list_of(label, r"\."))


@functools.cache
def email(*, international: bool) -> Language:
    """RFC 5321 ``Mailbox``: local part of at most 64 octets, 254 characters in all; ``international`` as RFC 6531 extends it.

    Of address literals, the registered kinds are taken: IPv4 and ``IPv6:``.
    """
    more = _NON_ASCII if international else ""
    dot_string = list_of(f"[{_ATEXT}{more}]+", r"\.")
    quoted_string = rf'"(?:[ !#-\[\]-~{more}]|\\[ -~])*"'
    local_part = Language.intersection([either(dot_string, quoted_string), _octets(64) if international else rule("[^]{0,64}")])
    domain = at_most(253, list_of(_LABEL, r"\."))
    if international:
        domain = either(domain, international_domain(dots=".", composed=False))
    literal = sequence(r"\[", either(_IPV4, sequence("[Ii][Pp][Vv]6:", _mail_ipv6())), r"\]")
    return at_most(254, sequence(local_part, "@", either(domain, literal)))


def _mail_ipv6() -> Language:
    """RFC 5321 ``IPv6-addr``: as ``ipv6``, but ``::`` stands for at least two groups."""
    group = rule(f"{_H16}:")
    forms = [sequence(group.repeat(7, 7), _H16), sequence(group.repeat(6, 6), _IPV4)]
    for before in range(7):
        front = sequence(group.repeat(before - 1, before - 1), _H16) if before else rule("")
        forms.append(sequence(front, "::", optional(sequence(group.repeat(0, 5 - before), _H16)) if before < 6 else rule("")))
        if before < 5:
            forms.append(sequence(front, "::", group.repeat(0, 4 - before), _IPV4))
    return either(*forms)


def _octets(limit: int) -> Language:
    """Texts of at most ``limit`` octets in UTF-8."""
    spans = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF))
    rows = [
        [(first, last, used + width) for width, (first, last) in enumerate(spans, start=1) if used + width <= limit]
        for used in range(limit + 1)
    ]
    return Language.automaton(rows, [True] * (limit + 1), 0)
