#!/usr/bin/env python3
"""Trains the vocabulary (byte-level BPE, Qwen2's split rules) and encodes the corpus with it.

usage: tokenize_corpus.py CORPUS.jsonl FOLDER [VOCABULARY_SIZE]

Writes FOLDER/tokenizer.json, FOLDER/tokens.u16 (path and text of each document, one after the other) and
FOLDER/lengths.npy (tokens of path, tokens of text).
"""
import json
import os
import random
import sys

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

QWEN2_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
               r"|\s*[\r\n]+|\s+(?!\S)|\s+")
# The last ids of the vocabulary, in this order; train.py counts on it.
CONTROL = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>",
           "<|file_sep|>"]
LEARN_FROM = 60e6  # characters
BATCH = 2000       # documents


def beginning(documents):
    characters = 0
    for document in documents:
        yield document["text"]
        characters += len(document["text"])
        if characters > LEARN_FROM:
            return


def train_tokenizer(documents, size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2_SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size - len(CONTROL), show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(beginning(documents), trainer)
    learnt = tokenizer.get_vocab_size()
    tokenizer.add_special_tokens(CONTROL)
    if tokenizer.get_vocab_size() != learnt + len(CONTROL):
        sys.exit("a control token is in the learnt vocabulary")
    return tokenizer


def main():
    source, folder, *size = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    with open(source, encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    random.Random(1).shuffle(documents)
    tokenizer = train_tokenizer(documents, int(size[0]) if size else 8192)
    tokenizer.save(f"{folder}/tokenizer.json")

    lengths = []
    with open(f"{folder}/tokens.u16", "wb") as out:
        for first in range(0, len(documents), BATCH):
            part = documents[first:first + BATCH]
            paths = tokenizer.encode_batch([d["path"] for d in part], add_special_tokens=False)
            texts = tokenizer.encode_batch([d["text"] for d in part], add_special_tokens=False)
            for path, text in zip(paths, texts):
                np.array(path.ids + text.ids, dtype=np.uint16).tofile(out)
                lengths.append((len(path.ids), len(text.ids)))
    lengths = np.array(lengths, dtype=np.int32)
    np.save(f"{folder}/lengths.npy", lengths)
    size = sum(len(d["text"].encode()) for d in documents)
    print(f"{tokenizer.get_vocab_size()} tokens in the vocabulary, {len(documents)} documents, "
          f"{lengths[:, 1].sum()} tokens of {size / lengths[:, 1].sum():.2f} bytes")


if __name__ == "__main__":
    main()
