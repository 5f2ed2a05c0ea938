"""The shape of the pocket model: a small Llama, as train.py trains it and export_gguf.py writes it."""
import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F

NORM_EPS = 1e-5
ROPE_BASE = 10000.0


@dataclasses.dataclass
class Shape:
    vocabulary: int = 8192
    width: int = 256
    layers: int = 8
    heads: int = 4
    kv_heads: int = 1
    ffn: int = 704
    context: int = 1024

    @property
    def head_dim(self):
        return self.width // self.heads


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self.attn_norm = nn.Parameter(torch.ones(shape.width))
        self.q = nn.Linear(shape.width, queries, bias=False)
        self.k = nn.Linear(shape.width, keys, bias=False)
        self.v = nn.Linear(shape.width, keys, bias=False)
        self.o = nn.Linear(queries, shape.width, bias=False)
        self.ffn_norm = nn.Parameter(torch.ones(shape.width))
        self.gate = nn.Linear(shape.width, shape.ffn, bias=False)
        self.up = nn.Linear(shape.width, shape.ffn, bias=False)
        self.down = nn.Linear(shape.ffn, shape.width, bias=False)

    def attention(self, x, cos, sin):
        batch, time, _ = x.shape

        def heads(y, count):  # batch, count, time, head_dim
            return y.view(batch, time, count, self.shape.head_dim).transpose(1, 2)

        def rotate(y):  # pairs (i, i + head_dim / 2)
            a, b = y.chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

        q = rotate(heads(self.q(x), self.shape.heads))
        k = rotate(heads(self.k(x), self.shape.kv_heads))
        v = heads(self.v(x), self.shape.kv_heads)
        group = self.shape.heads // self.shape.kv_heads
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(batch, time, -1))

    def forward(self, x, cos, sin):
        width = (self.shape.width,)
        x = x + self.attention(F.rms_norm(x, width, self.attn_norm, NORM_EPS), cos, sin)
        y = F.rms_norm(x, width, self.ffn_norm, NORM_EPS)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Pocket(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.width))
        nn.init.normal_(self.embedding.weight, std=0.02)
        base = 0.02 * 1.5 * math.sqrt(256 / shape.width)
        for name, weight in self.matrices().items():
            onto_stream = name.endswith(("o.weight", "down.weight"))
            nn.init.normal_(weight, std=base / math.sqrt(2 * shape.layers) if onto_stream else base)
        frequencies = ROPE_BASE ** (-torch.arange(0, shape.head_dim, 2).float() / shape.head_dim)
        angles = torch.outer(torch.arange(shape.context).float(), frequencies)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def matrices(self):
        """Weights of the linear layers, by name: what Muon trains."""
        return {name: p for name, p in self.named_parameters() if p.ndim == 2 and "embedding" not in name}

    def forward(self, tokens, targets):
        """Mean loss in nats a token."""
        x = self.embedding(tokens)
        time = tokens.shape[1]
        cos, sin = self.cos[:time].to(x.dtype), self.sin[:time].to(x.dtype)
        with torch.autocast(tokens.device.type, dtype=torch.bfloat16):
            for block in self.blocks:
                x = block(x, cos, sin)
            x = F.rms_norm(x, (self.shape.width,), self.norm, NORM_EPS)
            logits = F.linear(x, self.embedding.weight)  # tied
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
