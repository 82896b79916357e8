"""Vocabularies from Hugging Face tokenizers trained here, and from tokenizer.json files."""

import json
import pickle

import pytest

import scansion
from scansion.errors import LimitError, VocabularyError

tokenizers = pytest.importorskip("tokenizers")

SENTENCES = ["hello world, the quick brown fox", "naïve café déjà vu", 'a {"name": "value", "n": 12}', "日本語 text   with   spaces\n"] * 20


@pytest.fixture(scope="module")
def byte_level():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.add_tokens([tokenizers.AddedToken("<tool>", special=False), tokenizers.AddedToken("é\u2581", special=False)])
    return tokenizer


@pytest.fixture(scope="module")
def metaspace():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")])
    tokenizer.decoder = tokenizers.decoders.Sequence(
        [
            tokenizers.decoders.Replace("▁", " "),
            tokenizers.decoders.ByteFallback(),
            tokenizers.decoders.Fuse(),
            tokenizers.decoders.Strip(" ", 1, 0),
        ]
    )
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=420, special_tokens=special[:3], show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    config = json.loads(tokenizer.to_str())
    next_id = len(config["model"]["vocab"])
    config["model"]["vocab"].update({piece: next_id + position for position, piece in enumerate(special[3:])})
    return tokenizers.Tokenizer.from_str(json.dumps(config))


def test_byte_level_tokens_spell_what_the_tokenizer_encoded(byte_level):
    vocabulary = scansion.Vocabulary.from_tokenizers(byte_level)
    assert vocabulary.size == byte_level.get_vocab_size()
    for sentence in SENTENCES[:4]:
        ids = byte_level.encode(sentence).ids
        assert b"".join(vocabulary.token_bytes(token_id) for token_id in ids) == b" " + sentence.encode()
    every = {vocabulary.token_bytes(token_id) for token_id in range(vocabulary.size)}
    assert every >= {bytes([byte]) for byte in range(256)}


def test_special_tokens_are_never_text_and_added_ones_are_as_they_stand(byte_level):
    vocabulary = scansion.Vocabulary.from_tokenizers(byte_level)
    assert dict(vocabulary.special_tokens) == {"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2}
    assert list(vocabulary.eos_token_ids) == [0, 2]
    assert [vocabulary.token_bytes(token_id) for token_id in range(3)] == [None, None, None]
    assert vocabulary.token_bytes(vocabulary.token_id("<tool>")) == b"<tool>"
    assert vocabulary.token_bytes(byte_level.token_to_id("é\u2581")) == "é\u2581".encode()


def test_metaspace_tokens_and_byte_fallback(metaspace):
    vocabulary = scansion.Vocabulary.from_tokenizers(metaspace)
    assert list(vocabulary.eos_token_ids) == [2]
    assert set(vocabulary.special_tokens) == {"<unk>", "<s>", "</s>"}
    for byte in range(256):
        assert vocabulary.token_bytes(metaspace.token_to_id(f"<0x{byte:02X}>")) == bytes([byte])
    for sentence in [*SENTENCES[:4], "\U0001f600 ok"]:
        ids = metaspace.encode(sentence).ids
        assert b"".join(vocabulary.token_bytes(token_id) for token_id in ids) == b" " + sentence.encode()


@pytest.mark.parametrize("name", ["byte_level", "metaspace"])
def test_tokenize_splits_as_in_the_middle_of_a_text(name, request):
    tokenizer = request.getfixturevalue(name)
    vocabulary = scansion.Vocabulary.from_tokenizers(tokenizer)
    for sentence in [*SENTENCES[:4], " leading", "<s></s><|endoftext|>"]:
        ids = vocabulary.tokenize(sentence)
        assert b"".join(vocabulary.token_bytes(token_id) for token_id in ids) == sentence.encode()
    assert vocabulary.tokenize(" world") == tokenizer.encode("world", add_special_tokens=False).ids


def test_the_tokenizer_given_is_not_changed(byte_level):
    before = byte_level.to_str()
    scansion.Vocabulary.from_tokenizers(byte_level).tokenize("<|endoftext|> x")
    assert byte_level.to_str() == before
    assert byte_level.encode("<|endoftext|>").ids == [0]


def test_one_object_for_one_content(byte_level, tmp_path):
    vocabulary = scansion.Vocabulary.from_tokenizers(byte_level)
    assert scansion.Vocabulary.from_tokenizers(tokenizers.Tokenizer.from_str(byte_level.to_str())) is vocabulary


def test_files_and_their_neighbours(metaspace, tmp_path):
    config = json.loads(metaspace.to_str())
    for entry in config["added_tokens"]:
        entry["content"] = entry["content"].replace("</s>", "<stop>")
    config["model"]["vocab"]["<stop>"] = config["model"]["vocab"].pop("</s>")
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(config))
    with pytest.raises(VocabularyError, match="names no end token"):
        scansion.Vocabulary.from_tokenizers(path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": "<stop>"}}))
    assert list(scansion.Vocabulary.from_tokenizers(str(path)).eos_token_ids) == [2]
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [1, 2]}))
    assert list(scansion.Vocabulary.from_tokenizers(tmp_path).eos_token_ids) == [1, 2]


def test_pickles_with_its_tokenizer(metaspace):
    vocabulary = scansion.Vocabulary.from_tokenizers(metaspace)
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy == vocabulary
    assert copy.tokenize("hello world") == vocabulary.tokenize("hello world")


def changed(tokenizer, **parts):
    return tokenizers.Tokenizer.from_str(json.dumps(json.loads(tokenizer.to_str()) | parts))


def test_decoders_without_bytes_of_their_own_are_refused_by_name(byte_level, metaspace):
    with pytest.raises(VocabularyError, match="decoder 'WordPiece' gives no bytes"):
        scansion.Vocabulary.from_tokenizers(changed(metaspace, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}))
    with pytest.raises(VocabularyError, match="has no decoder"):
        scansion.Vocabulary.from_tokenizers(changed(metaspace, decoder=None))
    # the pre-tokenizer still says how bytes are written
    assert scansion.Vocabulary.from_tokenizers(changed(byte_level, decoder=None)).token_id(" the") > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "'model' is missing"),
        ('{"model": {"vocab": 3}, "decoder": {"type": "ByteLevel"}}', "model.vocab is missing"),
        ('{"model": {"vocab": {"a": "b"}}, "decoder": {"type": "ByteLevel"}}', "no natural number"),
        ('{"model": {"vocab": {"a": 0, "b": 0}}, "decoder": {"type": "ByteLevel"}}', "one id to two pieces"),
        ('{"model": {"vocab": [1]}, "decoder": {"type": "ByteLevel"}}', "no list of pieces"),
    ],
)
def test_broken_files_are_refused(text, message, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    with pytest.raises(VocabularyError, match=message):
        scansion.Vocabulary.from_tokenizers(path)


def test_missing_files_and_huge_ids(tmp_path):
    with pytest.raises(VocabularyError, match="cannot read the tokenizer"):
        scansion.Vocabulary.from_tokenizers(tmp_path / "none.json")
    with pytest.raises(VocabularyError, match=r"tokenizers\.Tokenizer or the path"):
        scansion.Vocabulary.from_tokenizers(3)
    path = tmp_path / "tokenizer.json"
    path.write_text('{"model": {"vocab": {"a": 4000000000}}, "decoder": {"type": "ByteLevel"}}')
    with pytest.raises(LimitError, match="4,000,000,001 ids"):
        scansion.Vocabulary.from_tokenizers(path)
