#!/usr/bin/env python3
"""How much longer a completion takes while other processes keep every core busy.

    tests/bench/busy_machine.py --model FILE [--spinners 2] [--rounds 5]

Runs `foretoken bench model` alone and beside processes that only spin, interleaved, and prints the
ratio of the medians. With as many spinners as cores a fair scheduler gives every thread half a core:
a ratio of 2 is perfect, waiting in spin loops was seen to cost 20 to 50.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--foretoken", default=str(HERE.parents[1] / "build/release/foretoken"))
    parser.add_argument("--spinners", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt-tokens", type=int, default=256)
    parser.add_argument("--output-tokens", type=int, default=64)
    a = parser.parse_args()

    def once():
        done = subprocess.run([a.foretoken, "bench", "model", "--model", a.model, "--rounds", "1", "--json",
                               "--prompt-tokens", str(a.prompt_tokens),
                               "--output-tokens", str(a.output_tokens)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        r = json.loads(done.stdout)
        return a.prompt_tokens / r["prefill_tokens_per_s"], a.output_tokens / r["decode_tokens_per_s"]

    idle, busy = [], []
    for i in range(a.rounds):
        idle.append(once())
        spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(a.spinners)]
        try:
            time.sleep(0.5)  # let them reach full speed
            busy.append(once())
        finally:
            for s in spinners:
                s.kill()
                s.wait()
        print(f"round {i + 1}: idle {sum(idle[-1]):.3f} s, busy {sum(busy[-1]):.3f} s", file=sys.stderr)
    total = [statistics.median(sum(r) for r in runs) for runs in (idle, busy)]
    parts = [[statistics.median(r[k] for r in runs) for runs in (idle, busy)] for k in (0, 1)]
    print(json.dumps({"idle_s": round(total[0], 3), "busy_s": round(total[1], 3),
                      "ratio": round(total[1] / total[0], 2),
                      "prefill_ratio": round(parts[0][1] / parts[0][0], 2),
                      "decode_ratio": round(parts[1][1] / parts[1][0], 2)}))


if __name__ == "__main__":
    main()
