"""The public ``Grammar``: what a model may write, before a vocabulary is known."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from scansion.errors import GrammarError, UnsupportedError
from scansion.program import ProgramData

if TYPE_CHECKING:
    from scansion.grammar.nodes import JsonValue, Rules
    from scansion.json_schema import SchemaOptions
    from scansion.languages.structural_tags import StructuralTag
    from scansion.matching import Constraint
    from scansion.program import ProgramBuilder
    from scansion.vocabulary import Vocabulary

__all__ = ["Grammar"]

_LLAMA_CPP = "gbnf, as llama.cpp reads it"  # a kind of its own: such a program matches symbols, not characters
CACHED_GRAMMARS = 256  # grammars kept by their text and options
CACHED_TEXT = 65_536  # longest text kept, in characters


class Grammar:
    """A set of texts, checked and not empty. Immutable; compares and hashes by content; pickles.

    Made by the class methods; ``compile`` joins it to a vocabulary.

    Attributes:
        kind: ``json_schema``, ``gbnf`` (or ``gbnf, as llama.cpp reads it``), ``lark``, ``regex``, ``choices`` or ``structural_tags``.
        program: the flat program the kernel runs.
        report: what was dropped on request, as (keyword, JSON pointer) pairs; empty unless ``lenient`` was used.
    """

    __slots__ = ("_compiled", "kind", "program", "report")

    kind: str
    program: ProgramData
    report: tuple[tuple[str, str], ...]
    _compiled: tuple[Vocabulary, Constraint] | None

    def __init__(self, kind: str, program: ProgramData, report: Sequence[tuple[str, str]] = ()) -> None:
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "program", program)
        object.__setattr__(self, "report", tuple(report))
        object.__setattr__(self, "_compiled", None)

    # Sources

    @classmethod
    def from_json_schema(
        cls,
        schema: Any,
        *,
        whitespace: str = "bounded",
        property_order: str = "declared",
        spelling: str = "canonical",
        formats: str = "enforce",
        integers: str = "plain",
        resources: Mapping[str, Any] | None = None,
        lenient: Collection[str] = (),
    ) -> Grammar:
        """JSON texts of the instances of a schema (drafts 4, 6, 7, 2019-09 and 2020-12; see ``docs/json-schema.md``).

        Args:
            schema: JSON text, a parsed schema (dict or bool), or a Python type: Pydantic model, dataclass, TypedDict, annotation, or a
                function (its parameters). Python types need ``pydantic``.
            whitespace: ``bounded``: at most one space after ``:`` and ``,``, or a newline and an indent, so that white space cannot
                eat a token budget | ``flexible``: all that RFC 8259 allows | ``spaced``: as ``json.dumps`` writes | ``compact``: none.
            property_order: ``declared``: keys in the order the schema names them | ``any``.
            spelling: ``canonical``: declared keys, ``const`` and ``enum`` values as ``json.dumps(..., ensure_ascii=False)`` writes them
                | ``any``: every legal escape, and numbers by value.
            formats: ``enforce`` the formats of the specification | ``annotate``: do not | ``strict``: refuse the unknown ones.
            integers: ``plain``: no fraction, no exponent | ``any``: ``1.0`` and ``1e2`` too.
            resources: documents for references that leave the schema, by URL. Nothing is ever fetched.
            lenient: names of keywords to read as annotations; ``report`` says where each was.

        Raises:
            GrammarError: not a schema (with the JSON pointer), not JSON (with line and column), or an unknown option.
            UnsupportedError: a keyword that cannot be enforced exactly.
            UnsatisfiableError: no instance exists.
            LimitError: a documented bound was met.
        """
        compile_schema, schema_options = _schema_front_end()
        options = schema_options(
            whitespace=whitespace,
            property_order=property_order,
            spelling=spelling,
            formats=formats,
            integers=integers,
            resources=resources,
            lenient=lenient,
        )

        if resources or type(schema) is not str:
            return cls("json_schema", *compile_schema(schema, options))
        return _cached(schema, ("json_schema", options.key), lambda: cls("json_schema", *compile_schema(schema, options)))

    @classmethod
    def json(cls, *, whitespace: str = "bounded") -> Grammar:
        """Any JSON value."""
        return cls.from_json_schema(True, whitespace=whitespace)

    @classmethod
    def from_gbnf(cls, text: str, *, root: str = "root", compat: str = "grammar") -> Grammar:
        """A grammar in GBNF (see ``docs/gbnf.md``).

        Args:
            root: name of the start rule.
            compat: ``grammar``: what the grammar says | ``llama.cpp``: also the quirks of llama.cpp that change masks.
        """

        def build() -> Grammar:
            from scansion.languages.gbnf import parse_gbnf

            kind = "gbnf" if compat == "grammar" else _LLAMA_CPP
            return cls(kind, _lower(parse_gbnf(text, root=root, compat=compat)))

        return _cached(text, ("gbnf", root, compat), build)

    @classmethod
    def from_lark(cls, text: str, *, grammars: Mapping[str, str] | None = None) -> Grammar:
        """A grammar in Lark syntax (see ``docs/lark.md``).

        Args:
            grammars: Lark texts that ``@name`` in the grammar, or in each other, refers to.
        """

        def build() -> Grammar:
            from scansion.languages.lark import parse_lark

            return cls("lark", _lower(parse_lark(text, grammars=grammars)))

        return build() if grammars else _cached(text, ("lark",), build)

    @classmethod
    def from_regex(cls, pattern: str) -> Grammar:
        """Texts that a regular expression (Python's or Rust's spelling) matches as a whole (see ``docs/regex.md``)."""

        def build() -> Grammar:
            from scansion.grammar.nodes import Rules, Text
            from scansion.languages.regex import parse_python

            return cls("regex", _lower(Rules("regex", {"regex": Text(parse_python(pattern))})))

        return _cached(pattern, ("regex",), build)

    @classmethod
    def from_choices(cls, choices: Sequence[str]) -> Grammar:
        """Exactly one of some texts."""
        from scansion.languages.choices import choices as choice_rules

        return cls("choices", _lower(choice_rules(choices)))

    @classmethod
    def from_structural_tags(
        cls,
        tags: Sequence[StructuralTag],
        *,
        triggers: Sequence[str] | None = None,
        at_least_one: bool = False,
        stop_after_first: bool = False,
    ) -> Grammar:
        """Free text with regions that keep to grammars of their own (``scansion.languages.structural_tags``).

        Args:
            tags: the regions a model may open.
            triggers: texts that must open a region once written; None: the whole ``begin`` of each tag.
            at_least_one: the text has at least one region. stop_after_first: it ends with its first region.
        """
        from scansion.languages.structural_tags import structural_tags

        rules = structural_tags(tags, triggers=triggers, at_least_one=at_least_one, stop_after_first=stop_after_first)
        return cls("structural_tags", _lower(rules))

    # Use

    def compile(self, vocabulary: Vocabulary) -> Constraint:
        """The constraint over a vocabulary: immutable, shared between threads. The last one is kept, so asking again costs nothing.

        Raises:
            TypeError: ``vocabulary`` is something else.
        """
        compiled = self._compiled
        if compiled is not None and compiled[0] is vocabulary:
            return compiled[1]
        from scansion.matching import Constraint
        from scansion.vocabulary import Vocabulary

        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(f"a grammar is compiled for a scansion.Vocabulary, not {type(vocabulary).__name__}")
        if self.kind == _LLAMA_CPP:
            from scansion.languages.llama_cpp_view import llama_cpp_constraint

            constraint: Constraint = llama_cpp_constraint(self.program, vocabulary)
        else:
            program = self.program
            if program.token_sets:
                from scansion.grammar.token_sets import bind_tokens

                program = bind_tokens(program, vocabulary)
            constraint = Constraint(program, vocabulary)
        object.__setattr__(self, "_compiled", (vocabulary, constraint))
        return constraint

    def to_gbnf(self, *, repeated_keys: bool = False) -> str:
        """The grammar in GBNF: exact, or an ``UnsupportedError`` that names what GBNF cannot say.

        Args:
            repeated_keys: let object keys that are not declared repeat, which no context-free grammar can forbid.
        """
        from scansion.languages.to_gbnf import to_gbnf

        return to_gbnf(self._characters(), repeated_keys=repeated_keys)

    def to_lark(self, *, repeated_keys: bool = False) -> str:
        """The grammar in Lark: exact, or an ``UnsupportedError`` that names what Lark cannot say.

        Args:
            repeated_keys: let object keys that are not declared repeat, which no context-free grammar can forbid.
        """
        from scansion.languages.to_lark import to_lark

        return to_lark(self._characters(), repeated_keys=repeated_keys)

    def _characters(self) -> ProgramData:
        """The program, for converters."""
        if self.kind == _LLAMA_CPP:
            raise UnsupportedError(
                "a grammar read with compat='llama.cpp' matches bytes in ways no grammar text can say",
                construct="compat",
                hint="read it with the default, then convert it",
            )
        return self.program

    # Value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Grammar cannot be changed ({name!r})")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grammar):
            return NotImplemented
        return self is other or (self.kind == other.kind and self.program == other.program)

    def __hash__(self) -> int:
        return hash((self.kind, self.program))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Grammar, (self.kind, self.program, self.report))

    def __repr__(self) -> str:
        return f"<scansion.Grammar from {self.kind}, {len(self.program.rules)} rules>"


@cache
def _schema_front_end() -> tuple[Callable[[Any, SchemaOptions], tuple[ProgramData, list[tuple[str, str]]]], type[SchemaOptions]]:
    """The JSON Schema front end: 50 modules, imported when first needed, looked up once."""
    from scansion.json_schema import SchemaOptions, compile_schema

    return compile_schema, SchemaOptions


def _lower(rules: Rules) -> ProgramData:
    from scansion.grammar.lower import lower

    return lower(rules, json_value=_write_json_value)


def _write_json_value(builder: ProgramBuilder, value: JsonValue) -> int:
    """A JSON value inside another grammar (Lark's ``%json``); its white space is the builder's."""
    from scansion.json_schema import SchemaOptions, write_schema

    options: dict[str, Any] = dict(value.options)
    return write_schema(value.schema, SchemaOptions(**options), builder)


_cache: OrderedDict[tuple[Any, ...], Grammar] = OrderedDict()
_cache_lock = Lock()


def _cached(text: Any, key: tuple[Any, ...], build: Callable[[], Grammar]) -> Grammar:
    """The grammar of a text, from the cache where the same text was read with the same options. Errors are not kept."""
    if type(text) is not str:
        raise GrammarError(f"the grammar must be a string, not {type(text).__name__}", construct=key[0])
    if len(text) > CACHED_TEXT:
        return build()
    full = (text, key)
    grammar = _cache.get(full)
    if grammar is None:
        grammar = build()
        with _cache_lock:
            _cache[full] = grammar
            while len(_cache) > CACHED_GRAMMARS:
                _cache.popitem(last=False)
    else:
        with _cache_lock:
            if full in _cache:
                _cache.move_to_end(full)
    return grammar
