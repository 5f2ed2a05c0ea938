#!/usr/bin/env python3
"""Writes a checkpoint of train.py as a GGUF file of the architecture llama.

usage: export_gguf.py CHECKPOINT.pt TOKENIZER.json OUT.gguf [Q8_0|F16]
"""
import json
import sys

import torch

import gguf_writer as gguf
from model import NORM_EPS, ROPE_BASE, Shape

FILE_TYPES = {"F16": 1, "Q8_0": 7}
NORMAL, CONTROL, UNUSED = 1, 3, 5  # token types


def vocabulary(tokenizer, size):
    """Texts and types of all ids, and the ids of the control tokens."""
    texts, types = [f"[PAD{i}]" for i in range(size)], [UNUSED] * size
    for text, token in tokenizer["model"]["vocab"].items():
        texts[token], types[token] = text, NORMAL
    control = {added["content"]: added["id"] for added in tokenizer["added_tokens"]}
    for text, token in control.items():
        texts[token], types[token] = text, CONTROL
    return texts, types, control


def metadata(shape, kind, tokenizer):
    texts, types, control = vocabulary(tokenizer, shape.vocabulary)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    entries = {
        "general.architecture": (gguf.STRING, "llama"),
        "general.name": (gguf.STRING, "Foretoken pocket"),
        "general.license": (gguf.STRING, "apache-2.0"),
        "general.size_label": (gguf.STRING, "8M"),
        "general.file_type": (gguf.U32, FILE_TYPES[kind]),
        "general.quantization_version": (gguf.U32, 2),
        "llama.block_count": (gguf.U32, shape.layers),
        "llama.context_length": (gguf.U32, shape.context),
        "llama.embedding_length": (gguf.U32, shape.width),
        "llama.feed_forward_length": (gguf.U32, shape.ffn),
        "llama.attention.head_count": (gguf.U32, shape.heads),
        "llama.attention.head_count_kv": (gguf.U32, shape.kv_heads),
        "llama.attention.layer_norm_rms_epsilon": (gguf.F32, NORM_EPS),
        "llama.rope.freq_base": (gguf.F32, ROPE_BASE),
        "llama.rope.dimension_count": (gguf.U32, shape.head_dim),
        "llama.vocab_size": (gguf.U32, shape.vocabulary),
        "tokenizer.ggml.model": (gguf.STRING, "gpt2"),
        "tokenizer.ggml.pre": (gguf.STRING, "qwen2"),
        "tokenizer.ggml.tokens": (gguf.ARRAY, texts, gguf.STRING),
        "tokenizer.ggml.token_type": (gguf.ARRAY, types, gguf.I32),
        "tokenizer.ggml.merges": (gguf.ARRAY, merges, gguf.STRING),
        "tokenizer.ggml.add_bos_token": (gguf.BOOL, False),
    }
    for role, text in {"eos": "<|endoftext|>", "bos": "<|endoftext|>", "padding": "<|fim_pad|>",
                       "fim_pre": "<|fim_prefix|>", "fim_suf": "<|fim_suffix|>", "fim_mid": "<|fim_middle|>",
                       "fim_pad": "<|fim_pad|>", "fim_rep": "<|repo_name|>", "fim_sep": "<|file_sep|>"}.items():
        entries[f"tokenizer.ggml.{role}_token_id"] = (gguf.U32, control[text])
    return entries


def interleaved(weight, heads):
    """Rows of a query or key matrix from rotary pairs (i, i + n/2) to (2i, 2i+1), as llama files have them."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def tensors(shape, kind, weights):
    def matrix(name, weight):
        return name, [weight.shape[1], weight.shape[0]], kind, gguf.pack(kind, weight)

    def vector(name, weight):
        return name, [weight.shape[0]], "F32", gguf.pack("F32", weight)

    yield matrix("token_embd.weight", weights["embedding.weight"])
    for layer in range(shape.layers):
        to, at = f"blk.{layer}.", f"blocks.{layer}."
        yield vector(to + "attn_norm.weight", weights[at + "attn_norm"])
        yield matrix(to + "attn_q.weight", interleaved(weights[at + "q.weight"], shape.heads))
        yield matrix(to + "attn_k.weight", interleaved(weights[at + "k.weight"], shape.kv_heads))
        yield matrix(to + "attn_v.weight", weights[at + "v.weight"])
        yield matrix(to + "attn_output.weight", weights[at + "o.weight"])
        yield vector(to + "ffn_norm.weight", weights[at + "ffn_norm"])
        yield matrix(to + "ffn_gate.weight", weights[at + "gate.weight"])
        yield matrix(to + "ffn_up.weight", weights[at + "up.weight"])
        yield matrix(to + "ffn_down.weight", weights[at + "down.weight"])
    yield vector("output_norm.weight", weights["norm"])


def main():
    checkpoint, tokenizer_file, out, *kind = sys.argv[1:]
    kind = kind[0] if kind else "Q8_0"
    saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
    shape = Shape(**saved["shape"])
    weights = {name: weight.float().numpy() for name, weight in saved["net"].items()}
    with open(tokenizer_file, encoding="utf-8") as file:
        tokenizer = json.load(file)
    gguf.write(out, metadata(shape, kind, tokenizer), list(tensors(shape, kind, weights)))
    print(f"{out}: trained on {saved['tokens'] / 1e6:.1f}M tokens")


if __name__ == "__main__":
    main()
