#!/usr/bin/env python3
"""Writes splits.txt: random texts and where each set of split rules cuts them.

The rules are the models' own regular expressions, run by the third-party `regex` module, which
knows Unicode classes and backtracks: an independent judge of the hand-written scanners.
A line: the name of the rules, the text in hexadecimal, the byte offsets where pieces end.
Usage: make_splits.py [SEED [CASES_PER_RULE]] > splits.txt
"""
import random
import sys

import regex

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
BLANKS = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"


def llama3(numbers, signs=SIGNS):
    return CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + numbers + "|" + signs + BLANKS


DEEPSEEK_LETTERS = "".join(
    "-".join(chr(int(code, 16)) for code in entry.split("-"))
    for entry in """
    0041-005A 0061-007A 00B5 00C0-00D6 00D8-00F6 00F8-01BA 01BC-01BF 01C4-0293 0295-02AF 0370-0373
    0376 0377 037B-037D 037F 0386 0388-038A 038C 038E-03A1 03A3-03F5 03F7-0481 048A-052F 0531-0556
    10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF 1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15
    1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE
    1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 1FF6-1FFC 2102 2107 210A-2113 2115
    2119-211D 2124 2126 2128 212A-212D 212F-2134 2139 213C-213F 2145-2149 214E 2183 2184 2C00-2C7B
    2C7E-2CE4 2CEB-2CEE 2CF2 2CF3 A640-A66D A680-A69B A722-A76F A771-A787 A78B-A78E AB70-ABBF
    FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F 104B0-104D3 104D8-104FB 10C80-10CB2
    10CC0-10CF2 118A0-118DF 1E900-1E943""".split())
CJK = "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
CASED_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"

RULES = {
    "gpt-2": [GPT2],
    "starcoder": [r"\p{N}", GPT2],
    "llama3": [llama3("{1,3}")],
    "qwen2": [llama3("")],
    "seed-coder": [llama3("{1}", r" ?[^\s\p{L}\p{N}\r\n]+")],
    "qwen35": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
               r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + BLANKS],
    "tekken": [LEAD + UPPER + "*" + LOWER + "+|" + LEAD + UPPER + "+" + LOWER + r"*|\p{N}|"
               + CASED_SIGNS + BLANKS],
    "gpt-4o": [LEAD + UPPER + "*" + LOWER + "+" + CONTRACTION + "?|" + LEAD + UPPER + "+" + LOWER
               + "*" + CONTRACTION + r"?|\p{N}{1,3}|" + CASED_SIGNS + BLANKS],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"],
    "deepseek-llm": [r"[\r\n]", r"\s?[" + DEEPSEEK_LETTERS + "]+",
                     r"\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+", r"\s+\Z",
                     CJK, r"\p{N}+"],
    "deepseek-v3": [r"\p{N}{1,3}", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
                    r'''[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+'''
                    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*" + BLANKS],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"],
}
RULES = {name: [regex.compile(e) for e in expressions] for name, expressions in RULES.items()}


def split(name, text):
    """Each expression cuts every piece of the one before into its matches and the gaps between."""
    pieces = [text]
    for expression in RULES[name]:
        cut = []
        for piece in pieces:
            gap = 0
            for match in expression.finditer(piece):
                if match.start() > gap:
                    cut.append(piece[gap:match.start()])
                cut.append(match.group())
                gap = match.end()
            if gap < len(piece):
                cut.append(piece[gap:])
        pieces = cut
    return pieces


CHARACTERS = (list("  \t\n\r\n aabBcZsdtmlrev''SDLTRM0123459.,;:!?$+<=>^~|`/\\-_(){}[]\"#@%&*")
              + list("éÉßµñ中文字かカ한글Ωωािٰ\u0301\u0303①½٣ⅣªǅʰːﬀЖж𝐀𐐀😀€™·“”…、。　Ａａ０！，")
              + list("\u2003\u00a0\u0085\u200b\u200d\x00\x07\x7f\ufeff\u2028"))
WORDS = ["def foo(self):\n    return ", "'ll", "'S", "I'M", "HTTPServer", "camelCase",
         "x_1 = 12345\n", "\r\n\r\n", "    ", "\t\t", "// ", "日本語", "a b", "don't", "DON'T",
         "naïve", "e\u0301", " \n ", "  \n\n  x", "://", "/*\n", "*/\n/"]


def random_text(source):
    length = source.choice([3, 6, 12, 30])
    return "".join(source.choice(CHARACTERS if source.random() < 0.8 else WORDS)
                   for _ in range(length))


def main():
    source = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 80):
        for name in RULES:
            text = random_text(source)
            ends, at = [], 0
            for piece in split(name, text):
                at += len(piece.encode())
                ends.append(at)
            print(name, text.encode().hex(), *ends)


if __name__ == "__main__":
    main()
