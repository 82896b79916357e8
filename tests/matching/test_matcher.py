"""Constraint and Matcher: the sequence, its history, batches, threads, and what is said about tokens."""

import pickle
import threading

import numpy as np
import pytest

import scansion
from scansion import _kernel
from scansion._kernel import JSON_STRING, LEX, OBJECT, TEXT, TOKEN, Language
from scansion.errors import VocabularyError
from scansion.program import ProgramBuilder

END, START = 256, 257
MERGES = [b"name", b'{"', b'":', b' "', b"true", b"tru", b"ab", b'"}', b"n", b"\xc3\xa9", b"a"]


class LongestFirst:
    """A tokenizer that takes the longest token at each place, as greedy tokenizers do."""

    def encode(self, text):
        data, ids, position = text.encode(), [], 0
        while position < len(data):
            length = max(len(merge) for merge in [b"x", *MERGES] if merge == b"x" or data.startswith(merge, position))
            piece = data[position : position + length]
            ids.append(258 + MERGES.index(piece) if piece in MERGES else piece[0])
            position += length
        return ids


@pytest.fixture(scope="module")
def vocabulary():
    tokens = [bytes([byte]) for byte in range(256)] + [None, None] + MERGES
    return scansion.Vocabulary(tokens, [END], {"<end>": END, "<start>": START}, tokenizer=LongestFirst())


def constraint_of(language, vocabulary, encoding=TEXT, label="root"):
    builder = ProgramBuilder()
    rule = builder.new_rule()
    builder.set_rule(rule, builder.node(LEX, builder.lexeme(language, encoding), builder.ret, builder.label(label)))
    return scansion.Constraint(builder.finish(rule), vocabulary)


def record_constraint(vocabulary):
    """``{"name": STRING, "ok": true}`` with the white space of `json.dumps`."""
    builder = ProgramBuilder(whitespace="spaced")
    text, true, root = builder.new_rule(), builder.new_rule(), builder.new_rule()
    string = Language.anything().intersection([Language.anything(), Language.char_class([(97, 122)]).repeat(1)])
    builder.set_rule(text, builder.node(LEX, builder.lexeme(string, JSON_STRING), builder.ret, builder.label("/properties/name")))
    builder.set_rule(true, builder.node(LEX, builder.lexeme(Language.literal("true"), TEXT), builder.ret, builder.label("/properties/ok")))
    spec = builder.object(0, [("name", text, True), ("ok", true, True)], label=builder.label(""))
    builder.set_rule(root, builder.node(OBJECT, spec, builder.ret, builder.label("")))
    return scansion.Constraint(builder.finish(root), vocabulary)


def allowed(matcher):
    mask = scansion.allocate_bitmask(1, matcher.constraint.vocabulary.size)
    matcher.fill_bitmask(mask, 0)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


def accept_text(matcher, text):
    for byte in text:
        assert matcher.accept(byte)


def test_hot_methods_are_the_kernels_own():
    for name in ("fill_bitmask", "allows", "accept", "accept_bytes", "rollback", "reset", "forced_bytes"):
        assert getattr(scansion.Matcher, name) is getattr(_kernel.Matcher, name)


