"""Text in, grammar out: GBNF, Lark, regular expressions and choices, and back to text."""
