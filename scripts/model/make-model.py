#!/usr/bin/env python3
"""Build the ONNX embedding models from the published all-MiniLM-L6-v2 weights.

Called by `scripts/setup model`; not meant to be run by hand. It writes, into
the folder given:

    model.onnx        the float model; standard ONNX operators only
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
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import tokenizers
from onnx import TensorProto, helper, numpy_helper

# Raise this whenever the output changes: `scripts/setup` then builds anew, and
# the service sees another embedding version.
RECIPE = 1

LAYERS = 6
HEADS = 12
WIDTH = 384
MAX_TOKENS = 256
EPSILON = 1e-12
OPSET = 20
# com.microsoft operators are part of every CPU build of ONNX Runtime.
CONTRIB = "com.microsoft"

# How much of the outliers moves from activations into weights (0 none, 1 all),
# and how much room is left above the largest value seen in calibration.
# Chosen by measuring cosine to the float model on conversations and on code,
# punctuation and other scripts.
SMOOTHING = 0.7
HEADROOM = 1.05

REFERENCE_TEXT = "This is an example sentence"
REFERENCE_VECTOR = (0.0676569, 0.0634959, 0.0487131)
REFERENCE_TOLERANCE = 1e-4
MIN_INT8_COSINE = 0.98
# None of these is in calibration.txt.
CHECK_TEXTS = (
    REFERENCE_TEXT,
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
    arguments.add_argument("source", type=Path, help="model folder of the weights' package")
    arguments.add_argument("target", type=Path, help="folder to write into; must exist")
    arguments.add_argument("--package", required=True, help="name==version of the weights' package")
    options = arguments.parse_args()

    steps = Progress(5)
    steps.next("reading the weights")
    weights = read_safetensors(options.source / "model.safetensors")
    write_tokenizer(options.source, options.target)
    embedder = Embedder(options.target / "tokenizer.json")

    steps.next("writing the float model")
    float_file = options.target / "model.onnx"
    save(FloatGraph(weights), float_file)

    steps.next("calibrating")
    texts = read_calibration(Path(__file__).with_name("calibration.txt"))
    ranges = calibrate(weights, embedder, texts)

    steps.next("writing the int8 model")
    int8_file = options.target / "model-int8.onnx"
    save(Int8Graph(weights, ranges), int8_file)

    steps.next("checking both")
    checks = self_check(embedder, float_file, int8_file)
    write_manifest(options.target, options.package, checks)
    steps.done(
        f"int8 against float: cosine {checks['int8_cosine_mean']:.4f} mean, "
        f"{checks['int8_cosine_min']:.4f} at least"
    )


# --- the network ------------------------------------------------------------


class Graph:
    """The BERT encoder, node by node. Subclasses say how to embed and multiply."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.initializers = {}

    def build(self):
        x = self.embeddings()
        mask = self.mask()
        for layer in range(LAYERS):
            x = self.layer(x, mask, f"encoder.layer.{layer}")
        self.nodes[-1].output[0] = "last_hidden_state"
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        output = helper.make_tensor_value_info(
            "last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", WIDTH]
        )
        graph = helper.make_graph(
            self.nodes, "all-MiniLM-L6-v2", inputs, [output], list(self.initializers.values())
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)],
            # What ONNX Runtime has read since opset 20 came; newer helpers write newer ones.
            ir_version=9,
            producer_name="recollect",
        )

    def op(self, kind, *inputs, domain="", outputs=1, **attributes):
        """Append a node; answer its output's name, or their names."""
        name = f"{kind}_{len(self.nodes)}"
        names = [f"{name}.{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, list(inputs), names, name=name, domain=domain, **attributes)
        )
        return names[0] if outputs == 1 else names

    def const(self, name, value):
        """An initializer. Scalars stay 0-d: ONNX Runtime's fusions rely on it."""
        if name not in self.initializers:
            value = np.array(value, order="C")
            self.initializers[name] = numpy_helper.from_array(value, name)
        return name

    def weight(self, name):
        return self.const(name, self.weights[name])

    def norm(self, x, name):
        return self.op(
            "LayerNormalization",
            x,
            self.weight(f"{name}.weight"),
            self.weight(f"{name}.bias"),
            axis=-1,
            epsilon=EPSILON,
        )

    def embeddings(self):
        words = self.words()
        types = self.op(
            "Gather", self.weight("embeddings.token_type_embeddings.weight"), "token_type_ids"
        )
        length = self.op("Shape", "input_ids", start=1, end=2)
        zero = self.const("zero", np.array([0], np.int64))
        positions = self.op(
            "Slice", self.weight("embeddings.position_embeddings.weight"), zero, length, zero
        )
        total = self.op("Add", self.op("Add", words, types), positions)
        return self.norm(total, "embeddings.LayerNorm")

    def layer(self, x, mask, layer):
        context = self.attention(x, mask, layer)
        context = self.linear(context, *self.dense(f"{layer}.attention.output.dense"))
        x = self.norm(self.op("Add", context, x), f"{layer}.attention.output.LayerNorm")
        hidden = self.linear(x, *self.dense(f"{layer}.intermediate.dense"))
        hidden = self.op("Gelu", hidden)
        hidden = self.linear(hidden, *self.dense(f"{layer}.output.dense"))
        return self.norm(self.op("Add", hidden, x), f"{layer}.output.LayerNorm")

    def dense(self, name):
        """Name, weight as [in, out], and bias of a linear layer."""
        return name, self.weights[f"{name}.weight"].T, self.weights[f"{name}.bias"]


