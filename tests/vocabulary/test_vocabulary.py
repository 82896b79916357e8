"""The public Vocabulary over a plain token list: checks, names, value semantics."""

import pickle

import pytest

import scansion
from scansion.errors import LimitError, VocabularyError
from scansion.json_schema.familiar_strings import familiar_strings

TOKENS = [None, None, b"a", b"b", b"ab", b" a", None, b"\xc3", b"\xa9", "é".encode()]


def make(**changes):
    arguments = {"tokens": TOKENS, "eos_token_ids": [0], "special_tokens": {"<|im_start|>": 1}} | changes
    return scansion.Vocabulary(**arguments)


def test_keeps_bytes_and_names_of_each_id():
    vocabulary = make()
    assert vocabulary.size == len(vocabulary) == len(TOKENS)
    assert vocabulary.tokens == TOKENS
    assert list(vocabulary.eos_token_ids) == [0]
    assert dict(vocabulary.special_tokens) == {"<|im_start|>": 1}
    assert vocabulary.token_bytes(4) == b"ab"
    assert vocabulary.token_bytes(1) is None


def test_end_and_special_tokens_are_never_text_even_where_bytes_are_given():
    vocabulary = scansion.Vocabulary([b"</s>", b"<|im_start|>", b"a"], eos_token_ids=[0], special_tokens={"<|im_start|>": 1})
    assert vocabulary.tokens == [None, None, b"a"]


def test_an_empty_token_is_never_text():
    assert make(tokens=[None, None, b"a", b""]).token_bytes(3) is None


def test_end_tokens_are_sorted_and_counted_once():
    assert list(make(eos_token_ids=[6, 0, 6]).eos_token_ids) == [0, 6]


def test_end_tokens_may_be_numpy_integers():
    numpy = pytest.importorskip("numpy")
    assert list(make(eos_token_ids=numpy.array([0, 6])).eos_token_ids) == [0, 6]


def test_token_id_finds_special_names_then_exact_spellings():
    vocabulary = make()
    assert vocabulary.token_id("<|im_start|>") == 1
    assert vocabulary.token_id("ab") == 4
    assert vocabulary.token_id("é") == 9
    with pytest.raises(VocabularyError, match="no token named or spelled 'abc'"):
        vocabulary.token_id("abc")


def test_token_names_are_for_people():
    vocabulary = make()
    assert vocabulary.token_name(1) == "<|im_start|>"
    assert vocabulary.token_name(5) == "' a'"
    assert vocabulary.token_name(7) == r"'\xc3'"
    assert vocabulary.token_name(6) == "token 6"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": []}, "is empty"),
        ({"tokens": b"abc"}, "must be a list"),
        ({"tokens": {"a": 1}}, "must be a list"),
        ({"tokens": [b"a", "b"]}, "token 1 is str, not bytes or None: encode it"),
        ({"tokens": [b"a", 3]}, "token 1 is int"),
        ({"tokens": [None, None, b""]}, "no token of the vocabulary has text"),
        ({"tokens": [b"a", b"b"], "eos_token_ids": [0], "special_tokens": {"x": 1}}, "none has text"),
        ({"eos_token_ids": []}, "no end token, so no text could ever end"),
        ({"eos_token_ids": 0}, "must be a list of ids, not int"),
        ({"eos_token_ids": [10]}, "id 10 is outside the vocabulary of 10 ids"),
        ({"eos_token_ids": [-1]}, "id -1 is outside"),
        ({"eos_token_ids": [True]}, "True is no token id"),
        ({"eos_token_ids": ["0"]}, "'0' is no token id"),
        ({"special_tokens": [("a", 1)]}, "must map names to ids"),
        ({"special_tokens": {"a": 99}}, r"special_tokens\['a'\]: id 99 is outside"),
        ({"special_tokens": {"": 1}}, "names are strings, not empty"),
        ({"special_tokens": {"a": 1, "b": 1}}, "gives id 1 two names, 'a' and 'b'"),
    ],
)
def test_bad_lists_are_refused_by_name(changes, message):
    with pytest.raises(VocabularyError, match=message):
        make(**changes)


def test_sizes_are_bounded():
    with pytest.raises(LimitError, match="at most 1,000,000") as caught:
        make(tokens=[b"a"] * 1_000_001)
    assert (caught.value.limit, caught.value.allowed) == ("vocabulary_ids", 1_000_000)
    with pytest.raises(LimitError, match="token 2 has 4,097 bytes"):
        make(tokens=[None, None, b"a" * 4097])


def test_equal_by_content():
    vocabulary = make()
    assert vocabulary == make()
    assert hash(vocabulary) == hash(make())
    assert vocabulary.fingerprint == make().fingerprint
    for changes in ({"tokens": [*TOKENS, b"x"]}, {"eos_token_ids": [0, 6]}, {"special_tokens": {"<|im_begin|>": 1}}):
        assert vocabulary != make(**changes)
    assert vocabulary != TOKENS


def test_fingerprints_tell_apart_tokens_with_the_same_bytes_in_a_row():
    assert make(tokens=[None, None, b"ab", b"c"]) != make(tokens=[None, None, b"a", b"bc"])
    assert make(tokens=[None, None, b"a", None]) != make(tokens=[None, None, None, b"a"])


def test_pickles():
    vocabulary = make(name="toy")
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy == vocabulary
    assert copy.name == "toy"
    assert copy.special_tokens == vocabulary.special_tokens
    assert not copy.has_tokenizer


class Characters:
    """Splits into single ASCII letters, upper case made lower: a tokenizer that changes some texts."""

    def encode(self, text):
        return [{"a": 2, "b": 3}[character] for character in text.lower()]


def test_tokenize_uses_the_tokenizer_given():
    vocabulary = make(tokenizer=Characters())
    assert vocabulary.has_tokenizer
    assert vocabulary.tokenize("ab") == vocabulary.tokenize(b"ab") == [2, 3]
    assert vocabulary.tokenize("") == []


def test_tokenize_refuses_what_it_cannot_spell():
    with pytest.raises(VocabularyError, match="came without a tokenizer"):
        make().tokenize("a")
    vocabulary = make(tokenizer=Characters())
    with pytest.raises(VocabularyError, match="changes this text"):
        vocabulary.tokenize("AB")
    with pytest.raises(VocabularyError, match="not UTF-8 at byte 1"):
        vocabulary.tokenize(b"a\xc3")
    with pytest.raises(VocabularyError, match="lone surrogate at character 0"):
        vocabulary.tokenize("\ud800")


def test_repr_names_size_and_end_tokens():
    assert repr(make(special_tokens={"</s>": 0}, name="toy")) == "<scansion.Vocabulary toy: 10 ids, end tokens </s>>"


def test_familiar_strings_are_strings_of_their_languages() -> None:
    familiar = list(familiar_strings())
    assert len(familiar) > 10
    for language, text in familiar:
        assert language.matches(text), text
