"""``uri``, ``uri-reference`` (RFC 3986), ``iri``, ``iri-reference`` (RFC 3987), ``uri-template`` (RFC 6570).

The rules carry the names of the standards' grammars.
"""

from __future__ import annotations

import functools

from scansion._kernel import Language
from scansion.json_schema.format_addresses import ipv6
from scansion.json_schema.format_rules import either, list_of, optional, repeated, rule, sequence

__all__ = ["reference", "template"]

_UNRESERVED = r"A-Za-z0-9\-._~"
_SUB_DELIMS = r"!$&'()*+,;="
_PCT_ENCODED = "%[0-9A-Fa-f]{2}"
_PLANES = "".join(rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 14))
_UCSCHAR = r"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF" + _PLANES + r"\u{E1000}-\u{EFFFD}"
_IPRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"


@functools.cache
def reference(*, international: bool, relative: bool) -> Language:
    """``URI`` or (``relative``) ``URI-reference``; ``international``: ``IRI`` and ``IRI-reference``."""
    unreserved = _UNRESERVED + (_UCSCHAR if international else "")
    private = _IPRIVATE if international else ""

    def of(characters: str) -> str:
        return f"(?:[{characters}]|{_PCT_ENCODED})"

    plain = unreserved + _SUB_DELIMS
    pchar = of(plain + ":@")
    segment = rule(f"{pchar}*")
    path_abempty = repeated(sequence("/", segment))
    path_rootless = sequence(f"{pchar}+", path_abempty)
    path_absolute = sequence("/", optional(path_rootless))
    path_noscheme = sequence(of(plain + "@") + "+", path_abempty)
    ip_future = f"[vV][0-9A-Fa-f]+\\.[{_UNRESERVED}{_SUB_DELIMS}:]+"
    host = either(sequence(r"\[", either(ipv6(), ip_future), r"\]"), f"{of(plain)}*")
    authority = sequence(optional(f"{of(plain + ':')}*@"), host, optional(":[0-9]*"))
    network_path = sequence("//", authority, path_abempty)
    tail = sequence(optional(rf"\?{of(plain + ':@/?' + private)}*"), optional(f"#{of(plain + ':@/?')}*"))
    absolute = sequence("[A-Za-z][A-Za-z0-9+.-]*:", either(network_path, path_absolute, path_rootless, ""), tail)
    if not relative:
        return absolute
    return either(absolute, sequence(either(network_path, path_absolute, path_noscheme, ""), tail))


@functools.cache
def template() -> Language:
    """RFC 6570 ``URI-Template``; the apostrophe is a literal (erratum 6937)."""
    literal = rf"(?:[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]|{_PCT_ENCODED})"
    varchar = f"(?:[A-Za-z0-9_]|{_PCT_ENCODED})"
    varspec = rf"{varchar}(?:\.?{varchar})*(?::[1-9][0-9]{{0,3}}|\*)?"
    expression = sequence(r"\{[+#./;?&=,!@|]?", list_of(varspec, ","), r"\}")
    return repeated(either(literal, expression))
