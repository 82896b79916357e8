"""Vocabularies from SentencePiece models trained here."""

import io
import pickle

import pytest

import scansion
from scansion.errors import VocabularyError

sentencepiece = pytest.importorskip("sentencepiece")


def train(**options):
    sentences = [f"hello world, the quick brown fox {number} naïve café" for number in range(300)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        vocab_size=310,
        character_coverage=0.99,
        byte_fallback=True,
        normalization_rule_name="identity",
        control_symbols=["<|im_start|>"],
        user_defined_symbols=["<tool>", "<end_of_turn>"],
        minloglevel=2,
        **options,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def processor(request):
    return train(model_type=request.param)


def test_bytes_of_every_id(processor):
    vocabulary = scansion.Vocabulary.from_sentencepiece(processor)
    assert vocabulary.size == len(processor)
    for token_id in range(len(processor)):
        piece = processor.id_to_piece(token_id)
        text = vocabulary.token_bytes(token_id)
        if processor.is_control(token_id) or processor.is_unknown(token_id) or piece == "<end_of_turn>":
            assert text is None
        elif processor.is_byte(token_id):
            assert text == bytes([int(piece[3:5], 16)])
        else:
            assert text == piece.replace("\u2581", " ").encode()


def test_tokens_spell_what_the_processor_encoded(processor):
    vocabulary = scansion.Vocabulary.from_sentencepiece(processor)
    ids = processor.encode("hello the <tool>日本 fox")
    assert b"".join(vocabulary.token_bytes(token_id) for token_id in ids) == " hello the <tool>日本 fox".encode()


def test_end_tokens_are_the_models_own_and_the_ends_of_turn(processor):
    vocabulary = scansion.Vocabulary.from_sentencepiece(processor)
    assert list(vocabulary.eos_token_ids) == sorted([processor.eos_id(), processor.piece_to_id("<end_of_turn>")])
    assert vocabulary.token_id("<|im_start|>") == processor.piece_to_id("<|im_start|>")
    assert vocabulary.token_id("<tool>") == processor.piece_to_id("<tool>")
    assert "<tool>" not in vocabulary.special_tokens


def test_tokenize_puts_no_space_before_the_text(processor):
    vocabulary = scansion.Vocabulary.from_sentencepiece(processor)
    for text in ["hello world", " hello", "  two  spaces  ", "日本\n", "</s><|im_start|>"]:
        ids = vocabulary.tokenize(text)
        assert b"".join(vocabulary.token_bytes(token_id) for token_id in ids) == text.encode()
    assert processor.encode("hello", out_type=str)[0].startswith("\u2581")  # the processor itself is not changed


def test_from_a_path_and_pickled(processor, tmp_path):
    path = tmp_path / "toy.model"
    path.write_bytes(processor.serialized_model_proto())
    vocabulary = scansion.Vocabulary.from_sentencepiece(path)
    assert vocabulary is scansion.Vocabulary.from_sentencepiece(str(path))
    assert vocabulary is scansion.Vocabulary.from_sentencepiece(processor)
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy == vocabulary
    assert copy.tokenize("hello") == vocabulary.tokenize("hello")


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(VocabularyError, match="cannot read the SentencePiece model"):
        scansion.Vocabulary.from_sentencepiece(tmp_path / "none.model")
    with pytest.raises(VocabularyError, match="takes a SentencePieceProcessor or the path"):
        scansion.Vocabulary.from_sentencepiece(3)
    with pytest.raises(VocabularyError, match="no model loaded"):
        scansion.Vocabulary.from_sentencepiece(sentencepiece.SentencePieceProcessor())
    (tmp_path / "bad.model").write_bytes(b"not a model at all")
    with pytest.raises(VocabularyError, match="not a SentencePiece model"):
        scansion.Vocabulary.from_sentencepiece(tmp_path / "bad.model")
