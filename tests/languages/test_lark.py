"""Lark: what grammars match, and where errors point. The verdicts were checked against llguidance 1.9.1 where it has one."""

from __future__ import annotations

import pickle

import pytest
from tests.languages.texts import BYTES, check_texts, is_text

from scansion import Grammar, GrammarError, LimitError, ScansionError, UnsatisfiableError, UnsupportedError, Vocabulary
from scansion.json_schema import UnresolvedError

CASES = {
    "strings": ('start: "a" "b"i "\\u0041\\x42\\n\\"\\/"', ['abAB\n"/', 'aBAB\n"/'], ["ab", "AbAB"]),
    "regexes": ("start: /[a-c]+\\/x/ /y/i /p.q/s /r s/x", ["ab/xYp\nqrs"], ["/xyp q", "ab/xypqr s"]),
    "ranges of characters": ('start: "a".."c" "0".."9"', ["b7"], ["d7", "b"]),
    "maybe": ('start: ["a"] "b" ["c" | "d"]', ["b", "abc", "bd"], ["a", "bcd"]),
    "operators": ('start: "a"? "b"* "c"+', ["c", "abbcc"], ["a", "b", "aac"]),
    "counted": ('start: "a"~2 "b"~1..3 "c"{2} "d"{,2} "e"{1,}', ["aabcce", "aabbbccddee"], ["abcce", "aabccc", "aabccddde"]),
    "aliases, priorities and marks": ('?start: a\n!a.2: "x" -> foo\n | "y" -> bar\n_b: "z"', ["x", "y"], ["z"]),
    "comments": ('start: "a" // one\n# two\n  | "b" # three\n', ["a", "b"], []),
    "terminals": ("start: NAME\nNAME: LETTER+ DIGIT?\nLETTER: /[a-z]/\nDIGIT: /[0-9]/", ["ab1", "x"], ["1", "a12"]),
    "both and not": ('start: X\nX: /[a-z]{2,3}/ & ~/.*b.*/ | "1"', ["ac", "xyz", "1"], ["ab", "a", "abcd"]),
    "not binds tightest": ('start: X\nX: ~"a"+ & /[ab]*/', ["", "b", "aa", "ab"], ["a"]),
    "every split counts": ("start: A B\nA: /a+/\nB: /ab/", ["aab", "aaab"], ["ab", "aa"]),
    "no longest match": ('start: /[a-z]+/ "x"', ["abx", "xx"], ["x", "ab"]),
    "ignore": ('start: "a" "b"\n%ignore " "', ["ab", "a b", "a   b"], [" ab", "ab "]),
    "ignore where it may go on": ('start: (x | y)+\nx: "x"\ny: "y"\n%ignore " "', ["x y", "x ", "xy x "], [" x"]),
    "ignore after an optional part": ('start: x? "b"\nx: "x"\n%ignore " "', ["x b", "b"], [" b"]),
    "nothing ignored inside a terminal": ("start: NAME\nNAME: LETTER+\nLETTER: /[a-c]/\n%ignore / /", ["abc"], ["a b"]),
    "ignored comments": ('start: "a" "b" "c"\n%ignore / +/\n%ignore /#[^\\n]*\\n/', ["a #x\n b c"], ["a#bc"]),
    "a comment ends with its line": (
        'start: "a" ("b" | "c")*\n%ignore /#[^\\n]*/\n%ignore /[ \\n]+/',
        ["a#b\nc", "a # b", "a\nb #\n # c \n c#"],
        ["#a", "a#\nd"],
    ),
    "a comment before a line end that counts": ('start: ("a" "\\n")+\n%ignore /#[^\\n]*/', ["a#a\na\n", "a\na#\n"], ["a#", "a#\n\n"]),
    "a comment is no code": ('start: "a" "b" "c"?\n%ignore /#[^\\n]*/\n%ignore "\\n"', ["a#b\nb", "ab#c", "ab#\nc"], ["a#b", "a#b\nc"]),
    "ignore after left recursion": ('start: start "+" "a" | "a"\n%ignore / +/', ["a ", "a + a "], [" a", "a +"]),
    "ignore takes all it can": ('start: "a" / x/\n%ignore / +/', ["a x"], ["a  x"]),
    "ignore first": ('%llguidance {"allow_initial_skip": true}\nstart: "b"\n%ignore " "', ["b", "  b"], ["b "]),
    "ignore once": ('%llguidance {"skip_repetition": "once"}\nstart: "b" "c"\n%ignore / {1,2}/', ["bc", "b  c"], ["b   c"]),
    "left recursion": ('start: e\ne: e "+" t | t\nt: t "*" f | f\nf: "(" e ")" | /[0-9]+/', ["1", "1+2*(3+4)"], ["+1", "(1"]),
    "common": (
        "%import common.INT\n%import common (WS, CNAME)\n%import common.NUMBER -> N\nstart: INT WS CNAME WS N",
        ["12 _a1\t.5e3"],
        ["a"],
    ),
    "escaped strings": ("%import common.ESCAPED_STRING\nstart: ESCAPED_STRING", ['"a\\"b"', '""', '"\\\\"'], ['"a', '"\\"']),
    "comments of C": ('%import common.C_COMMENT\nstart: C_COMMENT "x"', ["/* a */x", "/* * / */x"], ["/* a */x*/x"]),
    "lazy": ('start: x "y"\nx[lazy]: /[0-9]+/', ["1y"], ["12y"]),
    "lazy before others": ('start: (x "1" | y)+ "z"\nx[lazy]: /a+/\ny: /aab|b/', ["a1z", "bz", "ba1bz"], ["aabz", "aa1z"]),
    "the shorter lazy one": ('start: x "1" | y "2"\nx[lazy]: /ab|abc/\ny[lazy]: /a/', ["a2"], ["ab1", "abc1"]),
    "lazy elsewhere": ('start: x "1" | "q" y "2"\nx[lazy]: /a/\ny: /ab/', ["qab2", "a1"], ["ab2"]),
    "suffix": ('start: x "b"\nx[suffix="<end>"]: /.*/', ["foo<end>b", "<end>b"], ["foob", "foo<end>x<end>b"]),
    "stop": ("start: x\nx[stop=/x+/]: /a*/", ["aax", "x"], ["aaxx", "aa"]),
    "stop written again": ('start: x "<e>" y\ny: "<" "b"\nx[stop="<e>"]: /[a-z]*/', ["fo<e><b", "<e><b"], ["fo<e><e><b", "fo<b", "fo<e>b"]),
    "stop written again by name": ('start: (x E "1")+\nx[stop=E]: /a*/\nE: "e"', ["ae1", "e1ae1"], ["aee1", "a1"]),
    "stop that another text begins with": ('start: x ("<e>b" "c")\nx[stop="<e>"]: /[a-z]*/', ["fo<e>bc"], ["fo<e><e>bc", "foc"]),
    "suffix is not written again": ('start: x "e"\nx[suffix="e"]: /a*/', ["aee"], ["ae"]),
    "lazy of nothing": ('start: "c" x "b" | "cab"\nx[lazy]: /a*/', ["cb", "cab"], ["caab", "c"]),
    "capture": ('start: x y\nx[capture]: /a/\ny[capture="why", temperature=0.5]: "b"', ["ab"], ["a"]),
    "substring of chunks": (
        'start: %regex {"substring_chunks": ["abc", "de", "fg"]}',
        ["", "de", "abcde", "defg", "abcdefg"],
        ["ab", "abcfg"],
    ),
    "substring of words": ('start: %regex {"substring_words": "foo bar. baz"}', ["", "foo bar.", " bar", ". "], ["foo b", "oo"]),
    "substring of runs": ('start: %regex {"substring_words": "हिन्दी  3.5-- x"}', ["  3.5-- ", "हिन्", "-- x"], [" 3.5", "3.5-", "हि"]),
    "substring of characters": ('start: %regex {"substring_chars": "abcb"}', ["bc", "cb", "b"], ["ac", "bb"]),
    "free text between calls": (
        'start: (head "=a>" /[0-9]+/ "</f>")* text\nhead[lazy]: TEXT "<f"\nTEXT: /(.|\\n)*/\ntext: TEXT',
        ["hello", "<f=a>12</f>", "x<f=a>1</f>y<f=a>2</f>z", "a <"],
        ["<f", "x<f=b>", "<f=a>x", "x<f=a>1</f>y<f z"],
    ),
    "permutations": (
        'start: perm::0x0\nperm::_: "" %if is_ones([0:3])\n'
        ' | "a" perm::set_bit(0) %if bit_clear(0)\n | "b" perm::set_bit(1) %if bit_clear(1)\n | "c" perm::set_bit(2) %if bit_clear(2)',
        ["abc", "cab", "bca"],
        ["ab", "aab", "abca", ""],
    ),
    "counting": (
        'start: aa::0\naa::_: "b" aa::incr(_) %if lt(_, 3)\n | bb::_\nbb::_: "a" bb::incr(_) %if lt(_, 3)\n | ""',
        ["", "bbb", "bba", "aaa"],
        ["bbba", "ab"],
    ),
    "conditions": (
        'start: p::0x1\np::_: "a" p::bit_or(2) %if and(bit_set(0), not(bit_set(1)))\n | "b" %if or(eq([0:2], 3), bit_count_gt(_, 5))',
        ["ab"],
        ["b", "aab", "a"],
    ),
    "json": (
        'start: "x" %json {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]} "y"',
        ['x{"a":1}y', 'x{ "a" : 1 }y'],
        ["x{}y", 'x{"a":1} y'],
    ),
    "words": ('start: w+\nw: "if" | "else" | "iffy"', ["ifelse", "iffyif"], ["i", "ifx"]),
    "empty string": ('start: "a" ("" | "b")', ["a", "ab"], ["b"]),
}


