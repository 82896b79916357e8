"""Lark grammars of common languages, in what the Lark toolkit and Scansion both read, with texts that are and are not in them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LarkLanguage:
    """A grammar and texts.

    Attributes:
        grammar: Lark text.
        texts: texts of the language.
        others: texts that are not.
        ignored: a regular expression for what ``%ignore`` names; empty where nothing is ignored.
    """

    grammar: str
    texts: tuple[str, ...]
    others: tuple[str, ...]
    ignored: str = ""


LANGUAGES: dict[str, LarkLanguage] = {}

LANGUAGES["json"] = LarkLanguage(
    r"""
    ?start: value
    ?value: object | array | STRING | SIGNED_NUMBER -> number
          | "true" -> true | "false" -> false | "null" -> null
    array: "[" [value ("," value)*] "]"
    object: "{" [pair ("," pair)*] "}"
    pair: STRING ":" value
    STRING: /"(\\.|[^"\\\n])*"/
    %import common.SIGNED_NUMBER
    %import common.WS
    %ignore WS
    """,
    ('{"a": [1, -2.5e3, true],\n "b\\"": {}}', "[]", "[ [ ] , null ]", "12", '"x y"'),
    ("{", '{"a"}', "[1,]", "tru", '"a', "[1 2]", "{a: 1}"),
    r"[ \t\f\r\n]+",
)

LANGUAGES["arithmetic"] = LarkLanguage(
    r"""
    ?start: sum | NAME "=" sum -> assign
    ?sum: product | sum "+" product -> add | sum "-" product -> sub
    ?product: power | product "*" power -> mul | product "/" power -> div
    ?power: atom ["**" power]
    ?atom: NUMBER | "-" atom -> neg | NAME | NAME "(" [sum ("," sum)*] ")" -> call | "(" sum ")"
    %import common (NUMBER, CNAME, WS_INLINE)
    NAME: CNAME
    %ignore WS_INLINE
    """,
    ("1+2*(3 - 4.5)", "x = -y ** 2 ** z", "f(1, g(), .5e-2)/3.", "--1", "a-1 - -1"),
    ("1+", "(1", "1 2", "= 3", "f(,)", "1***2", "x y"),
    r"[ \t]+",
)

LANGUAGES["ini"] = LarkLanguage(
    r"""
    start: (_NL | COMMENT _NL)* section*
    section: "[" SECTION "]" _NL item*
    item: KEY ("=" | ":") VALUE? _NL | COMMENT _NL | _NL
    SECTION: /[^\]\n]+/
    KEY: /[A-Za-z_][A-Za-z0-9_.-]*/
    VALUE: /[^\n]+/
    COMMENT: /[;#][^\n]*/
    _NL: "\n"
    %ignore /[ \t]+/
    """,
    ("[a]\nx=1\ny : two words # kept\n\n; note\n[b c]\n", "", "\n# top\n[x]\n", "[s]\nk=\n", "[s]\nk==v\n"),
    ("x=1\n", "[a\n", "[a]\nx\n", "[]\n", "[a]\n1x=2\n", "[a]"),
    r"[ \t]+",
)

LANGUAGES["toml"] = LarkLanguage(
    r"""
    start: line ("\n" line)*
    line: [table | pair] COMMENT?
    table: "[" key "]" | "[[" key "]]"
    pair: key "=" value
    key: part ("." part)*
    part: BARE | STRING
    value: STRING | INTEGER | FLOAT | BOOL | DATE | array | inline
    array: "[" [value ("," value)* ","?] "]"
    inline: "{" [pair ("," pair)*] "}"
    BARE: /[A-Za-z0-9_-]+/
    STRING: /"([^"\\\n]|\\["\\nt])*"/ | /'[^'\n]*'/
    INTEGER: /[+-]?(0|[1-9](_?[0-9])*)/ | /0x[0-9a-f]+/i
    FLOAT: INTEGER "." /[0-9]+/ ("e" INTEGER)?
    BOOL: "true" | "false"
    DATE: /[0-9]{4}-[0-9]{2}-[0-9]{2}/ [/[T ]/ /[0-9]{2}:[0-9]{2}:[0-9]{2}/]
    COMMENT: /#[^\n]*/
    %ignore /[ \t]+/
    """,
    ('a.b = 1_000 # c\n[t."x y"]\nd = 2026-11-30 10:00:00', "x = [1, [2.5e3,],]\n[[y]]", "p = { q = 'r', 1 = true }", "", "z=0xAf"),
    ("a =", "a 1", "[t", "x = [,]", "n = 01", "b = {a=1,}", "d = 2026-11", "k = tru"),
    r"[ \t]+",
)

LANGUAGES["sql"] = LarkLanguage(
    r"""
    start: select ";"?
    select: "select"i ["distinct"i] columns "from"i source [join+] ["where"i condition] [group] [order] ["limit"i INT]
    columns: "*" | column ("," column)*
    column: expression ["as"i NAME]
    source: NAME [NAME] | "(" select ")" NAME
    join: ("inner"i | "left"i)? "join"i source "on"i condition
    group: "group"i "by"i name ("," name)* ["having"i condition]
    order: "order"i "by"i name ["asc"i | "desc"i]
    ?condition: condition "or"i conjunct | conjunct
    ?conjunct: conjunct "and"i test | test
    ?test: "not"i test | expression OPERATOR expression | expression "in"i "(" expression ("," expression)* ")"
         | expression "is"i ["not"i] "null"i | "(" condition ")"
    ?expression: expression ("+" | "-") term | term
    ?term: name | INT | STRING | CALL "(" ("*" | expression) ")"
    name: NAME ["." NAME]
    OPERATOR: "=" | "<>" | "<=" | ">=" | "<" | ">"
    CALL.2: "count"i | "sum"i | "max"i
    NAME: /[a-z_][a-z0-9_]*/i
    STRING: /'([^']|'')*'/
    %import common.INT
    %import common.WS
    %ignore WS
    %ignore /--[^\n]*\n/
    """,
    (
        "select * from t",
        "SELECT a.b, Count(*) as n FROM t x WHERE a = 'it''s' AND NOT b in (1, 2) GROUP BY a.b ORDER BY n DESC LIMIT 5;",
        "select a from (select b from c) d left join e on d.a <= e.a -- why\n where x is not null",
    ),
    ("select from t", "select * t", "select a from t where x", "select a b c from t", "select a from t limit x", "update t"),
    r"[ \t\f\r\n]+|--[^\n]*\n",
)

LANGUAGES["c"] = LarkLanguage(
    r"""
    start: function*
    function: type NAME "(" [type NAME ("," type NAME)*] ")" block
    type: ("int" | "char" | "void") "*"*
    block: "{" statement* "}"
    ?statement: declaration | block | ";" | expression ";"
              | "if" "(" expression ")" statement ["else" statement]
              | "while" "(" expression ")" statement
              | "for" "(" [expression] ";" [expression] ";" [expression] ")" statement
              | "return" [expression] ";" | "break" ";"
    declaration: type NAME ["[" NUMBER "]"] ["=" expression] ";"
    ?expression: assignment
    ?assignment: unary ("=" | "+=" | "-=") assignment | disjunction
    ?disjunction: (disjunction "||")? conjunction
    ?conjunction: (conjunction "&&")? comparison
    ?comparison: comparison ("==" | "!=" | "<" | "<=" | ">" | ">=") sum | sum
    ?sum: sum ("+" | "-") product | product
    ?product: product ("*" | "/" | "%") unary | unary
    ?unary: ("!" | "-" | "*" | "&" | "++" | "--") unary | postfix
    ?postfix: postfix "[" expression "]" | postfix "(" [expression ("," expression)*] ")" | postfix ("++" | "--") | primary
    ?primary: NAME | NUMBER | CHARACTER | STRING | "(" expression ")"
    NAME: /[a-zA-Z_][a-zA-Z_0-9]*/
    NUMBER: /0[xX][0-9a-fA-F]+|[0-9]+/
    CHARACTER: /'([^'\\\n]|\\[n0t'\\])'/
    STRING: /"([^"\\\n]|\\.)*"/
    %ignore /[ \t\n]+/
    %ignore /\/\/[^\n]*/
    %ignore /\/\*([^*]|\*+[^*\/])*\*+\//
    """,
    (
        "int f(int n, char *s) { if (n <= 1) return s[0] - '0'; else { n += 2; } /* x */ return f(n - 1, &s) * 0x1F; }",
        "void g() { for (;;) { int a[3] = b++ + ++c; ; break; } } // end\n",
        "",
        'int main() { puts("a\\"b"); while (!x && *p == -1 || y) x = y = 0; }',
    ),
    ("int f() {", "f() {}", "int f() { return }", "int f(int) {}", "int f() { x = ; }", "int f() { 'ab'; }", "int f() { if x y; }"),
    r"[ \t\n]+|//[^\n]*|/\*([^*]|\*+[^*/])*\*+/",
)

LANGUAGES["python expressions"] = LarkLanguage(
    r"""
    ?start: test
    ?test: or_test ["if" or_test "else" test] | lambda
    lambda: "lambda" [NAME ("," NAME)*] ":" test
    ?or_test: and_test ("or" and_test)*
    ?and_test: not_test ("and" not_test)*
    ?not_test: "not" not_test | comparison
    ?comparison: sum (_comp sum)*
    !_comp: "<" | ">" | "==" | "!=" | "in" | "not" "in" | "is" | "is" "not"
    ?sum: product (("+" | "-") product)*
    ?product: factor (("*" | "//" | "/" | "%") factor)*
    ?factor: ("-" | "+") factor | power
    ?power: trailer ["**" factor]
    ?trailer: atom | trailer "(" [arguments] ")" | trailer "[" subscript "]" | trailer "." NAME
    arguments: argument ("," argument)* [","]
    argument: test | NAME "=" test | "*" test | "**" test
    subscript: test | [test] ":" [test] [":" [test]]
    ?atom: NAME | NUMBER | STRING+ | "(" [test ("," test)* [","]] ")" | "[" [test ("," test)* [","] | comprehension] "]"
         | "{" [item ("," item)* [","]] "}" | "..."
    comprehension: test ("for" NAME "in" or_test ["if" or_test])+
    item: test ":" test | "**" test
    NAME: /[a-zA-Z_][a-zA-Z_0-9]*/
    NUMBER: /[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?j?/i | /0b[01]+/
    STRING: /[rbf]{0,2}("([^"\\\n]|\\.)*"|'([^'\\\n]|\\.)*')/i
    %ignore /[ \t\n]+/
    """,
    (
        "a if b else lambda x, y: x[1:](*z, k=2)",
        "not x not in [i ** 2 for i in range(10) if i % 2]",
        "{'a': (1, 2,), **b}['a'].c is not None and -1e5 < 3j",
        "rb'\\'' \"x\" or f(a, *b, c=d, **e)",
        "x[::2] + ()",
    ),
    ("a if b", "lambda x", "[1,,2]", "f(", "{1}", "x.", "'a", "a b", "1 +", "x[", "**a"),
    r"[ \t\n]+",
)

LANGUAGES["s-expressions"] = LarkLanguage(
    r"""
    start: form+
    ?form: ATOM | STRING | "(" form* ["." form] ")" | "'" form -> quote
    ATOM: /[^ \t\r\n()'".;]+/
    STRING: /"(\\.|[^"\\])*"/
    %ignore /[ \n]+/
    %ignore /;[^\n]*/
    """,
    ('(define (f x) (* x \'2)) ; twice\n(f "a")', "a", "(a . b)", "()", "''x"),
    ("(", ")", "(. )", "'", "(a . )"),
    r"[ \n]+|;[^\n]*",
)

LANGUAGES["search queries"] = LarkLanguage(
    r"""
    ?start: either
    ?either: both ("OR" both)*
    ?both: one (["AND"] one)*
    ?one: ("NOT" | "-") one | field | "(" either ")" | word
    field: WORD ":" (word | range)
    range: ("[" | "{") WORD "TO" WORD ("]" | "}")
    word: WORD ["~" DIGIT] | PHRASE ["^" DIGIT]
    WORD: LETTER (LETTER | DIGIT | "_")* "*"?
    PHRASE: /"[^"]+"/
    %import common.LETTER
    %import common.DIGIT
    %ignore / /
    """,
    ('a AND (b OR -c) title:"x y"^2', "date:[a TO b}", "NOT NOT w*", "a~1 b", "AND"),
    ("(", 'a "b', "date:[a b]", "x:", "~1", "()"),
    " ",
)

LANGUAGES["markup"] = LarkLanguage(
    r"""
    start: node*
    ?node: element | TEXT | ENTITY | COMMENT
    element: "<" NAME attribute* "/>" | "<" NAME attribute* ">" node* "</" NAME ">"
    attribute: SPACE NAME "=" (/"[^"<]*"/ | /'[^'<]*'/)
    SPACE: /[ \n]+/
    NAME: /[a-z][a-z0-9]*(-[a-z0-9]+)*/
    TEXT: /[^<&]+/
    ENTITY: "&" ("amp" | "lt" | "#" /[0-9]{1,5}/) ";"
    COMMENT: "<!--" /(-?[^-])*/ "-->"
    """,
    ("<a b=\"1\" c='2'>x &amp; <i/>y</b>", "", "plain", "<!-- a-b -->&#10;", "<a></a><b></b>"),
    ("<a>", "<a b>", "&x;", "<!-- -- -->", "a < b", "<A/>"),
)

LANGUAGES["regular expressions"] = LarkLanguage(
    r"""
    ?start: branch ("|" branch)*
    branch: piece*
    piece: atom QUANTIFIER?
    ?atom: CHARACTER | "." | "^" | "$" | class | ("(" | "(?:" | "(?=" | "(?!") start ")"
    class: ("[" | "[^") member+ "]"
    member: MEMBER | MEMBER "-" MEMBER
    QUANTIFIER: ("*" | "+" | "?" | "{" /[0-9]{1,3}/ ("," /[0-9]{0,3}/)? "}") "?"?
    CHARACTER: /[^\\^$.*+?()\[\]{}|]/ | "\\" /./
    MEMBER: /[^\\\]\n-]/ | "\\" /./
    """,
    ("^(a|b)*[^x-z\\]]{2,}?$", "", "a||b", "(?=x)[ab]", "\\d+\\."),
    ("(", "a)", "*", "[", "[]", "a{,3}", "a**", "\\"),
)

LANGUAGES["requests for graphs"] = LarkLanguage(
    r"""
    start: operation+
    operation: (("query" | "mutation") [NAME [variables]])? selection
    variables: "(" ("$" NAME ":" type ["=" value])+ ")"
    type: (NAME | "[" type "]") "!"?
    selection: "{" (field | "..." NAME | "..." "on" NAME selection)+ "}"
    field: [NAME ":"] NAME ["(" (NAME ":" value)+ ")"] directive* [selection]
    directive: "@" NAME ["(" (NAME ":" value)+ ")"]
    value: "$" NAME | INT | STRING | "true" | "null" | NAME | "[" value* "]" | "{" (NAME ":" value)* "}"
    NAME: /[_A-Za-z][_0-9A-Za-z]*/
    INT: /-?(0|[1-9][0-9]*)/
    STRING: /"([^"\\\n]|\\["\\\/bfnrt]|\\u[0-9A-Fa-f]{4})*"/
    %ignore /[ \t\n,]+/
    %ignore /#[^\n]*/
    """,
    ('{ a b(x: 1, y: [$v "s"]) { c } }', "query Q($v: [Int!]! = 3) { x: y @skip(if: true) ... on T { z } ...f }", "query { query }"),
    ("{}", "{ a(}", "query Q", "{ a: }", "{ x: ... }", "fragment"),
    r"[ \t\n,]+|#[^\n]*",
)
