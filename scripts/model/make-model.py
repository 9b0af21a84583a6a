#!/usr/bin/env python3
"""Build the ONNX files of an embedding model from its published weights.

Called by `scripts/setup model`; not meant to be run by hand. It writes, into
the folder given:

    model.onnx        the float model; standard ONNX operators only. Left out for a model
                      whose published weights have few bits: it would be large and no better
    model-int8.onnx   the same network with 8-bit weights and activations
    tokenizer.json, config.json, special_tokens_map.json, tokenizer_config.json
    MANIFEST.json     size and SHA-256 of each file, the recipe, the self-check

Both graphs take input_ids, attention_mask and token_type_ids (int64, [batch,
sequence]) and end at last_hidden_state ([batch, sequence, 384]); the caller
pools (mean over the attention mask) and normalizes (L2).

The int8 model is quantized *statically*: the size of every activation step is
fixed here, from calibration.txt. The usual dynamic quantization looks at the
batch at hand, so that a text's vector depends on what happens to be embedded
with it. Ours does not: the same text gives the same vector, alone or in any
batch. To keep the outliers of single channels from using up the resolution, each
channel is scaled before it is rounded and its weights are scaled back
(SmoothQuant, Xiao et al. 2022, arXiv:2211.10438).
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import minilm
import multilingual_e5
import numpy as np
import onnx
import onnxruntime
import tokenizers
from graph import FloatGraph, Int8Graph, ProbeGraph, save
from onnx import TensorProto, helper

MODELS = {"all-minilm-l6-v2": minilm, "multilingual-e5-small": multilingual_e5}

MIN_INT8_COSINE = 0.98
# None of these is in calibration.txt.
CHECK_TEXTS = (
    "This is an example sentence",
    "Each sentence is converted",
    "When is Maya's birthday?",
    "user: I moved from Oslo to Ghent in March, and my cat hates the new flat.",
    "assistant: Your flight leaves at 07:45 from gate B12; shall I book a taxi?",
    "The deployment failed because the secret was missing in the staging namespace.",
    "sure, sounds good",
    "Wir treffen uns am Freitag um acht vor dem Kino.",
    "¿Dónde está la estación de tren más cercana?",
    "for (i = 0; i < n; i++) { total += price[i]; }",
    "昨日は雨でした",
    "He has two brothers, both of them teachers, and a sister who restores old boats "
    "on the coast near Brest. " * 4,
)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("model", choices=MODELS)
    arguments.add_argument("weights", type=Path, help="folder of the installed weights' package")
    arguments.add_argument("target", type=Path, help="folder to write into; must exist")
    arguments.add_argument("--package", required=True, help="name==version of the weights' package")
    options = arguments.parse_args()
    model = MODELS[options.model]

    steps = Progress(5)
    steps.next("reading the weights")
    network, tokenizer_files = model.read(options.weights)
    write_tokenizer(model, tokenizer_files, options.target)
    embedder = Embedder(model, options.target / "tokenizer.json")

    steps.next("writing the float model")
    float_file = options.target / "model.onnx"
    save(FloatGraph(network), float_file)

    steps.next("calibrating")
    texts = [
        text
        for file in model.CALIBRATION
        for text in read_calibration(Path(__file__).with_name(file))
    ]
    ranges = calibrate(network, embedder, texts)

    steps.next("writing the int8 model")
    int8_file = options.target / "model-int8.onnx"
    save(Int8Graph(network, ranges), int8_file)

    steps.next("checking both")
    checks = self_check(model, embedder, float_file, int8_file)
    if not model.KEEPS_FLOAT:
        float_file.unlink()
    write_manifest(model, network, options.target, options.package, checks)
    steps.done(
        f"int8 against float: cosine {checks['int8_cosine_mean']:.4f} mean, "
        f"{checks['int8_cosine_min']:.4f} at least"
    )


# --- weights, texts, vectors ------------------------------------------------


def write_tokenizer(model, files, target):
    """The four files that fastembed asks for: their contents by name."""
    # Padding is the caller's decision, and the length limit is the model's.
    files["tokenizer.json"]["padding"] = None
    files["tokenizer.json"]["truncation"] = {
        "max_length": model.MAX_TOKENS,
        "strategy": "LongestFirst",
        "stride": 0,
        "direction": "Right",
    }
    for name, content in files.items():
        indent = None if name == "tokenizer.json" else 2
        text = json.dumps(content, ensure_ascii=False, indent=indent)
        (target / name).write_text(text + "\n", encoding="utf-8")


def read_calibration(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines if line and not line.startswith("# ")]


class Embedder:
    """Does in Python what the service does through fastembed."""

    def __init__(self, model, tokenizer_file):
        self.prefixes = model.PREFIXES
        pad_id, pad_token = model.PADDING
        self.tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_file))
        self.tokenizer.enable_padding(pad_id=pad_id, pad_token=pad_token)

    def encode(self, texts, prefix=None):
        """Documents, unless another prefix is given."""
        prefix = self.prefixes[1] if prefix is None else prefix
        encoded = self.tokenizer.encode_batch([prefix + text for text in texts])
        return {
            "input_ids": np.array([e.ids for e in encoded], np.int64),
            "attention_mask": np.array([e.attention_mask for e in encoded], np.int64),
            "token_type_ids": np.array([e.type_ids for e in encoded], np.int64),
        }

    def embed(self, session, texts, prefix=None):
        inputs = self.encode(texts, prefix)
        (hidden,) = session.run(["last_hidden_state"], inputs)
        mask = inputs["attention_mask"][..., None].astype(np.float32)
        pooled = (hidden * mask).sum(axis=1) / mask.sum(axis=1)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def open_session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if isinstance(model, Path):
        model = str(model)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def calibrate(network, embedder, texts):
    """The least and the greatest value of each input channel of each linear layer."""
    graph = ProbeGraph(network)
    model = graph.build()
    for probe in graph.probes.values():
        model.graph.output.append(helper.make_tensor_value_info(probe, TensorProto.FLOAT, None))
    session = open_session(model.SerializeToString())
    names = list(graph.probes)
    ranges = {}
    for prefix in sorted(set(embedder.prefixes)):
        for text in texts:
            inputs = embedder.encode([text], prefix)
            values = session.run([graph.probes[name] for name in names], inputs)
            for name, value in zip(names, values):
                value = value.reshape(-1, value.shape[-1])
                low, high = ranges.get(name, (np.inf, -np.inf))
                ranges[name] = (
                    np.minimum(low, value.min(axis=0)),
                    np.maximum(high, value.max(axis=0)),
                )
    return ranges


# --- is it right? -----------------------------------------------------------


def self_check(model, embedder, float_file, int8_file):
    """Stop the set-up if the models do not compute what they should."""
    float_session, int8_session = open_session(float_file), open_session(int8_file)

    text, expected = model.REFERENCE_TEXT, model.REFERENCE_VECTOR
    reference = embedder.embed(float_session, [text])[0]
    error = float(np.abs(reference[: len(expected)] - expected).max())
    if not error <= model.REFERENCE_TOLERANCE:
        sys.exit(
            f"The float model is wrong: {text!r} gives {reference[:3]}, "
            f"but it should give {expected}."
        )

    exact = np.concatenate([embedder.embed(float_session, [text]) for text in CHECK_TEXTS])
    alone = np.concatenate([embedder.embed(int8_session, [text]) for text in CHECK_TEXTS])
    cosines = (exact * alone).sum(axis=1)
    worst = int(cosines.argmin())
    if not cosines[worst] >= MIN_INT8_COSINE:
        sys.exit(
            f"The int8 model is too far from the float model: cosine {cosines[worst]:.4f} "
            f"for {CHECK_TEXTS[worst]!r}; at least {MIN_INT8_COSINE} is wanted."
        )

    together = embedder.embed(int8_session, CHECK_TEXTS)
    batch_cosine = float((alone * together).sum(axis=1).min())
    if not batch_cosine >= 0.9999:
        sys.exit(f"The int8 model depends on the batch: cosine {batch_cosine:.6f}.")

    return {
        "reference_error": float(f"{error:.3g}"),
        "int8_cosine_mean": round(float(cosines.mean()), 5),
        "int8_cosine_min": round(float(cosines.min()), 5),
        "int8_batch_cosine_min": round(batch_cosine, 6),
    }


def write_manifest(model, network, target, package, checks):
    """One line a file: `scripts/setup` reads them without a JSON parser."""
    files = {}
    for path in sorted(target.iterdir()):
        data = path.read_bytes()
        files[path.name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest = {
        "recipe": model.RECIPE,
        "model": model.MODEL,
        "license": model.LICENSE,
        "source": package,
        "made_with": f"onnx=={onnx.__version__} onnxruntime=={onnxruntime.__version__}",
        "dimensions": network.width,
        "max_tokens": model.MAX_TOKENS,
        "pooling": "mean",
        "output": "last_hidden_state",
        "checks": checks,
    }
    head = json.dumps(manifest, indent=2).removesuffix("\n}")
    lines = ",\n".join(f"    {json.dumps(n)}: {json.dumps(e)}" for n, e in files.items())
    text = f'{head},\n  "files": {{\n{lines}\n  }}\n}}\n'
    json.loads(text)
    (target / "MANIFEST.json").write_text(text, encoding="utf-8")


class Progress:
    """A bar on a terminal, nothing but the result elsewhere."""

    def __init__(self, total):
        self.total = total
        self.step = 0

    def next(self, what):
        self.draw(what)
        self.step += 1

    def draw(self, what):
        if sys.stderr.isatty():
            filled = 20 * self.step // self.total
            bar = "█" * filled + "·" * (20 - filled)
            sys.stderr.write(f"\r\033[K  {bar} {self.step}/{self.total} {what}")
            sys.stderr.flush()

    def done(self, result):
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
        print(f"  {result}", flush=True)


if __name__ == "__main__":
    main()
