"""Stage 1': JSON Schema in, program out.

source          text, parsed value or Python type      -> JSON value
documents       $schema, $id, $ref, scopes             -> sites
*_keywords      one site's keywords                    -> sets, facets
normal_form     algebra, negation, oneOf, unevaluated  -> Shape: alternatives by type
lower*          Shape                                  -> rules and specs in a ProgramBuilder
lower_plainly   one site that needs no Shape           -> the same
feasible        least fixpoint                         -> what is impossible, taken out or refused
explain         text, offset                           -> which keyword of the schema refuses it there
"""

from scansion.json_schema.compiler import compile_schema, write_schema
from scansion.json_schema.documents import UnresolvedError
from scansion.json_schema.options import SchemaOptions
from scansion.json_schema.source import parse_schema
from scansion.json_schema.violation import Violation

__all__ = ["SchemaOptions", "UnresolvedError", "Violation", "compile_schema", "parse_schema", "write_schema"]
