"""Measures Recollect beside mem0 with the same embedding model, in one run: appends, and
searches with one and with 16 callers. Prints a table in Markdown, or JSON with --json.

    pip install recollect-client mem0ai onnxruntime tokenizers
    export RECOLLECT_EMBEDDING__MODEL=all-minilm-l6-v2
    memory-bench run --qdrant http://127.0.0.1:6334 -- \\
        python benchmarks/peers.py CONVERSATIONS --qdrant http://127.0.0.1:6333 \\
        --memory-bench target/release/memory-bench

CONVERSATIONS is a directory in the LoCoMo format; `crates/memory-bench/example` is one.
`memory-bench run` starts Recollect with the same Qdrant server, server and worker apart; without
its --qdrant, as `recollect dev` does. RECOLLECT_ADDR may name a server that runs already. mem0
stores messages as they are (`infer=False`), without a language model. Without --qdrant, mem0 uses
Qdrant's Python client in process. With --memory-bench, searches of Recollect are also measured
with native callers, which shows what the Python client costs. pip warns that mem0ai wants an older
protobuf; it also works with the one that recollect-client needs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("MEM0_TELEMETRY", "False")
os.environ.setdefault("OPENAI_API_KEY", "unused")

import numpy as np
import onnxruntime
from mem0 import Memory
from tokenizers import Tokenizer

from recollect import Recollect

MODEL = "all-minilm-l6-v2"
USER = "peer"
BEFORE = ["", "Do you remember: ", "Remind me: ", "I forgot: ", "Tell me: ", "By the way: "]
AFTER = ["", " Please answer briefly.", " I need it today.", " It matters.", " Thank you."]

Call = Callable[[str], Any]
Block = tuple[float, list[float]]
"""Calls per second and the latencies in milliseconds."""


class MiniLM:
    """The model file that Recollect embeds with, as mem0 asks for an embedder."""

    def __init__(self, directory: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        model = str(directory / "model-int8.onnx")
        self.session = onnxruntime.InferenceSession(model, options)
        self.inputs = {value.name for value in self.session.get_inputs()}
        self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.no_padding()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        tokens = self.tokenizer.encode(text)
        arrays = {
            "input_ids": np.array([tokens.ids], np.int64),
            "attention_mask": np.array([tokens.attention_mask], np.int64),
            "token_type_ids": np.array([tokens.type_ids], np.int64),
        }
        fed = {name: array for name, array in arrays.items() if name in self.inputs}
        mean = self.session.run(None, fed)[0][0].mean(axis=0)
        return list((mean / np.linalg.norm(mean)).tolist())

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def model_directory() -> Path:
    """Where `scripts/setup model` puts the model."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = os.environ.get("RECOLLECT_CACHE_DIR") or Path(base) / "recollect"
    return Path(cache) / "models" / MODEL


def mem0(qdrant: str | None, directory: str) -> Memory:
    store: dict[str, Any] = {
        "collection_name": f"bench-{uuid.uuid4()}",
        "embedding_model_dims": 384,
    }
    store |= {"url": qdrant} if qdrant else {"path": f"{directory}/qdrant", "on_disk": True}
    if qdrant:
        store["api_key"] = "unused"
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": f"{directory}/history.db",
        }
    )
    memory.embedding_model = MiniLM(model_directory())
    return memory


def read(directory: Path) -> tuple[list[str], list[str]]:
    """All messages and all questions."""
    messages, questions = [], []
    for file in sorted(directory.glob("*.json")):
        document = json.loads(file.read_text())
        for key, turns in document.items():
            if re.fullmatch(r"session_\d+", key):
                messages += [f"{turn['speaker']}: {turn['text']}" for turn in turns]
        questions += [asked["question"] for asked in document.get("qa", [])]
    return messages, questions


class Texts:
    """Hands out each text once, in variants that mean the same."""

    def __init__(self, texts: list[str]) -> None:
        self.variants = (
            before + text + after for after in AFTER for before in BEFORE for text in texts
        )
        self.lock = threading.Lock()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        with self.lock:
            return next(self.variants)


