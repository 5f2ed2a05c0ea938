#!/usr/bin/env python3
"""What a burst of typing costs in quality: the same cursor asked fresh (the anchor set there) and at the
end of a burst (the anchor set LINES lines earlier, the text right of the cursor pinned, brackets the
editor closed left out of the prompt). Exact match of the rest of the line, inside lines of real files.

    tests/quality/anchoring.py --model FILE [--cursors 100] [--burst 20] FILES...
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CLOSES = {"(": ")", "[": "]", "{": "}"}


class Engine:
    def __init__(self, program, model, extra=()):
        self.process = subprocess.Popen([program, "complete", "--jsonl", "--model", model, *extra],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, path, prefix, suffix, **more):
        request = {"path": path, "prefix": prefix, "suffix": suffix, "mode": "line", "from_engine": True, **more}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            sys.exit(answer["error"])
        return answer


def open_brackets(line):
    """What an editor would have closed right of the cursor, for brackets opened in this line."""
    closers = []
    for c in line:
        if c in CLOSES:
            closers.append(CLOSES[c])
        elif closers and c == closers[-1]:
            closers.pop()
    return "".join(reversed(closers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--program", default=str(HERE.parents[1] / "build/release/foretoken"))
    parser.add_argument("--cursors", type=int, default=100)
    parser.add_argument("--burst", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="+")
    a = parser.parse_args()
    pick = random.Random(a.seed)
    engine = Engine(a.program, a.model)
    right = {"fresh": 0, "after a burst": 0}
    both = only_fresh = only_burst = 0
    for number in range(a.cursors):
        text = pathlib.Path(pick.choice(a.files)).read_text()
        lines = text.split("\n")
        while True:
            at = pick.randrange(a.burst + 5, len(lines) - 5)
            line = lines[at]
            indent = len(line) - len(line.lstrip())
            if len(line) - indent < 12 or line.lstrip().startswith("#"):
                continue
            col = pick.randrange(indent + 1, len(line) - 6)
            break
        wanted = line[col:]
        closed = open_brackets(line[:col])
        above = "\n".join(lines[:at]) + "\n" + line[:col]
        below = closed + "\n" + "\n".join(lines[at + 1:])
        before_burst = "\n".join(lines[:at - a.burst]) + "\n"
        engine.ask(f"burst{number}.py", before_burst, "\n" + "\n".join(lines[at + 1:]), max_tokens=1)
        answers = {"fresh": engine.ask(f"fresh{number}.py", above, below),
                   "after a burst": engine.ask(f"burst{number}.py", above, below)}
        ok = {}
        for name, answer in answers.items():
            rest = below[answer["range"]["end"]["col"] - answer["range"]["start"]["col"]:].split("\n")[0]
            result = (answer["text"] + rest).split("\n")[0]
            ok[name] = result.rstrip() == wanted.rstrip()
            right[name] += ok[name]
        both += all(ok.values())
        only_fresh += ok["fresh"] and not ok["after a burst"]
        only_burst += ok["after a burst"] and not ok["fresh"]
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{a.cursors}", end="", file=sys.stderr)
    print(json.dumps({"cursors": a.cursors, "burst_lines": a.burst,
                      "exact_percent": {name: round(100 * n / a.cursors, 1) for name, n in right.items()},
                      "both": both, "only_fresh": only_fresh, "only_after_burst": only_burst}))


if __name__ == "__main__":
    main()