@pytest.mark.parametrize("name", CASES)
def test_grammar_matches_what_it_says(name: str) -> None:
    text, accepted, rejected = CASES[name]
    check_texts(Grammar.from_lark(text), accepted, rejected)


ERRORS = {
    "no start": ('begin: "a"', GrammarError, 1, "`start`"),
    "undefined rule": ('start: "a"\n  | missing', GrammarError, 2, "missing"),
    "undefined terminal": ("start: MISSING", GrammarError, 1, "MISSING"),
    "defined twice": ('start: "a"\nstart: "b"', GrammarError, 2, "defined twice"),
    "circular terminals": ("start: A\nA: B\nB: A", GrammarError, 3, "A -> B -> A"),
    "rule in a terminal": ('start: A\nA: b\nb: "x"', GrammarError, 2, "the rule b"),
    "single quotes": ("start: 'a'", GrammarError, 1, "double quotes"),
    "bad escape": ('start: "\\d"', GrammarError, 1, "no escape"),
    "bad regex": ("start: /a(b/", GrammarError, 1, ""),
    "back-reference": ("start: /(a)\\1/", UnsupportedError, 1, ""),
    "regex flag": ("start: /a/l", UnsupportedError, 1, "flag"),
    "and of rules": ('start: "a" & "b"', GrammarError, 1, "&"),
    "token in a terminal": ("start: X\nX: <[1]>", GrammarError, 2, "terminal"),
    "bad token set": ("start: <[^*]>", GrammarError, 1, "set of tokens"),
    "half a token range": ("start: <[1-]>", GrammarError, 1, "set of tokens"),
    "two carets": ("start: <[^^1]>", GrammarError, 1, "set of tokens"),
    "parameter of a terminal": ('start: A::0\nA: "a"', GrammarError, 1, "takes no parameter"),
    "negative count": ('start: a{-1,}\na: "a"', GrammarError, 1, "expected a number"),
    "no count": ('start: a{}\na: "a"', GrammarError, 1, "expected a number"),
    "declare": ('%declare X\nstart: "a"', UnsupportedError, 1, "%declare"),
    "templates": ('start: a{"x"}\na{x}: x', UnsupportedError, 1, "template"),
    "unknown import": ("%import foo.INT\nstart: INT", UnsupportedError, 1, "foo.INT"),
    "unknown common terminal": ("%import common.NOPE\nstart: NOPE", GrammarError, 1, "common.NOPE"),
    "unknown option": ('%llguidance {"lark": 1}\nstart: "a"', UnsupportedError, 1, "lark"),
    "negative max_tokens": ("start: a\na[max_tokens=-1]: /x*/", GrammarError, 2, "from 0 to 2147483647"),
    "half a token": ("start: a\na[max_tokens=2.5]: /x*/", GrammarError, 2, "whole number"),
    "too many tokens": ("start: a\na[max_tokens=2147483648]: /x*/", GrammarError, 2, "from 0 to 2147483647"),
    "max_tokens without a number": ("start: a\na[max_tokens]: /x*/", GrammarError, 2, "'='"),
    "a stop written again behind max_tokens": (
        'start: a "."\na[max_tokens=2, stop="."]: /x*/',
        UnsupportedError,
        1,
        "where max_tokens cuts",
    ),
    "unknown attribute": ("start: a\na[greedy]: /x*/", GrammarError, 2, "lazy"),
    "value of lazy": ("start: a\na[lazy=true]: /x*/", GrammarError, 2, "found '='"),
    "stop and suffix": ('start: a\na[stop="x", suffix="y"]: /x*/', GrammarError, 2, "a stop and a suffix"),
    "stop_capture alone": ('start: a\na[stop_capture="x"]: /x*/', GrammarError, 2, "stop_capture"),
    "capture by a number": ("start: a\na[capture=3]: /x*/", GrammarError, 2, "a name in double quotes"),
    "attribute twice": ("start: a\na[lazy, lazy]: /x*/", GrammarError, 2, "given twice"),
    "lazy rule": ('start: a\na[lazy]: b\nb: "x"', GrammarError, 2, "the rule b"),
    "attribute on a terminal": ("start: A\nA[lazy]: /x*/", GrammarError, 2, "terminals take no attributes"),
    "unknown grammar": ("start: @other", GrammarError, 1, "@other"),
    "parameter missing": ('start: p\np::_: "a"', GrammarError, 1, "takes a parameter"),
    "condition without parameter": ('start: "a" %if bit_set(1)\n | "b"', GrammarError, 1, "no parameter"),
    "unknown condition": ('start: p::0\np::_: "a" %if odd(1)', GrammarError, 2, "odd"),
    "broken JSON": ('start: %json {"type": }', GrammarError, 1, "JSON"),
    "bounds the wrong way round": ('start: "a"{3,1}', GrammarError, 1, "at most 1"),
    "mixed case": ('start: Foo\nFoo: "a"', GrammarError, 1, "mixes cases"),
    "unclosed group": ('start: ("a" "b"', GrammarError, 1, "close the group"),
    "fraction as a parameter": ('start: p::1.5\np::_: "a"', GrammarError, 1, "whole number"),
    "hexadecimal without digits": ('start: p::0\np::_: "a" %if eq(_, 0x_)', GrammarError, 2, "whole number"),
    "binary of nines": ("start: a\na[max_tokens=0b9]: /x*/", GrammarError, 2, "whole number"),
    "parameter of 65 bits": ('start: p::0x1_0000000000000000\np::_: "a"', GrammarError, 1, "64-bit"),
    "parametric terminal": ('start: A\nA::_: "a"', GrammarError, 2, "takes no parameter"),
    "import of what is defined": ('%import common.INT\nstart: INT\nINT: "a"', GrammarError, 1, "imported and also defined"),
    "two imports of one name": ("start: A\n%import common.INT -> A\n%import common.WS -> A", GrammarError, 3, "imported otherwise"),
    "surrogate in a substring": ('start: %regex {"substring_chars": "\\ud800"}', GrammarError, 1, "surrogate"),
    "number in a substring": ('start: %regex {"substring_chars": 55}', UnsupportedError, 1, "not known"),
    "grammar inside itself": ("start: @self", GrammarError, 1, "@self needs itself: @self -> @self"),
    "grammars inside each other": ("start: @a", GrammarError, 1, "in the grammar @b: the grammar @a needs itself: @a -> @b -> @a"),
    "error inside a grammar": ("start: @wrong", GrammarError, 2, "in the grammar @wrong: the rule missing"),
    "nothing to repeat": ("start: * ", GrammarError, 1, "found '*'"),
}


