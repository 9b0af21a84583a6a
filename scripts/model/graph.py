"""A BERT encoder as an ONNX graph, in floats and with 8-bit weights and activations."""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
# com.microsoft operators are part of every CPU build of ONNX Runtime.
CONTRIB = "com.microsoft"

# How much of the outliers moves from activations into weights (0 none, 1 all),
# and how much room is left above the largest value seen in calibration.
# Chosen by measuring cosine to the float model on conversations and on code,
# punctuation and other scripts.
SMOOTHING = 0.7
HEADROOM = 1.05


@dataclass
class Network:
    """The shape of an encoder, and its weights by the names that BERT gives them."""

    name: str
    layers: int
    heads: int
    width: int
    epsilon: float
    weights: dict


class Graph:
    """The BERT encoder, node by node. Subclasses say how to embed and multiply."""

    def __init__(self, network):
        self.network = network
        self.weights = network.weights
        self.nodes = []
        self.initializers = {}

    def build(self):
        x = self.embeddings()
        mask = self.mask()
        for layer in range(self.network.layers):
            x = self.layer(x, mask, f"encoder.layer.{layer}")
        self.nodes[-1].output[0] = "last_hidden_state"
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        output = helper.make_tensor_value_info(
            "last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", self.network.width]
        )
        graph = helper.make_graph(
            self.nodes, self.network.name, inputs, [output], list(self.initializers.values())
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
            epsilon=self.network.epsilon,
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
        width, count = self.network.width, self.network.heads

        def heads(part, order):
            y = self.linear(x, *self.dense(f"{layer}.attention.self.{part}"))
            shape = np.array([0, 0, count, width // count], np.int64)
            return self.op(
                "Transpose", self.op("Reshape", y, self.const("split_heads", shape)), perm=order
            )

        scores = self.op("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
        scale = np.float32((width // count) ** 0.5)
        scores = self.op("Div", scores, self.const("root_of_head_width", scale))
        scores = self.op("Softmax", self.op("Add", scores, mask), axis=-1)
        context = self.op("MatMul", scores, heads("value", [0, 2, 1, 3]))
        context = self.op("Transpose", context, perm=[0, 2, 1, 3])
        shape = np.array([0, 0, width], np.int64)
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
            "MultiHeadAttention", query, key, value, "", mask, domain=CONTRIB, num_heads=self.network.heads
        )


class ProbeGraph(FusedGraph):
    """The fused graph in floats; remembers what goes into each linear layer."""

    def __init__(self, network):
        super().__init__(network)
        self.probes = {}

    def linear(self, x, name, weight, bias):
        self.probes[name] = x
        return super().linear(x, name, weight, bias)


class Int8Graph(FusedGraph):
    """The fused graph with 8-bit linear layers and an 8-bit word table."""

    def __init__(self, network, ranges):
        super().__init__(network)
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
