"""Random recursive programs over a few letters: calls, alternatives, repetitions, tokens; nullable and ambiguous as they come."""

from __future__ import annotations

import random

from scansion._kernel import ALT, CALL, FAIL, LEX, REPEAT, RET, TEXT, TOKEN, Language
from scansion.program import ProgramBuilder, ProgramData

LETTERS = "abc"


def random_language(draw: random.Random) -> Language:
    word = "".join(draw.choice(LETTERS) for _ in range(draw.randint(1, 2)))
    kind = draw.randrange(7)
    if kind < 3:
        return Language.literal(word)
    if kind == 3:
        return Language.char_class([(97, 98)]).repeat(draw.randint(0, 2), draw.choice([2, 3, None]))
    if kind == 4:
        return Language.literals([word, word[::-1], draw.choice(LETTERS)])
    if kind == 5:
        return Language.literal(word).repeat(0, 1)
    return Language.intersection([Language.char_class([(97, 99)]).repeat(0, 3), Language.literal(word).complement()])


def random_program(
    draw: random.Random, *, token_sets: tuple[tuple[tuple[int, int], ...], ...] = (), repeat_none: bool = True
) -> ProgramData:
    """A program of two to five rules, often left recursive or without end: see ``is_left_recursive`` and ``is_productive``.

    ``repeat_none``: repetitions of exactly nothing occur too.
    """
    builder = ProgramBuilder()
    rules = [builder.new_rule() for _ in range(draw.randint(2, 5))]

    def sequence(depth: int) -> int:
        node = builder.ret
        for _ in range(draw.choice([0, 1, 1, 2, 2, 3])):
            kind = draw.choice(["lex", "lex", "lex", "call", "call", "repeat", "alt", *(["token"] if token_sets else [])])
            if kind == "lex":
                node = builder.lex(random_language(draw), TEXT, node)
            elif kind == "call":
                node = builder.node(CALL, draw.choice(rules), node)
            elif kind == "repeat":
                low, high = draw.choice([(0, 1), (0, -1), (1, -1), (2, 2), (1, 3), (0, 0) if repeat_none else (0, 2), (3, -1)])
                node = builder.repeat(draw.choice(rules), low, high, node)
            elif kind == "token":
                node = builder.node(TOKEN, builder.token_set(draw.choice(token_sets)), node)
            elif depth:
                body = builder.new_rule()
                builder.set_rule(body, builder.alt([sequence(depth - 1) for _ in range(draw.randint(1, 3))]))
                node = builder.node(CALL, body, node)
        return node

    for rule in rules:
        builder.set_rule(rule, builder.alt([sequence(1) for _ in range(draw.randint(1, 3))]))
    return builder.finish(rules[0])


def is_productive(program: ProgramData) -> bool:
    """Every rule matches some text (repetitions of none at all aside)."""
    good: set[int] = set()

    def ends(node: int) -> bool:
        op, a, b = program.nodes[3 * node : 3 * node + 3]
        if op == RET:
            return True
        if op == FAIL:
            return False
        if op == ALT:
            return any(ends(target) for target in program.targets[a : a + b])
        if op == CALL and a not in good:
            return False
        if op == REPEAT and program.targets[a + 1] > 0 and program.targets[a] not in good:
            return False
        if op == LEX and program.lexemes[a][0].is_nothing:
            return False
        return ends(b)

    for _ in program.rules:
        good |= {rule for rule, entry in enumerate(program.rules) if ends(entry)}
    return len(good) == len(program.rules)


def is_left_recursive(program: ProgramData) -> bool:
    """Some rule enters itself without reading anything, by definition and from scratch."""
    nullable: set[int] = set()

    def first(node: int) -> tuple[bool, set[int]]:
        """Whether the rule's end is reached from here without reading, and the rules entered so."""
        op, a, b = program.nodes[3 * node : 3 * node + 3]
        if op == RET:
            return True, set()
        if op == ALT:
            parts = [first(target) for target in program.targets[a : a + b]]
            return any(end for end, _ in parts), set().union(*(entered for _, entered in parts))
        entered: set[int] = set()
        passes = False
        if op == LEX:
            passes = program.lexemes[a][0].nullable
        elif op == CALL:
            entered, passes = {a}, a in nullable
        elif op == REPEAT:
            rule, low, high = program.targets[a : a + 3]
            entered, passes = ({rule} if high != 0 else set()), low == 0 or rule in nullable
        if not passes:
            return False, entered
        end, more = first(b)
        return end, entered | more

    for _ in program.rules:
        nullable |= {rule for rule, entry in enumerate(program.rules) if first(entry)[0]}
    reach = {rule: first(entry)[1] for rule, entry in enumerate(program.rules)}
    for _ in program.rules:
        reach = {rule: entered.union(*(reach[other] for other in entered)) for rule, entered in reach.items()}
    return any(rule in entered for rule, entered in reach.items())