class FloatGraph(Graph):
    """Standard operators only, for any runtime; ONNX Runtime fuses them by itself."""

    def words(self):
        return self.op("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids")

    def mask(self):
        """0 for a token, -10000 for padding, to be added to the scores."""
        mask = self.op("Cast", "attention_mask", to=TensorProto.FLOAT)
        mask = self.op("Unsqueeze", mask, self.const("heads_and_queries", np.array([1, 2])))
        padding = self.op("Sub", self.const("one", np.float32(1)), mask)
        return self.op("Mul", padding, self.const("minus_much", np.float32(-10000)))

    def linear(self, x, name, weight, bias):
        product = self.op("MatMul", x, self.const(f"{name}.matrix", weight))
        return self.op("Add", product, self.const(f"{name}.bias", bias))

    def attention(self, x, mask, layer):
        def heads(part, order):
            y = self.linear(x, *self.dense(f"{layer}.attention.self.{part}"))
            shape = np.array([0, 0, HEADS, WIDTH // HEADS], np.int64)
            return self.op(
                "Transpose", self.op("Reshape", y, self.const("split_heads", shape)), perm=order
            )

        scores = self.op("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
        scale = np.float32((WIDTH // HEADS) ** 0.5)
        scores = self.op("Div", scores, self.const("root_of_head_width", scale))
        scores = self.op("Softmax", self.op("Add", scores, mask), axis=-1)
        context = self.op("MatMul", scores, heads("value", [0, 2, 1, 3]))
        context = self.op("Transpose", context, perm=[0, 2, 1, 3])
        shape = np.array([0, 0, WIDTH], np.int64)
        return self.op("Reshape", context, self.const("join_heads", shape))


class FusedGraph(Graph):
    """Query, key and value in one multiplication, attention in one operator."""

    def words(self):
        return self.op("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids")

    def mask(self):
        return self.op("Cast", "attention_mask", to=TensorProto.INT32)

    def linear(self, x, name, weight, bias):
        product = self.op("MatMul", x, self.const(f"{name}.matrix", weight))
        return self.op("Add", product, self.const(f"{name}.bias", bias))

    def attention(self, x, mask, layer):
        parts = [self.dense(f"{layer}.attention.self.{p}") for p in ("query", "key", "value")]
        weight = np.concatenate([weight for _, weight, _ in parts], axis=1)
        bias = np.concatenate([bias for _, _, bias in parts])
        joined = self.linear(x, f"{layer}.attention.self.qkv", weight, bias)
        query, key, value = self.op("Split", joined, outputs=3, axis=-1, num_outputs=3)
        return self.op(
            "MultiHeadAttention", query, key, value, "", mask, domain=CONTRIB, num_heads=HEADS
        )


class ProbeGraph(FusedGraph):
    """The fused graph in floats; remembers what goes into each linear layer."""

    def __init__(self, weights):
        super().__init__(weights)
        self.probes = {}

    def linear(self, x, name, weight, bias):
        self.probes[name] = x
        return super().linear(x, name, weight, bias)


class Int8Graph(FusedGraph):
    """The fused graph with 8-bit linear layers and an 8-bit word table."""

    def __init__(self, weights, ranges):
        super().__init__(weights)
        self.ranges = ranges

    def words(self):
        """The table holds a byte a value, with a scale for each word."""
        table = self.weights["embeddings.word_embeddings.weight"]
        scale = np.abs(table).max(axis=1, keepdims=True) / 127
        table = np.rint(table / scale).astype(np.int8)
        rows = self.op("Gather", self.const("words.int8", table), "input_ids")
        rows = self.op("Cast", rows, to=TensorProto.FLOAT)
        scales = self.op("Gather", self.const("words.scale", scale), "input_ids")
        return self.op("Mul", rows, scales)

    def linear(self, x, name, weight, bias):
        low, high = self.ranges[name]

        # Even out the channels: x is divided by `smooth`, the weights multiplied.
        largest = np.maximum(np.maximum(-low, high), 1e-6)
        heaviest = np.maximum(np.abs(weight).max(axis=1), 1e-6)
        smooth = largest**SMOOTHING / heaviest ** (1 - SMOOTHING)
        smooth = power_of_two_steps(smooth / np.exp(np.log(smooth).mean()))

        # One step and one zero point for all of x, as unsigned bytes.
        low, high = (low / smooth).min() * HEADROOM, (high / smooth).max() * HEADROOM
        step = power_of_two_steps((high - low) / 255)
        zero = np.uint8(np.clip(round(-low / step), 0, 255))

        # One step for each output column of the weights, as signed bytes. Two
        # neighbors may not exceed 128 together: processors without VNNI add
        # two products in 16 bits, and 255 * 128 is the most that fits there.
        weight = weight * smooth[:, None]
        magnitude = np.abs(weight)
        pairs = magnitude[0::2] + magnitude[1::2]
        steps = np.maximum(magnitude.max(axis=0), pairs.max(axis=0)) / 127
        weight = np.rint(weight / steps).astype(np.int8)
        sums = np.abs(weight.astype(np.int32))
        assert (sums[0::2] + sums[1::2]).max() <= 128

        zero = self.const(f"{name}.zero", zero)
        step = self.const(f"{name}.step", np.float32(step))
        x = self.op("Mul", x, self.const(f"{name}.smooth", (1 / smooth).astype(np.float32)))
        return self.op(
            "MatMulIntegerToFloat",
            self.op("QuantizeLinear", x, step, zero),
            self.const(f"{name}.int8", weight),
            step,
            self.const(f"{name}.steps", steps.astype(np.float32)),
            zero,
            "",
            self.const(f"{name}.bias", bias),
            domain=CONTRIB,
        )


def power_of_two_steps(value):
    """Round to a 32nd of an octave, so that the last bits of a processor's
    floating point do not decide about the model's bytes."""
    return 2 ** (np.rint(np.log2(value.astype(np.float64)) * 32) / 32)


def save(graph, path):
    model = graph.build()
    onnx.save(model, path)


# --- weights, texts, vectors ------------------------------------------------


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


def write_tokenizer(source, target):
    """The four files that fastembed asks for, with this model's length limit."""
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


def read_calibration(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines if line and not line.startswith("# ")]


class Embedder:
    """Does in Python what the service does through fastembed."""

    def __init__(self, tokenizer_file):
        self.tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_file))
        self.tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")

    def encode(self, texts):
        encoded = self.tokenizer.encode_batch(list(texts))
        return {
            "input_ids": np.array([e.ids for e in encoded], np.int64),
            "attention_mask": np.array([e.attention_mask for e in encoded], np.int64),
            "token_type_ids": np.array([e.type_ids for e in encoded], np.int64),
        }

    def embed(self, session, texts):
        inputs = self.encode(texts)
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


def calibrate(weights, embedder, texts):
    """The least and the greatest value of each input channel of each linear layer."""
    graph = ProbeGraph(weights)
    model = graph.build()
    for probe in graph.probes.values():
        model.graph.output.append(helper.make_tensor_value_info(probe, TensorProto.FLOAT, None))
    session = open_session(model.SerializeToString())
    names = list(graph.probes)
    ranges = {}
    for text in texts:
        values = session.run([graph.probes[name] for name in names], embedder.encode([text]))
        for name, value in zip(names, values):
            value = value.reshape(-1, value.shape[-1])
            low, high = ranges.get(name, (np.inf, -np.inf))
            ranges[name] = np.minimum(low, value.min(axis=0)), np.maximum(high, value.max(axis=0))
    return ranges


# --- is it right? -----------------------------------------------------------


def self_check(embedder, float_file, int8_file):
    """Stop the set-up if the models do not compute what they should."""
    float_session, int8_session = open_session(float_file), open_session(int8_file)

    reference = embedder.embed(float_session, [REFERENCE_TEXT])[0]
    error = float(np.abs(reference[: len(REFERENCE_VECTOR)] - REFERENCE_VECTOR).max())
    if not error <= REFERENCE_TOLERANCE:
        sys.exit(
            f"The float model is wrong: {REFERENCE_TEXT!r} gives {reference[:3]}, "
            f"but it should give {REFERENCE_VECTOR}."
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


def write_manifest(target, package, checks):
    """One line a file: `scripts/setup` reads them without a JSON parser."""
    files = {}
    for path in sorted(target.iterdir()):
        data = path.read_bytes()
        files[path.name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest = {
        "recipe": RECIPE,
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "license": "Apache-2.0",
        "source": package,
        "made_with": f"onnx=={onnx.__version__} onnxruntime=={onnxruntime.__version__}",
        "dimensions": WIDTH,
        "max_tokens": MAX_TOKENS,
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