def test_the_mask_says_what_allows_and_accept_say(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    for token in b'{"name": "ab", "ok": true}':
        mask = allowed(matcher)
        for token_id in range(vocabulary.size):
            assert matcher.allows(token_id) == (token_id in mask)
            if token_id in mask:
                ahead = matcher.fork()
                assert ahead.accept(token_id)
        assert matcher.accept(token)
    assert matcher.is_complete
    assert allowed(matcher) == [END]
    assert matcher.accept(END)
    assert matcher.is_finished
    assert allowed(matcher) == [END]  # never an empty mask: a batch may go on past the end of one of its sequences
    assert matcher.accept(END)
    assert not matcher.accept(ord("a"))


def test_a_refused_token_changes_nothing(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    accept_text(matcher, b'{"na')
    before = (matcher.state_id, matcher.token_count, allowed(matcher))
    for token_id in (ord("x"), END, START):
        assert matcher.accept(token_id) is False
    assert matcher.accept_bytes(b'me": "A') is False
    assert (matcher.state_id, matcher.token_count, allowed(matcher)) == before


def test_forks_go_their_own_ways(vocabulary):
    matcher = constraint_of(Language.literals(["abc", "abd", "b"]), vocabulary).matcher()
    assert matcher.accept(ord("a"))
    other = matcher.fork()
    assert type(other) is scansion.Matcher
    assert other.constraint is matcher.constraint
    accept_text(other, b"bc")
    assert other.is_complete
    assert not matcher.is_complete
    assert matcher.token_count == 1
    other.rollback(3)
    assert other.allows(ord("b"))
    assert allowed(other.fork()) == allowed(other)


def test_rollback_and_reset_return_to_earlier_states(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    states = [matcher.state_id]
    for token in b'{"name": "ab':
        assert matcher.accept(token)
        states.append(matcher.state_id)
    while matcher.token_count:
        assert matcher.state_id == states[matcher.token_count]
        matcher.rollback(1)
    assert matcher.state_id == states[0]
    accept_text(matcher, b'{"n')
    matcher.reset()
    assert (matcher.state_id, matcher.token_count) == (states[0], 0)
    with pytest.raises(ValueError, match="1"):
        matcher.rollback(1)


def test_a_batch_is_filled_row_by_row(vocabulary):
    constraint = record_constraint(vocabulary)
    matchers = [constraint.matcher() for _ in range(5)]
    for count, matcher in enumerate(matchers):
        accept_text(matcher, b'{"name'[:count])
    mask = scansion.allocate_bitmask(6, vocabulary.size)
    mask[:] = 7
    batch = [*matchers[:2], None, *matchers[3:]]
    scansion.fill_bitmasks(batch, mask)
    for row, matcher in enumerate(batch):
        if matcher is None:
            assert (mask[row] == 7).all()
        else:
            alone = scansion.allocate_bitmask(1, vocabulary.size)
            matcher.fill_bitmask(alone)
            assert (mask[row] == alone[0]).all()
    assert (mask[5] == 7).all()


def test_masks_of_the_wrong_shape_or_type_are_refused(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    for wrong in (np.zeros((1, 3), np.int32), np.zeros((1, 9), np.int64), scansion.allocate_bitmask(1, vocabulary.size)[:, ::-1]):
        with pytest.raises((ValueError, TypeError)):
            matcher.fill_bitmask(wrong, 0)
    with pytest.raises((ValueError, IndexError)):
        matcher.fill_bitmask(scansion.allocate_bitmask(1, vocabulary.size), 1)
    with pytest.raises(ValueError):
        scansion.fill_bitmasks([matcher, matcher.fork()], scansion.allocate_bitmask(1, vocabulary.size))
    with pytest.raises(TypeError, match=r"matchers\[1\] is int"):
        scansion.fill_bitmasks([None, 3, matcher], scansion.allocate_bitmask(3, vocabulary.size))


def test_ids_outside_the_vocabulary_are_not_allowed(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    for token_id in (vocabulary.size, 1 << 30):
        assert not matcher.allows(token_id)
        assert not matcher.accept(token_id)
        with pytest.raises(VocabularyError, match="there is no token"):
            matcher.explain(token_id)


def test_constraints_pickle_and_behave_the_same(vocabulary):
    constraint = record_constraint(vocabulary)
    copy = pickle.loads(pickle.dumps(constraint))
    assert copy.vocabulary == vocabulary
    matchers = constraint.matcher(), copy.matcher()
    for token in b'{"name": "a':
        assert allowed(matchers[0]) == allowed(matchers[1])
        assert all(matcher.accept(token) for matcher in matchers)


def test_threads_share_a_constraint(vocabulary):
    constraint = record_constraint(vocabulary)
    text = b'{"name": "abcab", "ok": true}'
    expected = []
    alone = record_constraint(vocabulary).matcher()
    for token in text:
        expected.append(allowed(alone))
        alone.accept(token)
    wrong = []

    def run():
        for _ in range(5):
            matcher = constraint.matcher()
            for token, mask in zip(text, expected, strict=True):
                if allowed(matcher) != mask or not matcher.accept(token):
                    wrong.append(token)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- explain ------------------------------------------------------------------------------------------------------------


def test_an_allowed_token_needs_no_explanation(vocabulary):
    assert record_constraint(vocabulary).matcher().explain(ord("{")) is None


def test_explain_names_the_place_in_the_token_and_in_the_schema(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    accept_text(matcher, b'{"name": ')
    explanation = matcher.explain(258 + MERGES.index(b"name"))
    assert (explanation.offset, explanation.expected.next_bytes) == (0, b'"')
    assert "/properties/name" in explanation.expected.where
    assert str(explanation) == "'name': 'n' at byte 0 of the token does not fit; expected '\"' (/properties/name)"
    accept_text(matcher, b'"ab')
    explanation = matcher.explain(258 + MERGES.index(b'"}'))
    assert explanation.offset == 1
    assert explanation.expected.next_bytes == b","
    assert "'}' at byte 1 of the token does not fit" in explanation.reason


def test_explain_says_why_a_text_cannot_end_or_has_ended(vocabulary):
    matcher = constraint_of(Language.literal("ab"), vocabulary).matcher()
    assert str(matcher.explain(END)) == "<end>: the text cannot end here; expected 'a' (root)"
    accept_text(matcher, b"ab")
    assert matcher.explain(END) is None
    assert "expected the end of the text" in str(matcher.explain(ord("a")))
    matcher.accept(END)
    assert str(matcher.explain(ord("a"))) == "'a': the text has ended"


def test_explain_says_that_special_tokens_are_never_text(vocabulary):
    matcher = constraint_of(Language.anything(), vocabulary).matcher()
    assert str(matcher.explain(START)).startswith("<start> is never text, and no token terminal names it here")


def test_expectation_says_whether_the_text_may_end(vocabulary):
    matcher = constraint_of(Language.char_class([(48, 57)]).repeat(1), vocabulary, label="digits").matcher()
    assert str(matcher.expectation()) == "'0' to '9' (digits)"
    accept_text(matcher, b"1")
    assert matcher.expectation().may_end
    assert str(matcher.expectation()).startswith("'0' to '9', the end of the text")


def test_explaining_does_not_move_the_matcher(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    before = (matcher.state_id, matcher.token_count)
    for token_id in range(vocabulary.size):
        matcher.explain(token_id)
    assert (matcher.state_id, matcher.token_count) == before


# --- forced tokens --------------------------------------------------------------------------------------------------------


def spelled(vocabulary, ids):
    return [vocabulary.token_bytes(token_id) for token_id in ids]


def test_forced_tokens_stop_before_what_could_merge_with_free_text(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    assert matcher.forced_bytes() == b'{"name": "'
    assert spelled(vocabulary, matcher.forced_tokens()) == [b'{"', b"name", b'":']
    assert matcher.token_count == 0


def test_forced_tokens_to_the_end_of_a_text_are_all_certain(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    accept_text(matcher, b'{"name": "a", "ok": t')
    assert spelled(vocabulary, matcher.forced_tokens()) == [b"r", b"u", b"e", b"}"]


def test_forced_tokens_are_split_together_with_what_was_emitted(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    emitted = [258 + MERGES.index(b'{"')]
    assert matcher.accept(emitted[0])
    assert spelled(vocabulary, matcher.forced_tokens(emitted=emitted)) == [b"name", b'":']
    # After a split of the model's own, what is left is split by itself.
    assert matcher.accept(ord("n"))
    assert spelled(vocabulary, matcher.forced_tokens(emitted=[*emitted, ord("n")])) == [b"a", b"m", b"e", b'":']


def test_forced_bytes_are_cut_at_a_whole_character(vocabulary):
    matcher = constraint_of(Language.literals(["xé", "xè"]), vocabulary).matcher()
    assert matcher.forced_bytes() == b"x\xc3"
    assert matcher.forced_tokens() == []  # what follows could merge with the x
    matcher = constraint_of(Language.literals(["nabé", "nabè"]), vocabulary).matcher()
    assert spelled(vocabulary, matcher.forced_tokens()) == [b"n"]


def test_a_forced_token_terminal_is_a_forced_token(vocabulary):
    builder = ProgramBuilder()
    rule = builder.new_rule()
    builder.set_rule(rule, builder.node(TOKEN, builder.token_set([(START, START)]), builder.lex(Language.literal("ab"), TEXT)))
    matcher = scansion.Constraint(builder.finish(rule), vocabulary).matcher()
    assert matcher.forced_tokens() == [START]
    assert matcher.accept(START)
    assert spelled(vocabulary, matcher.forced_tokens()) == [b"ab"]


def test_nothing_free_is_forced(vocabulary):
    assert constraint_of(Language.anything(), vocabulary).matcher().forced_tokens() == []


def test_forced_tokens_need_a_tokenizer():
    bare = scansion.Vocabulary([b"a", b"b", None], [2])
    matcher = constraint_of(Language.literal("ab"), bare).matcher()
    with pytest.raises(VocabularyError, match="came without a tokenizer"):
        matcher.forced_tokens()
    assert matcher.forced_tokens(lambda text: [{"a": 0, "b": 1}[character] for character in text]) == [0, 1]


def test_follow_takes_what_accept_takes_and_knows_the_only_token(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    tokens = [*vocabulary.tokenize_greedy(b'{"name'), *b'": "a']  # after the quote the colon alone may come
    plain, asked, steps = matcher.fork(), matcher.fork(), matcher.fork()
    alone = []
    for token in tokens:
        alone.append(allowed(steps) == [token])
        assert steps.accept(token)
    assert asked.follow(tokens, True) == alone and True in alone and False in alone
    assert plain.follow(tokens) == [False] * len(tokens)
    assert plain.state_id == asked.state_id == steps.state_id and asked.token_count == len(tokens)
    refused = [ord("b"), ord("}"), ord("b")]
    assert asked.follow(refused) == [False] and asked.token_count == len(tokens) + 1  # up to the first that is not allowed
    asked.rollback(1)
    assert asked.state_id == plain.state_id


def test_an_outlook_is_what_its_three_parts_say(vocabulary):
    matcher = record_constraint(vocabulary).matcher()
    text, free = b'{"name": "ab", "ok": true}', 0
    for place in range(len(text) + 1):
        for limit in (3, 4096):
            forced = matcher.forced_bytes(limit)
            assert matcher.outlook(limit) == (forced, b"" if forced else matcher.next_bytes(), matcher.is_complete)
        free += not forced
        assert place == len(text) or matcher.accept_bytes(text[place : place + 1])
    assert matcher.is_complete and 0 < free < len(text)
    matcher.accept(END)
    assert matcher.outlook() == (b"", b"", True) and matcher.only_token() == END