NESTED = {"self": 'start: "a" @self?', "a": "start: @b", "b": "start: @a", "wrong": 'start: "a"\n | missing'}


@pytest.mark.parametrize("name", ERRORS)
def test_error_names_the_line_and_the_cause(name: str) -> None:
    text, kind, line, words = ERRORS[name]
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(text, grammars=NESTED)
    assert type(caught.value) is kind
    assert caught.value.line == line
    assert words in str(caught.value)
    assert "^" in str(caught.value)


SCHEMA_ERRORS = {
    "a keyword": ('{"properties": {"a": {"maxLength": -1}}}', GrammarError, "#/properties/a/maxLength: "),
    "a pattern": ('{"pattern": "(a)\\\\1"}', UnsupportedError, "#/pattern: in the pattern"),
    "a contradiction": ('{"allOf": [{"type": "string"}, {"type": "integer"}]}', UnsatisfiableError, "#: no value satisfies"),
    "a document": ('{"$ref": "http://example.com/x"}', UnresolvedError, "#/$ref: "),
    "a limit": ('{"type": "array", "minItems": 100000000000}', LimitError, "#/minItems: "),
    "no schema": ("5", GrammarError, "#: a schema must be"),
}


@pytest.mark.parametrize("name", SCHEMA_ERRORS)
def test_errors_of_a_schema_name_its_line_too(name: str) -> None:
    schema, kind, words = SCHEMA_ERRORS[name]
    with pytest.raises(ScansionError) as caught:
        Grammar.from_lark(f'start: a\na: "x" | %json {schema}')
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"line 2, column 10: {words}")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value) == caught.value.args[0]


