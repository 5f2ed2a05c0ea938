#!/usr/bin/env python3
"""A working day in fast motion: keys typed into many files through the language server, its memory
watched. Prints the slope of resident memory after warm-up (Theil-Sen, with a 95 % interval) and the
latency of the first and the last tenth.

  tests/bench/soak.py [--keys 50000] [--files 200] [--model pocket] [--program build/release/foretoken]
"""
import argparse, json, random, statistics, subprocess, sys, time


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next_id = 0

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        length = 0
        while True:
            line = self.process.stdout.readline().strip()
            if not line:
                break
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def request(self, method, params):
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": params})
        while True:
            message = self.read()
            if message.get("id") == self.next_id and "method" not in message:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message.get("result")


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def theil_sen(points):
    slopes = sorted((y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points) for x2, y2 in points[i + 1:])
    n = len(points)
    spread = 1.96 * (n * (n - 1) * (2 * n + 5) / 18) ** 0.5  # Kendall's variance
    low = int(max((len(slopes) - spread) / 2, 0))
    high = int(min((len(slopes) + spread) / 2, len(slopes) - 1))
    return statistics.median(slopes), slopes[low], slopes[high]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=50000)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--model", default="pocket")
    parser.add_argument("--program", default="build/release/foretoken")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pick = random.Random(options.seed)

    server = Server([options.program, "lsp", "--model", options.model, "--no-share"])
    server.request("initialize", {"processId": None, "capabilities": {"general": {"positionEncodings": ["utf-8"]}}})
    server.notify("initialized", {})
    words = "self total width height return value_%d index for in range(10): if else print(x) def area(a, b):".split()
    texts = {}
    latencies, memory, started = [], [], time.monotonic()
    current = None
    for key in range(options.keys):
        if current is None or pick.random() < 0.02:
            current = f"file:///w/file_{pick.randrange(options.files)}.py"
            if current in texts and pick.random() < 0.3:  # closed and opened again
                server.notify("textDocument/didClose", {"textDocument": {"uri": current}})
                del texts[current]
            if current not in texts:
                head = "".join(f"def f_{pick.randrange(10**6)}(a, b):\n    return a + b\n\n" for _ in range(30))
                texts[current] = [head.split("\n"), 0]
                server.notify("textDocument/didOpen", {"textDocument": {"uri": current, "languageId": "python", "version": 0, "text": head}})
        lines, version = texts[current]
        last = len(lines) - 1
        if pick.random() < 0.05 and len(lines) < 2000:
            inserted, lines_after = "\n    ", lines + ["    "]
        elif pick.random() < 0.1 and lines[-1]:
            inserted, lines_after = None, lines[:-1] + [lines[-1][:-1]]
        else:
            word = pick.choice(words)
            inserted = (word % pick.randrange(99) if "%" in word else word)[pick.randrange(2):] + " "
            lines_after = lines[:-1] + [lines[-1] + inserted]
        end = {"line": last, "character": len(lines[-1])}
        begin = {"line": last, "character": len(lines[-1]) - 1} if inserted is None else end
        texts[current] = [lines_after, version + 1]
        server.notify("textDocument/didChange", {
            "textDocument": {"uri": current, "version": version + 1},
            "contentChanges": [{"range": {"start": begin, "end": end}, "text": inserted or ""}]})
        asked = time.monotonic()
        server.request("textDocument/inlineCompletion", {
            "textDocument": {"uri": current}, "context": {"triggerKind": 1},
            "position": {"line": len(lines_after) - 1, "character": len(lines_after[-1])}})
        latencies.append((time.monotonic() - asked) * 1000)
        if key % max(options.keys // 200, 1) == 0:
            memory.append(((time.monotonic() - started) / 3600, resident_mb(server.process.pid)))
            if sys.stderr.isatty():
                print(f"\r{key}/{options.keys} keys, {memory[-1][1]:.1f} MB", end="", file=sys.stderr)
    settled = memory[len(memory) // 4:]
    slope, low, high = theil_sen(settled)
    hours = settled[-1][0] - settled[0][0]
    tenth = max(len(latencies) // 10, 1)
    p99 = lambda values: sorted(values)[int(len(values) * 0.99)]
    print(json.dumps({
        "keys": options.keys, "files": options.files, "minutes": round((time.monotonic() - started) / 60, 1),
        "resident_mb": {"first": round(settled[0][1], 1), "last": round(settled[-1][1], 1), "most": round(max(m for _, m in memory), 1)},
        "slope_mb_per_hour": round(slope, 2), "slope_95": [round(low, 2), round(high, 2)],
        "growth_mb_per_10000_keys": round(slope * hours / (0.75 * options.keys) * 10000, 3),
        "p99_ms": {"first_tenth": round(p99(latencies[:tenth]), 1), "last_tenth": round(p99(latencies[-tenth:]), 1)}}))
    server.request("shutdown", None)
    server.notify("exit", None)
    sys.exit(server.process.wait(10))


if __name__ == "__main__":
    main()
