"""A real llama-server (the package ``xllamacpp``) in a process of its own: ``python llama_server.py MODEL.gguf [SLOTS]``.

Prints its address on one line and serves until standard input ends.
"""

from __future__ import annotations

import sys

import xllamacpp


def main() -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_parallel = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    parameters.n_ctx = 2048 * parameters.n_parallel
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
