#!/usr/bin/env python3
"""Prefill and decode speed beside llama.cpp: same machine, same file, interleaved rounds, medians.

    npm install --prefix PEER --ignore-scripts node-llama-cpp@3.21.1
    tests/bench/peer_model.py --peer PEER --model FILE [--rounds 5]

Both sides compute the same 512 token ids and then decode 64 tokens behind them, on two threads, with
F16 keys and values; llama.cpp with flash attention, in the build for this processor that
the package chooses. Each round starts a fresh process on either side; loading is not measured.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed ({done.returncode}): {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peer", required=True, help="folder with node_modules/node-llama-cpp")
    parser.add_argument("--model", required=True, help="GGUF file")
    parser.add_argument("--foretoken", default=str(HERE.parents[1] / "build/release/foretoken"))
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt-tokens", type=int, default=512)
    parser.add_argument("--output-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    model = str(pathlib.Path(a.model).resolve())
    ours, theirs = [], []
    for i in range(a.rounds):
        ours.append(run([a.foretoken, "bench", "model", "--model", model, "--rounds", "1", "--json",
                         "--threads", str(a.threads), "--backend", a.backend,
                         "--prompt-tokens", str(a.prompt_tokens),
                         "--output-tokens", str(a.output_tokens)]))
        theirs.append(run(["node", str(HERE / "peer_llama_cpp.mjs"), model, str(a.prompt_tokens),
                           str(a.output_tokens), str(a.threads)], cwd=a.peer))
        print(f"round {i + 1}: " + ", ".join(
            f"{what} {ours[-1][key]:.1f} : {theirs[-1][key]:.1f}" for what, key in
            (("prefill", "prefill_tokens_per_s"), ("decode", "decode_tokens_per_s"))), file=sys.stderr)
    result = {"model": pathlib.Path(model).name, "backend": ours[0]["backend"], "threads": a.threads,
              "rounds": a.rounds, "peer": theirs[0]["system"]}
    for key in ("prefill_tokens_per_s", "decode_tokens_per_s"):
        result[key] = statistics.median(r[key] for r in ours)
        result["peer_" + key] = statistics.median(r[key] for r in theirs)
        result[key.replace("_tokens_per_s", "_ratio")] = result[key] / result["peer_" + key]
    result["peak_resident_bytes"] = max(r["peak_resident_bytes"] for r in ours)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