def test_deep_groups_meet_a_limit() -> None:
    with pytest.raises(LimitError) as caught:
        Grammar.from_lark("start: " + "(" * 10_000 + '"a"' + ")" * 10_000)
    assert caught.value.limit == "depth"


@pytest.mark.parametrize(
    "body",
    ["/x{1000001}/", "/" + "(" * 101 + ")" * 101 + "/", f'%regex {{"substring_chars": "{"a" * 80_001}"}}', r"/(?:(?!ab).){1,30000}\b/"],
)
def test_limits_of_terminals_have_a_place(body: str) -> None:
    with pytest.raises(LimitError, match="line 2, column 4: "):
        Grammar.from_lark(f'start: "a"\nB: {body}')


def test_a_long_text_to_quote_from() -> None:
    words = [f"word{number % 997}" for number in range(30_000)]
    grammar = Grammar.from_lark(f'start: "<" %regex {{"substring_words": "{" ".join(words)}"}} ">"')
    check_texts(grammar, [f"<{' '.join(words[500:560])}>", "<>"], ["<word3 word5>", "<ord3>"])


def test_terminals_that_double_meet_a_limit() -> None:
    text = "start: A0\n" + "\n".join(f"A{i}: A{i + 1} A{i + 1}" for i in range(60)) + '\nA60: "x"'
    with pytest.raises(LimitError) as caught:
        Grammar.from_lark(text)
    assert caught.value.limit == "terminal_size"


