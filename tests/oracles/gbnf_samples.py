"""Grammars with texts for comparisons with llama.cpp: what is accepted, and what is refused somewhere.

Each was written for these tests and stays within what llama.cpp takes: no left recursion, no underscore in a name, no line that begins with a bar.
"""

# ruff: noqa: E501

from __future__ import annotations

# name: (grammar, accepted texts, refused texts)
SAMPLES: dict[str, tuple[str, list[str], list[str]]] = {
    "json": (
        r"""root ::= object | array
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member ("," ws member)*)? "}" ws
member ::= string ":" ws value
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [1-9] [0-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
""",
        [
            '{"name": "Ada", "tags": ["a", "b\\n", "\\u00e9"], "n": -12.5e+3}',
            '[{"Zürich": "道 😀"}, [], {}, null, true]',
            "[\n  1,\n  2\n]",
        ],
        ['{"a": tru}', '{"a" 1}', "[1,, 2]", '{"a": "b\n"}', "[01]", '"x"', '{"a": 1]'],
    ),
    "json, an object begun": (
        r"""root ::= "{\"answer\": \"" char* "\", \"sure\": " ("true" | "false") "}"
char ::= [^"\\] | "\\" ["\\n]
""",
        ['{"answer": "It is 42.", "sure": true}', '{"answer": "é\\n", "sure": false}'],
        ['{"answer": 42', '{"answer": "x", "sure": maybe}', '{"Answer'],
    ),
    "chess": (
        """root ::= "1. " move " " move "\\n" ([1-9] [0-9]? ". " move " " move "\\n")+
move ::= (pawn | piece | castle) [+#]?
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBQR])?
piece ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
castle ::= "O-O" "-O"?
""",
        ["1. e4 e5\n2. Nf3 Nc6\n3. Bb5 a6\n", "1. d4 d5\n2. O-O Qxd4+\n"],
        ["1. e9 e5", "1. e4 e5\n2. Zf3", "1. e4\n", "2. e4"],
    ),
    "arithmetic": (
        """root ::= (expr "=" ws term "\\n")+
expr ::= term ([-+*/] ws term)*
term ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9]* ws
num ::= [0-9]+ ws
ws ::= [ \\t\\n]*
""",
        ["(1 + x2) * 3 = y\n", "a=1\nb*2=(3-c)\n"],
        ["1 ++ 2", "(1 = 2\n", "=3", "A=1"],
    ),
    "lists": (
        'root ::= item+\nitem ::= "- " [^\\r\\n\\x0b\\x0c\\x85\\u2028\\u2029]+ [\\r\\n]+\n',
        ["- bread\n- crème brûlée\n- 豆腐\n\n", "- x\r\n- y\r\n"],
        ["* bread\n", "- a\nb\n", "-a\n"],
    ),
    "numbered lists": (
        'root ::= ([1-9] [0-9]? ". " [A-Z] [a-z ]{2,30} "\\n"){2,4}\n',
        ["1. One thing\n2. Another\n", "1. Aaa\n2. Bbb\n3. Ccc\n4. Ddd\n"],
        ["1. one\n", "1. On\n", "1. Aaa\n2. Bbb\n3. Ccc\n4. Ddd\n5. Eee\n", "0. Aaa\n"],
    ),
    "a subset of C": (
        r"""root ::= declaration*
declaration ::= type " " name "(" parameters? ")" ws "{" ws statement* "}" ws
parameters ::= type " " name (", " type " " name)*
statement ::= (type " " name " = " expression ";" | name " = " expression ";" | "return " expression ";" | loop) ws
loop ::= "while (" condition ") {" ws statement* "}" | "if (" condition ") {" ws statement* "}" (" else {" ws statement* "}")?
condition ::= expression (" < " | " == " | " != ") expression
expression ::= operand ((" + " | " - " | " * ") operand)*
operand ::= number | name | name "(" (expression (", " expression)*)? ")" | "(" expression ")" | "'" [^'\\] "'"
type ::= "int" | "float" | "char"
name ::= [a-zA-Z_] [a-zA-Z_0-9]{0,20}
number ::= [0-9]+ ("." [0-9]+)?
ws ::= [ \t\n]*
""",
        [
            "int add(int a, int b) {\n  return a + b;\n}\n",
            "int f() {\n  int i = 0;\n  while (i < 10) {\n    i = i + g(i, (2 * 3.5));\n  }\n  if (i == 10) { return 'x'; } else { return 0; }\n}",
        ],
        ["int 2add() {", "int f( {", "void f() {", "int f() { return ; }", "int f() { while (i) {"],
    ),
    "Japanese": (
        "root ::= kana+ ([ \\t\\n] kana+)*\nkana ::= hiragana | katakana | mark | han\nhiragana ::= [ぁ-ゟ]\nkatakana ::= [ァ-ヿ]\nmark ::= [、-〾]\nhan ::= [一-龯]\n",
        ["こんにちは、世界。", "カタカナ ひらがな\n漢字"],
        ["hello", "こんにちはa", " こ", "한국"],
    ),
    "emoji": (
        "root ::= face (face | heart)* [!?]?\nface ::= [😀-🙏]\nheart ::= [❤💙-💜] [\\uFE0F]?\n",
        ["😀😂❤️", "🙏💚!"],
        ["❤", "😀a", "😀🚀", "!"],
    ),
    "other scripts": (
        'root ::= [А-Яа-яё]+ " " [α-ωά-ώ]+ " " [א-ת]+ "é"?\n',
        ["Привет κόσμε שלום", "мир ω אé"],
        ["Hello", "Привет world", "Привет κόσμε x"],
    ),
    "without one character": (
        'root ::= [^é]+ "." [^"\\x00-\\x1f]*\n',
        ["è ê. ok é", "abc. 道"],
        ["é", "abé", "a.\n"],
    ),
    "without a range": ("root ::= [^а-я]* [а-я]{2,3} [^a-z一-龥]*\n", ["ABC абв 123", "Ёж XYZ ぁ"], ["ABC аб z", "x а1", "аб 道"]),
    "any character": ('root ::= "<" . . . ">"\n', ["<abc>", "<é道😀>", "<\n\t.>"], ["<ab>", "<abcd>", "abc"]),
    "anything": ("root ::= .*\n", ["any text, 道 😀\n", ""], []),
    "counts": (
        'root ::= "a"{3} "b"{2,} "c"{1,3} "d"{0,2} "e"{0} ("f" "g"?){2}\n',
        ["aaabbcfgf", "aaabbbbcccddff"],
        ["aab", "aaabc", "aaabbccccf", "aaabbcdddff", "aaabbceff", "aaabbcf!"],
    ),
    "counts of groups": (
        'root ::= (pair ","){1,3} pair\npair ::= "(" [0-9]{1,2} ":" [0-9]{2} ")"\n',
        ["(1:23),(45:67)", "(1:23),(4:56),(7:89),(10:11)"],
        ["(1:2)", "(123:", "(1:23)(4", "(1:23),(4:56),(7:89),(10:11),"],
    ),
    "unbounded by count": ('root ::= "x" [0-9]{2,3000} "y"\n', ["x12y", "x" + "7" * 40 + "y"], ["x1y", "xy", "x12z"]),
    "comments and line ends": (
        '# a grammar\r\nroot ::= ( # the parts\r\n  "a" # first\r\n  mid\r\n) |\r\n  "z"\r\n\r\n# a rule\r\nmid ::= "b" | # or\r\n   "c"\r\n',
        ["ab", "ac", "z"],
        ["a", "abz", "za"],
    ),
    "ambiguous": (
        'root ::= (word | letters)+ "."\nword ::= "the" | "then" | "there"\nletters ::= [a-z]{1,3}\n',
        ["thenthere.", "therethen.", "abcthex."],
        ["the ", "The.", "there"],
    ),
    "ambiguous nesting": ('root ::= s\ns ::= "(" s ")" s | "(" s ")" | "x" | "xx"\n', ["((x)xx)", "(x)(xx)"], ["(x", "()", "xxx"]),
    "nullable": (
        'root ::= opt opt "!" opt\nopt ::= sign? digits | ""\nsign ::= [+-]\ndigits ::= [0-9]*\n',
        ["!", "+12-3!4", "7!"],
        ["+-+!", "1!2!", "a"],
    ),
    "empty parts repeated": (
        'root ::= gap "x" gap\ngap ::= (blank eol?)*\nblank ::= " " [\\t]?\neol ::= "\\r\\n" | "\\n"\n',
        ["x", " \t\r\n x \n", " x"],
        ["xx", "\nx", " \r x"],
    ),
    "palindromes": ('root ::= "a" root "a" | "b" root "b" | "c"\n', ["abcba", "aabcbaa"], ["abca", "abb", "cc"]),
    "unclear ends": ('root ::= "a" root "b" | "a" root "c" | "x"\n', ["aaaxbcb", "axc"], ["aaxb", "axbb", "b"]),
    "right recursion": ('root ::= line\nline ::= [^\\n]* "\\n" line | "end"\n', ["one\ntwo\nend", "end"], []),
    "never ends": ('root ::= "tick " root | "tock\\n" root\n', ["tick tock\ntick "], ["tick tack", "tock "]),
    "partly never ends": ('root ::= "go " loop | "stop"\nloop ::= [a-z] loop\n', ["stop", "go abc"], ["go 1", "stops"]),
    "escapes": (r'root ::= "\t\"\\" [\]\[\-\\^]+ "\x41\u00e9\U0001F600"' + "\n", ['\t"\\[]-^\\Aé😀'], ['\t"\\a', '\t"\\-B', "\t'"]),
    "hyphens in classes": ("root ::= [a-] [-b] [c-e-g]+\n", ["a-cdeg-", "-bg"], ["bc", "aa", "a-f"]),
    "dates": (
        'root ::= date ("T" time)?\ndate ::= [0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ([0-2] [0-9] | "3" [01])\ntime ::= ([01] [0-9] | "2" [0-3]) (":" [0-5] [0-9]){1,2}\n',
        ["2026-11-30", "1999-01-31T23:59:59"],
        ["2026-13", "2026-1-1", "2026-11-32", "2026-11-30T24", "2026-11-30 12"],
    ),
    "a special token": ('root ::= <|im_start|> "user\\n" [^<]* "</s>" | "none"\n', ["none"], ["nobody"]),
    "tokens excluded": ('root ::= "say: " !<|im_start|> [a-z]*\n', [], ["say; x"]),
    "tokens excluded behind text": ('root ::= "ta" "," " "? !<[42]> [a-z]*\n', [], ["ta,x"]),
    "token ids": ("root ::= <[30]> <[31]>+ [a-c]?\n", [], ["zzz"]),
    "words": (
        "root ::= " + " | ".join(f'"{word}"' for word in ["yes", "yesterday", "no", "north", "not", "é", "è", "ètage"]) + "\n",
        ["yesterday", "north", "ètage"],
        ["yesx", "na", "ê"],
    ),
    "many optional parts": (
        'root ::= a? b? c? d? e? f? "."\n' + "".join(f'{letter} ::= "{letter}" [0-9]?\n' for letter in "abcdef"),
        ["a1c2f.", "bdf3.", "."],
        ["ba", "aa", "f1e"],
    ),
    "indented blocks": (
        'root ::= block+\nblock ::= "if " name ":\\n" ("  " name "()\\n")+\nname ::= [a-z_]+\n',
        ["if ready:\n  go()\n  stop()\nif done:\n  rest()\n"],
        ["if Ready:", "if a:\n go", "if a:\nif b"],
    ),
}
