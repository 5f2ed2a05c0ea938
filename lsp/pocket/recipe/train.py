#!/usr/bin/env python3
"""Trains the pocket model on a CPU or one GPU.

usage: train.py CORPUS_FOLDER OUT_FOLDER --minutes M [--resume]

Muon for matrices, AdamW for the rest; the rate warms up, stays, and falls linearly to the end of the given time.
Saves OUT_FOLDER/checkpoint.pt every ten minutes and at the end.
"""
import argparse
import dataclasses
import os
import time

import torch

from documents import HELD_OUT, Corpus, Rows
from model import Pocket, Shape

WARM_UP_STEPS = 50
CONSTANT_SHARE = 0.35  # of the time; then the linear fall, to a fiftieth
SAVE_SECONDS = 600


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("out")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--muon-rate", type=float, default=0.02)
    parser.add_argument("--adam-rate", type=float, default=3e-3)
    parser.add_argument("--batch", type=int, default=16384, help="tokens of a step")
    parser.add_argument("--micro", type=int, default=8192, help="tokens of a pass")
    parser.add_argument("--seed", type=int, default=1)
    for field in dataclasses.fields(Shape):
        parser.add_argument(f"--{field.name}", type=int, default=field.default)
    return parser.parse_args()


class Muon:
    """Momentum whose matrix is made orthogonal (five steps of Newton-Schulz) before it is applied."""

    def __init__(self, weights, momentum=0.95, decay=0.01):
        self.weights, self.momentum, self.decay = weights, momentum, decay
        self.state = [torch.zeros_like(weight) for weight in weights]

    @staticmethod
    def orthogonal(matrix):
        tall = matrix.size(0) > matrix.size(1)
        x = matrix.T if tall else matrix
        x = x / (x.norm() + 1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return x.T if tall else x

    @torch.no_grad()
    def step(self, rate):
        for weight, state in zip(self.weights, self.state):
            state.mul_(self.momentum).add_(weight.grad)
            update = self.orthogonal(weight.grad.add(state, alpha=self.momentum))
            scale = max(1, weight.size(0) / weight.size(1)) ** 0.5
            weight.mul_(1 - rate * self.decay).add_(update, alpha=-rate * scale)


def rate_share(step, progress):
    fall = 1 if progress < CONSTANT_SHARE else 1 - (progress - CONSTANT_SHARE) / (1 - CONSTANT_SHARE)
    return min(1, (step + 1) / WARM_UP_STEPS) * max(0.02, fall)


class Run:
    def __init__(self, args):
        self.args = args
        self.shape = Shape(**{f.name: getattr(args, f.name) for f in dataclasses.fields(Shape)})
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.manual_seed(args.seed)
        self.net = Pocket(self.shape).to(self.device)
        matrices = self.net.matrices()
        rest = [p for name, p in self.net.named_parameters() if name not in matrices]
        self.muon = Muon(list(matrices.values()))
        self.adam = torch.optim.AdamW(rest, lr=args.adam_rate, betas=(0.9, 0.98), weight_decay=0)
        self.step = self.tokens = 0
        self.seconds = 0.0
        self.file = f"{args.out}/checkpoint.pt"
        os.makedirs(args.out, exist_ok=True)
        if args.resume and os.path.exists(self.file):
            self.load()
        corpus = Corpus(args.corpus, self.shape.vocabulary, self.shape.context)
        border = len(corpus) - min(HELD_OUT, len(corpus) // 10)
        self.rows = Rows(corpus, 0, border, args.seed + self.step)
        held_out = Rows(corpus, border, len(corpus), 99)
        self.validation = [held_out.take(16) for _ in range(8)]
        count = sum(p.numel() for p in self.net.parameters())
        print(f"{count / 1e6:.1f}M parameters on {self.device}", flush=True)

    def save(self):
        torch.save({"net": self.net.state_dict(), "adam": self.adam.state_dict(), "muon": self.muon.state,
                    "step": self.step, "tokens": self.tokens, "seconds": self.seconds,
                    "shape": dataclasses.asdict(self.shape)}, self.file)

    def load(self):
        saved = torch.load(self.file, map_location=self.device, weights_only=True)
        self.net.load_state_dict(saved["net"])
        self.adam.load_state_dict(saved["adam"])
        self.muon.state = saved["muon"]
        self.step, self.tokens, self.seconds = saved["step"], saved["tokens"], saved["seconds"]

    def loss(self, batch):
        tokens, targets = (torch.from_numpy(each).to(self.device) for each in batch)
        return self.net(tokens, targets)

    @torch.no_grad()
    def validate(self):
        loss = sum(self.loss(batch).item() for batch in self.validation) / len(self.validation)
        print(f"validation {loss:.4f} nats a token after {self.tokens / 1e6:.1f}M tokens", flush=True)

    def train_step(self):
        share = rate_share(self.step, self.seconds / (60 * self.args.minutes))
        for group in self.adam.param_groups:
            group["lr"] = self.args.adam_rate * share
        passes, total = self.args.batch // self.args.micro, 0.0
        for _ in range(passes):
            loss = self.loss(self.rows.take(self.args.micro // self.shape.context)) / passes
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.adam.param_groups[0]["params"], 1.0)
        self.muon.step(self.args.muon_rate * share)
        self.adam.step()
        self.net.zero_grad(set_to_none=True)
        self.step, self.tokens = self.step + 1, self.tokens + self.args.batch
        return total

    def train(self):
        average, last, saved = None, time.time(), time.time()
        while self.seconds < 60 * self.args.minutes:
            loss = self.train_step()
            average = loss if average is None else 0.95 * average + 0.05 * loss
            now = time.time()
            self.seconds, last = self.seconds + now - last, now
            if self.step % 20 == 0:
                print(f"step {self.step}: loss {average:.3f}, {self.tokens / self.seconds:.0f} tokens/s", flush=True)
            if now - saved > SAVE_SECONDS:
                self.validate()
                self.save()
                saved = time.time()
        self.validate()
        self.save()


if __name__ == "__main__":
    Run(arguments()).train()