class Native:
    """Searches of Recollect by the callers of memory-bench."""

    def __init__(self, memory_bench: Path, app: str) -> None:
        self.command = [str(memory_bench), "search", "--json", "--app", app, "--user", USER]
        self.left: list[str] | None = None

    def block(self, texts: Texts, callers: int, seconds: float) -> Block:
        if self.left is None:
            self.left = list(texts)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as queries:
            queries.writelines(text.replace("\n", " ") + "\n" for text in self.left)
            queries.flush()
            command = [*self.command, "--queries", queries.name]
            command += ["--callers", str(callers), "--seconds", str(seconds)]
            run = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        found = json.loads(run.stdout)
        self.left = self.left[found["asked"] :]
        return found["per_s"], found["latencies_ms"]


def block(call: Call | Native, texts: Texts, callers: int, seconds: float) -> Block:
    """Calls one after the other by each caller."""
    if isinstance(call, Native):
        return call.block(texts, callers, seconds)
    call(next(texts))
    latencies: list[float] = []
    failures: list[BaseException] = []
    started = time.perf_counter()

    def caller() -> None:
        try:
            while time.perf_counter() - started < seconds:
                text = next(texts)
                called = time.perf_counter()
                call(text)
                latencies.append((time.perf_counter() - called) * 1000)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=caller) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]  # For example StopIteration: the texts are used up.
    return len(latencies) / (time.perf_counter() - started), latencies


def measure(
    sides: dict[str, dict[str, Call | Native]],
    texts: dict[str, list[str]],
    rounds: int,
    seconds: float,
) -> list[dict[str, Any]]:
    """Blocks of each kind of call on each side, in another random order in each round."""
    kinds = [("append", 1), ("search", 1), ("search", 16)]
    blocks = [
        (kind, callers, side)
        for kind, callers in kinds
        for side, calls in sides.items()
        if kind in calls
    ]
    given = {(kind, side): Texts(texts[kind]) for kind, _, side in blocks}
    order = random.Random(1)
    results: dict[Any, list[Block]] = {one: [] for one in blocks}
    for _ in range(rounds):
        for kind, callers, side in order.sample(blocks, len(blocks)):
            done = block(sides[side][kind], given[kind, side], callers, seconds)
            results[kind, callers, side].append(done)
            time.sleep(1)  # What an append leaves to do in the background.
    rows = []
    for (kind, callers, side), measured in results.items():
        rates = [rate for rate, _ in measured]
        p50s = [statistics.median(latencies) for _, latencies in measured]
        everything = sorted(latency for _, latencies in measured for latency in latencies)
        rows.append(
            {
                "call": kind,
                "callers": callers,
                "side": side,
                "per_s": [statistics.median(rates), min(rates), max(rates)],
                "p50_ms": [statistics.median(p50s), min(p50s), max(p50s)],
                "p95_ms": everything[int(len(everything) * 0.95)],
                "calls": len(everything),
            }
        )
    return rows


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("conversations", type=Path)
    arguments.add_argument("--qdrant", help="the HTTP address of a Qdrant server, for mem0")
    arguments.add_argument("--memory-bench", type=Path, help="the binary, for native callers")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=3)
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    messages, questions = read(given.conversations)
    app = f"bench-{uuid.uuid4()}"
    with tempfile.TemporaryDirectory() as directory, Recollect() as client:
        peer = mem0(given.qdrant, directory)
        session = client.session(app=app, user=USER, session="1")
        user = client.user(app=app, user=USER)
        sides: dict[str, dict[str, Call | Native]] = {
            "Recollect": {
                "append": lambda text: session.append(user=text),
                "search": lambda text: user.search(text),
            },
            "mem0": {
                "append": lambda text: peer.add(text, user_id=USER, infer=False),
                "search": lambda text: peer.search(text, filters={"user_id": USER}, top_k=10),
            },
        }
        for side in sides.values():
            append = side["append"]
            assert callable(append)
            for message in messages:
                append(message)
        if given.memory_bench:
            sides["Recollect, native"] = {"search": Native(given.memory_bench, app)}
        rows = measure(
            sides, {"append": messages, "search": questions}, given.rounds, given.seconds
        )
    if given.json:
        print(json.dumps(rows))
        return
    print("| call | callers | | calls/s | p50 ms | p95 ms |\n|---|---:|---|---:|---:|---:|")
    for row in rows:
        rate, p50 = ("{:.1f} ({:.1f}–{:.1f})".format(*row[key]) for key in ("per_s", "p50_ms"))
        first = f"| {row['call']} | {row['callers']} | {row['side']}"
        print(f"{first} | {rate} | {p50} | {row['p95_ms']:.1f} |")


main()