def test_too_many_values_of_a_parameter_meet_a_limit() -> None:
    ways = "".join(f' | "{chr(97 + bit)}" p::set_bit({bit}) %if bit_clear({bit})\n' for bit in range(24))
    with pytest.raises(LimitError, match="alternatives over all"):
        Grammar.from_lark(f'start: p::0\np::_: "" %if is_ones([0:24])\n{ways}')


def test_grammars_refer_to_each_other() -> None:
    grammar = Grammar.from_lark('start: "<" @inner ">" @inner', grammars={"inner": 'start: "a" "b"\n%ignore " "'})
    check_texts(grammar, ["<ab>a b", "<a  b>ab"], ["< ab>ab", "<ab>ab "])


def test_lazy_terminals_of_a_nested_grammar_win_there() -> None:
    inner = 'start: (head "!")* text\nhead[lazy]: TEXT "<f"\ntext: TEXT\nTEXT: /(.|\\n)*/'
    texts = ["a<f!", "a<f!b", ""], ["a<fb", "a<f!b<f"]
    check_texts(Grammar.from_lark(inner), *texts)
    check_texts(Grammar.from_lark("start: @inner", grammars={"inner": inner}), *texts)


@pytest.mark.parametrize("below", ["start: @{}", "start: @{} @{}"])
def test_grammars_inside_each_other_by_the_thousand_meet_a_limit(below: str) -> None:
    """A chain, which must not meet Python's stack, and Fibonacci's tree."""
    grammars = {f"g{at}": below.format(f"g{at + 1}", f"g{at + 2}") for at in range(2000)}
    with pytest.raises(LimitError, match=r"in the grammar @g\d+: line 1, column 8: the grammars inside each other") as caught:
        Grammar.from_lark("start: @g0", grammars={**grammars, "g2000": 'start: "a"', "g2001": 'start: "b"'})
    assert caught.value.limit == "nested_rules"


def test_many_substrings_meet_one_limit() -> None:
    with pytest.raises(LimitError, match=r"^line 1, column \d{4}") as caught:
        Grammar.from_lark("start: " + " | ".join(f'%regex {{"substring_chars": "{"ab" * 5000}{number}"}}' for number in range(9)))
    assert caught.value.limit == "chunks"


def test_a_number_of_a_schema_of_any_length_is_judged_by_the_schemas_reader() -> None:
    with pytest.raises(LimitError, match=r"^line 1, column 8: .*10\^99999"):
        Grammar.from_lark(f'start: %json {{"minimum": {"9" * 100_000}}}')


