"""JSON mode without a schema, as llama-server has it: the value may stand in a code fence, and the content is the value alone.

The fence is what chat models open most answers with; refusing it would make them begin an answer they did not mean to.
White space is bounded everywhere, so it cannot eat the budget.
"""

from __future__ import annotations

from scansion.server.json_end import JsonEnd
from scansion.server.recipes import Recipe

__all__ = ["ANY_OBJECT_GBNF", "JSON_MODE_GBNF", "ValueText", "is_json_mode"]

JSON_MODE_GBNF = r"""
root   ::= blank blank ("```json" blank object blank "```" | blank object blank)
blank  ::= "" | " " | "\n"{1,2} [ \t]{0,20}
object ::= "{" blank (string ":" blank value ("," blank string ":" blank value)*)? blank "}"
array  ::= "[" blank (value ("," blank value)*)? blank "]"
value  ::= object | array | string | number | "true" | "false" | "null"
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? digits ("." [0-9]{1,16})? ([eE] [-+]? digits)?
digits ::= "0" | [1-9] [0-9]{0,15}
"""
"""The language of llama-server's JSON mode (build b11549), so that both write the same tokens."""

ANY_OBJECT_GBNF = r"""
root   ::= blank object blank
blank  ::= [ \t\n\r]*
object ::= "{" blank (string blank ":" blank value blank ("," blank string blank ":" blank value blank)*)? "}"
array  ::= "[" blank (value blank ("," blank value blank)*)? "]"
value  ::= object | array | string | number | "true" | "false" | "null"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
"""
"""Every text of a JSON object (RFC 8259), what another server's JSON mode is checked against: keys may repeat there too."""


def is_json_mode(recipe: Recipe) -> bool:
    """Whether a recipe is a plain JSON object with nothing else said about it."""
    return recipe.kind == "json_object" and not recipe.options


class ValueText:
    """Takes the text of an answer in JSON mode and gives out the value alone, each character once."""

    def __init__(self) -> None:
        self._end = JsonEnd()
        self.begun = False
        """The first character of the value has come."""
        self.done = False

    def feed(self, text: str) -> str:
        """The part of the value in the next piece of text."""
        if self.done:
            return ""
        start = 0
        if not self.begun:
            start = text.find("{")
            if start < 0:
                return ""
            self.begun = True
        end = self._end.feed(text[start:])
        self.done = end is not None
        return text[start:] if end is None else text[start : start + end]
