r"""Write src/scansion/languages/unicode_properties.txt from the `regex` package's and Node's Unicode data.

    python tools/generate_unicode_properties.py

Node's `\p{...}` gives what ECMA-262 names (its Unicode version is written into the file's first line); the `regex`
package gives the rest (combining classes, joining types, bidi classes, names), cut to what that version assigns.
Facts: Unicode Character Database (UAX #44), property names of ECMA-262 tables 66-68, IDNA properties of RFC 5892
section 2 and appendix A, Bidi_Class for RFC 5893.

File format, one property a line: ``kind name,alias,...|gap length gap length ...`` in hexadecimal, where a gap counts
the code points skipped since the end of the last range. ``fold`` lines list the members of one simple case folding
class instead; ``compose`` lines give a second character and the first characters it composes with (NFC).
"""

import json
import pathlib
import subprocess
from collections.abc import Iterable

import regex
import regex._regex_core as regex_core

TARGET = pathlib.Path(__file__).parent.parent / "src/scansion/languages/unicode_properties.txt"
SCALARS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL_TEXT = "".join(SCALARS)

BINARY_TEXT = """
ASCII_Hex_Digit=AHex Alphabetic=Alpha Bidi_Control=Bidi_C Bidi_Mirrored=Bidi_M Case_Ignorable=CI Cased
Changes_When_Casefolded=CWCF Changes_When_Casemapped=CWCM Changes_When_Lowercased=CWL Changes_When_NFKC_Casefolded=CWKCF
Changes_When_Titlecased=CWT Changes_When_Uppercased=CWU Dash Default_Ignorable_Code_Point=DI Deprecated=Dep Diacritic=Dia
Emoji Emoji_Component=EComp Emoji_Modifier=EMod Emoji_Modifier_Base=EBase Emoji_Presentation=EPres
Extended_Pictographic=ExtPict Extender=Ext Grapheme_Base=Gr_Base Grapheme_Extend=Gr_Ext Hex_Digit=Hex
IDS_Binary_Operator=IDSB IDS_Trinary_Operator=IDST ID_Continue=IDC ID_Start=IDS Ideographic=Ideo Join_Control=Join_C
Logical_Order_Exception=LOE Lowercase=Lower Math Noncharacter_Code_Point=NChar Pattern_Syntax=Pat_Syn
Pattern_White_Space=Pat_WS Quotation_Mark=QMark Radical Regional_Indicator=RI Sentence_Terminal=STerm Soft_Dotted=SD
Terminal_Punctuation=Term Unified_Ideograph=UIdeo Uppercase=Upper Variation_Selector=VS White_Space=space
XID_Continue=XIDC XID_Start=XIDS
"""