def test_messages_stay_short_and_can_be_written_out() -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark("start: " + "z" * 100_000)
    assert len(str(caught.value)) < 5_000
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark('start: "\ud800"')
    assert str(caught.value).encode()


def test_tokens_by_id_range_name_and_negation() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"ab", None, None, None], eos_token_ids=[5], special_tokens={"<s>": 3, "<e>": 4})

    def allowed(text: str, *tokens: int) -> set[int]:
        matcher = Grammar.from_lark(text).compile(vocabulary).matcher()
        assert all(matcher.accept(token) for token in tokens)
        return {token for token in range(vocabulary.size) if matcher.allows(token)}

    assert allowed("start: <s> <[1-2,4]>") == {3}
    assert allowed("start: <s> <[1-2,4]>", 3) == {1, 2, 4}
    assert allowed("start: <[^0,3]>") == {1, 2, 4}
    assert allowed("start: <[*]>") == {0, 1, 2, 3, 4}
    assert allowed('start: "a" <e>', 0) == {4}
    with pytest.raises(GrammarError, match="no token <nope>"):
        Grammar.from_lark("start: <nope>").compile(vocabulary)


def test_text_of_a_special_token_is_not_the_token() -> None:
    vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), None, None], eos_token_ids=[257], special_tokens={"<s>": 256})
    matcher = Grammar.from_lark('start: "<s>"').compile(vocabulary).matcher()
    assert not matcher.accept(256)
    assert all(matcher.accept(byte) for byte in b"<s>")


def test_a_large_grammar_of_a_language() -> None:
    grammar = Grammar.from_lark(
        r"""
        start: statement*
        ?statement: "let" NAME "=" expr ";" -> let
                  | "if" "(" expr ")" block ["else" block]
                  | "while" "(" expr ")" block
                  | "return" [expr] ";"
                  | expr ";"
        block: "{" statement* "}"
        ?expr: sum (("==" | "<" | ">") sum)?
        ?sum: sum ("+" | "-") product | product
        ?product: product ("*" | "/") atom | atom
        ?atom: NUMBER | STRING | NAME | call | "(" expr ")" | "-" atom
        call: NAME "(" [expr ("," expr)*] ")"
        NAME: /[a-zA-Z_]\w*/
        STRING: /"(\\.|[^"\\])*"/
        %import common.NUMBER
        %import common.WS
        %ignore WS
        %ignore /\/\/[^\n]*/
        """
    )
    program = 'let x = 1.5e3 * (y + f(2, "a\\"b")); // sum\nif (x < 3) { return -x; } else { while (x) { x; } }\n'
    assert is_text(grammar, program)
    assert is_text(grammar, "") and not is_text(grammar, "let = 3;") and not is_text(grammar, "return 1")
    assert grammar.compile(BYTES) is grammar.compile(BYTES)


def test_several_json_values_keep_their_members() -> None:
    one = '{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": false}'
    other = '{"type": "object", "properties": {"y": {"type": "integer"}, "z": false}, "required": ["y"], "additionalProperties": false}'
    grammar = Grammar.from_lark(f'start: a "|" b\na: %json {one}\nb: %json {other}')
    matcher = grammar.compile(Vocabulary([bytes([i]) for i in range(256)] + [None], eos_token_ids=[256])).matcher()
    assert matcher.accept_bytes(b'{"x":1}|{"y":2}')
    assert matcher.is_complete


def test_long_runs_of_optional_terminals_meet_a_limit() -> None:
    for text in ("start: T\nT: " + "A " * 1001 + '\nA: "a"?', "start: T\nT: " + "B " * 40 + "\nB: " + "A " * 40 + '\nA: "a"?'):
        with pytest.raises(LimitError) as caught:
            Grammar.from_lark(text)
        assert caught.value.limit == "optional_parts"
        assert str(caught.value).startswith("line 2, column ")


def test_limits_of_strings_and_ignored_terminals_have_their_place() -> None:
    for text, limit in (
        ('start: "x"\n  | "' + "ab" * 150_000 + '"i', "pattern_items"),
        ('start: "x"\n' + "".join(f"%ignore /x{{{count}}}/\n" for count in range(1, 1100)), "ignored"),
    ):
        with pytest.raises(LimitError) as caught:
            Grammar.from_lark(text)
        assert caught.value.limit == limit
        assert str(caught.value).startswith("line ")
