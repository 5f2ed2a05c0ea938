"""Training documents: pieces of source files, more than half of them cut for filling in the middle."""
import json

import numpy as np

CONTROL_TOKENS = 7  # the last ids of the vocabulary, see tokenize_corpus.py
HELD_OUT = 400      # documents for validation, the last ones


class Corpus:
    def __init__(self, folder, vocabulary, context, fim_share=0.6):
        self.tokens = np.memmap(f"{folder}/tokens.u16", dtype=np.uint16, mode="r")
        self.lengths = np.load(f"{folder}/lengths.npy")
        self.starts = np.concatenate([[0], np.cumsum(self.lengths.sum(1))[:-1]])
        self.context, self.fim_share = context, fim_share
        first = vocabulary - CONTROL_TOKENS
        self.end, self.prefix, self.middle, self.suffix, _, _, self.file = range(first, vocabulary)
        with open(f"{folder}/tokenizer.json", encoding="utf-8") as file:
            spelling = json.load(file)["model"]["vocab"]
        self.newline = spelling["Ċ"]
        self.has_newline = np.zeros(vocabulary, bool)
        self.has_newline[[token for text, token in spelling.items() if "Ċ" in text]] = True

    def __len__(self):
        return len(self.lengths)

    def piece(self, random, first, last):
        """Path and a stretch of one of the documents first..last-1 that fits the context."""
        which = int(random.integers(first, last))
        at, (path_length, length) = self.starts[which], self.lengths[which]
        path = self.tokens[at:at + path_length].astype(np.int64)
        body = self.tokens[at + path_length:at + path_length + length].astype(np.int64)
        if self.context - len(path) < 72:
            path = path[-32:]
        room = self.context - len(path) - 8
        wanted = room if random.random() < 0.7 else random.integers(64, room + 1)
        size = int(min(length, wanted))
        begin = int(random.integers(0, length - size + 1)) if random.random() < 0.8 else 0
        return path, body[begin:begin + size]

    def cut(self, random, body):
        """Where the middle begins and ends: mostly short; half of them from the start of their line, as the
        anchored prompt of the engine asks."""
        short = random.random() < 0.7
        size = random.geometric(1 / 24) if short else random.integers(1, len(body) // 2)
        size = int(min(len(body) - 8, max(1, size)))
        begin = int(random.integers(4, len(body) - size))
        end = begin + size
        if random.random() < 0.5:
            line = begin
            while line > 0 and not self.has_newline[body[line - 1]] and begin - line < 48:
                line -= 1
            begin = line
        return begin, end

    def document(self, random, first, last):
        path, body = self.piece(random, first, last)
        named = random.random() < 0.9
        parts = [[self.file], path, [self.newline]] if named else []
        if random.random() < self.fim_share and len(body) > 16:
            begin, end = self.cut(random, body)
            left, middle, right = body[:begin], body[begin:end], body[end:]
            if random.random() < 0.7:
                parts += [[self.prefix], left, [self.suffix], right]
            else:
                parts += [[self.suffix], right, [self.prefix], left]
            parts += [[self.middle], middle]
        else:
            parts += [body]
        parts += [[self.end]]
        return np.concatenate([np.asarray(part, np.int64) for part in parts])


class Rows:
    """Documents one behind the other, in rows of the context's length."""

    def __init__(self, corpus, first, last, seed):
        self.corpus, self.first, self.last = corpus, first, last
        self.random = np.random.default_rng(seed)
        self.left = np.zeros(0, np.int64)

    def take(self, rows):
        size = rows * self.corpus.context
        while len(self.left) <= size:
            more = [self.corpus.document(self.random, self.first, self.last) for _ in range(64)]
            self.left = np.concatenate([self.left, *more])
        tokens, targets = self.left[:size], self.left[1:size + 1]
        self.left = self.left[size:]
        return tokens.reshape(rows, -1).copy(), targets.reshape(rows, -1).copy()
