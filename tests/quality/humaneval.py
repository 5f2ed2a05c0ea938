#!/usr/bin/env python3
"""Exact match on HumanEval single-line infilling, cursor inside the line, after its indentation or at
its start: our layout beside the usual one, same model, same tasks, same run.

    tests/quality/humaneval.py --tasks 100 [--where inside] [--model NAME] [--layout both]

Greedy; stop at the line's end; trailing blanks trimmed. Cursors are drawn per task from a fixed seed.
"""
import argparse
import gzip
import json
import pathlib
import random
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TASKS = HERE.parent / "data/eval/humaneval-single-line.jsonl.gz"


def cases(count, where, skip):
    with gzip.open(TASKS, "rt") as f:
        tasks = [json.loads(line) for line in f]
    order = random.Random(1).sample(range(len(tasks)), len(tasks))[skip:]
    for i in order:
        task = tasks[i]
        line = task["canonical_solution"].rstrip("\n")
        if "\n" in line:
            continue
        indent = len(line) - len(line.lstrip())
        body = len(line.rstrip())
        if where == "inside":
            if body - 1 < indent + 1:
                continue
            at = random.Random("1:" + task["task_id"]).randint(indent + 1, body - 1)
        else:
            at = indent if where == "indent" else 0
        rest = task["canonical_solution"][len(line):] + task["suffix"]
        yield {"id": task["task_id"], "prefix": task["prompt"] + line[:at], "suffix": rest,
               "expected": line[at:].rstrip(), "typed": line[:at]}
        count -= 1
        if count == 0:
            return


def answers(arguments, chosen, layout):
    command = [arguments.foretoken, "complete", "--jsonl", "--mode", "line", "--layout", layout]
    if arguments.model:
        command += ["--model", arguments.model]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        for n, case in enumerate(chosen):
            request = {"id": case["id"], "prefix": case["prefix"], "suffix": case["suffix"]}
            if not arguments.no_path:
                request["path"] = case["id"].replace("/", "_") + ".py"
            p.stdin.write(json.dumps(request) + "\n")
            p.stdin.flush()
            answer = json.loads(p.stdout.readline())
            if "error" in answer:
                sys.exit(f"{case['id']}: {answer['error']}")
            if sys.stderr.isatty():
                print(f"\r{layout}: {n + 1}/{len(chosen)}", end="", file=sys.stderr)
            # What the line would hold after accepting, left of what was there before.
            begin = answer["range"]["start"]["col"] - 1
            yield case["typed"].encode()[:begin].decode() + answer["text"], answer["timings"]
        p.stdin.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first tasks of the order")
    parser.add_argument("--where", choices=["inside", "indent", "start"], default="inside")
    parser.add_argument("--layout", choices=["both", "anchored", "usual"], default="both")
    parser.add_argument("--model", default="")
    parser.add_argument("--no-path", action="store_true", help="leave the file's name out of the prompt")
    parser.add_argument("--foretoken", default=str(HERE.parents[1] / "build/release/foretoken"))
    arguments = parser.parse_args()
    chosen = list(cases(arguments.tasks, arguments.where, arguments.skip))
    result = {"where": arguments.where, "tasks": len(chosen)}
    for layout in (["anchored", "usual"] if arguments.layout == "both" else [arguments.layout]):
        right, ms, tokens = 0, [], []
        for case, (line, timings) in zip(chosen, answers(arguments, chosen, layout)):
            right += line.rstrip() == (case["typed"] + case["expected"]).rstrip()
            ms.append(timings["total_ms"])
            tokens.append(timings["prompt_tokens"])
        result[layout] = {"exact_percent": round(100 * right / len(chosen), 1),
                          "median_ms": round(statistics.median(ms), 1),
                          "median_prompt_tokens": statistics.median(tokens)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