def loose(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


def ranges(members: Iterable[int]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for point in sorted(members):
        if merged and merged[-1][1] + 1 == point:
            merged[-1] = (merged[-1][0], point)
        else:
            merged.append((point, point))
    return merged


def encode(members: Iterable[int]) -> str:
    end, words = 0, []
    for first, last in ranges(members):
        words.append(f"{first - end:x} {last - first + 1:x}")
        end = last + 1
    return " ".join(words)


def from_node(script: str) -> object:
    return json.loads(subprocess.run(["node", "-e", script], capture_output=True, check=True, text=True).stdout)


def all_from_node(names: Iterable[str]) -> dict[str, set[int]]:
    r"""Members of each `\p{name}` that Node knows."""
    script = (
        "const out = {}; let all = '';"
        "for (let c = 0; c < 0x110000; c++) if (c < 0xd800 || c > 0xdfff) all += String.fromCodePoint(c);"
        f"for (const n of {json.dumps(list(names))}) {{ let p; try {{ p = new RegExp('\\\\p{{' + n + '}}', 'gu'); }} catch {{ continue; }}"
        "out[n] = (all.match(p) ?? []).map(s => s.codePointAt(0)); }"
        "console.log(JSON.stringify(out))"
    )
    found = from_node(script)
    assert isinstance(found, dict)
    return {name: set(members) for name, members in found.items()}


def folding_classes() -> list[list[int]]:
    script = r"""const chars = []; const p = /[\p{CWCM}\p{CWCF}]/u;
    for (let c = 0; c < 0x110000; c++) if (!(c >= 0xd800 && c < 0xe000) && p.test(String.fromCodePoint(c))) chars.push(c);
    const text = String.fromCodePoint(...chars), seen = new Set(), out = [];
    for (const c of chars) { if (seen.has(c)) continue;
      const group = text.match(new RegExp('\\u{' + c.toString(16) + '}', 'giu')).map(s => s.codePointAt(0));
      group.forEach(d => seen.add(d)); if (group.length > 1) out.push(group); }
    console.log(JSON.stringify(out))"""
    found = from_node(script)
    assert isinstance(found, list)
    return found


def last_of_decompositions() -> dict[int, int]:
    """Code point -> last code point of its canonical decomposition, where it has one."""
    script = r"""const out = {};
    for (let c = 0; c < 0x110000; c++) { if (c >= 0xd800 && c < 0xe000 || c >= 0xac00 && c < 0xd7a4) continue;
      const d = [...String.fromCodePoint(c).normalize('NFD')];
      if (d.length > 1) out[c] = d.pop().codePointAt(0); }
    console.log(JSON.stringify(out))"""
    found = from_node(script)
    assert isinstance(found, dict)
    return {int(point): last for point, last in found.items()}


def compositions() -> dict[int, list[int]]:
    script = r"""const out = {};
    for (let c = 0; c < 0x110000; c++) { if (c >= 0xd800 && c < 0xe000 || c >= 0xac00 && c < 0xd7a4) continue;
      const s = String.fromCodePoint(c), d = [...s.normalize('NFD')];
      if (d.length < 2 || s.normalize('NFC') !== s) continue;
      const second = d.pop().codePointAt(0), first = [...d.join('').normalize('NFC')];
      if (first.length !== 1) throw c; (out[second] ??= []).push(first[0].codePointAt(0)); }
    console.log(JSON.stringify(out))"""
    found = from_node(script)
    assert isinstance(found, dict)
    return {int(second): firsts for second, firsts in found.items()}


def names_of(property_name: str) -> dict[int, list[str]]:
    """Value number -> loose names, shortest first, as the regex package knows them."""
    _, values = regex_core.PROPERTIES[property_name]
    names: dict[int, list[str]] = {}
    for name, value in values.items():
        names.setdefault(value, []).append(loose(name))
    return {value: sorted(set(found), key=lambda n: (len(n), n)) for value, found in names.items()}


def idna_protocol_valid(letters: set[int], disallowed: set[int]) -> set[int]:
    """RFC 5892 section 3, for PVALID; CONTEXTJ and CONTEXTO code points are not in it."""
    exceptions_valid = {0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007}
    context = {0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB, *range(0x660, 0x66A), *range(0x6F0, 0x6FA), 0x200C, 0x200D}
    exceptions_disallowed = {0x640, 0x7FA, 0x302E, 0x302F, *range(0x3031, 0x3036), 0x303B}
    ldh = {0x2D, *range(0x30, 0x3A), *range(0x61, 0x7B)}
    blocks = {*range(0x20D0, 0x2100), *range(0x1D100, 0x1D250)}
    return (letters - disallowed - blocks - exceptions_disallowed - context) | exceptions_valid | ldh


def main() -> None:
    lines: list[str] = []

    def add(kind: str, names: list[str], members: Iterable[int]) -> None:
        lines.append(f"{kind} {','.join(names)}|{encode(members)}")

    categories = {names[0]: names for names in names_of("GC").values()} | {"cn": ["cn", "unassigned"], "co": ["co", "privateuse"]}
    scripts = [names for names in names_of("SC").values() if "zzzz" not in names and "hrkt" not in names]
    binary = [entry.split("=") for entry in BINARY_TEXT.split()]
    category_names = [first + second for first in "LMNPSZC" for second in "ultomncedopsifkpc"]
    script_names = [next(n for n in names if len(n) == 4).title() for names in scripts]
    known = all_from_node(
        category_names + [f"{kind}={name}" for kind in ("sc", "scx") for name in script_names] + [names[0] for names in binary]
    )
    assigned = {ord(c) for c in SCALARS} - known["Cn"]

    def matching(expression: str) -> set[int]:
        return {ord(c) for c in regex.findall(expression, ALL_TEXT)} & assigned

    for name in sorted(set(category_names) & known.keys() - {"LC", "Cs"}):
        add("gc", categories[name.lower()], known[name])
    for name, names in sorted(zip(script_names, scripts, strict=True)):
        if f"sc={name}" in known:
            add("sc", [name.lower(), *(n for n in names if n != name.lower())], known[f"sc={name}"])
            if known[f"scx={name}"] != known[f"sc={name}"]:
                add("scx", [name.lower(), *(n for n in names if n != name.lower())], known[f"scx={name}"])
    for names in binary:
        add("bin", [loose(n) for n in names], known[names[0]])
    letters = set().union(*(known[name] for name in ("Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc")))
    ignorable = known["Default_Ignorable_Code_Point"] | known["White_Space"] | known["Noncharacter_Code_Point"]
    jamo = matching(r"[\p{hst=L}\p{hst=V}\p{hst=T}]")
    add("idna", ["pvalid"], idna_protocol_valid(letters, known["Changes_When_NFKC_Casefolded"] | ignorable | jamo))
    for value in "LDRT":
        add("jt", [value.lower()], matching(rf"\p{{jt={value}}}"))
    for value in ("L", "R", "AL", "AN", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"):
        add("bc", [value.lower()], matching(rf"\p{{bc={value}}}"))
    last = last_of_decompositions()
    for number in range(1, 255):
        members = matching(rf"\p{{ccc={number}}}") if str(number) in regex_core.PROPERTIES["CCC"][1] else set()
        if members:
            add("ccc", [str(number)], members)
            composed = {point for point, end in last.items() if end in members} - members
            if composed:
                add("tccc", [str(number)], composed)
    for second, firsts in sorted(compositions().items()):
        add("compose", [f"{second:x}"], firsts)
    folds = " ".join(",".join(f"{c:x}" for c in group) for group in folding_classes())
    lines.append(f"fold simple|{folds}")
    version = subprocess.run(["node", "-p", "process.versions.unicode"], capture_output=True, check=True, text=True).stdout.strip()
    TARGET.write_text(f"# Unicode {version}; written by tools/generate_unicode_properties.py\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
