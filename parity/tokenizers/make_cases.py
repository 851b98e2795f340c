"""Writes what the pinned `tokenizers` makes of the lines of lines.py, for tests/text/cases_test.cpp:

    python parity/tokenizers/make_cases.py OUT [--lines 6000] [--real] [--only NAME ...]
    LEMNOS_TOKENIZER_CASES=OUT build/dev/tests/text_tests --gtest_filter='TokenizerCases.*'

OUT/<tokenizer>/tokenizer.json and OUT/<tokenizer>/cases.jsonl; each line of the latter holds the bytes
(hex), the ids without and with special tokens, and the ids decoded with and without special tokens.
OUT/unicode.json holds what single components do to each code point. With --real the tokenizers of
requirements.txt are added; they must be installed.
"""

import argparse
import json
from pathlib import Path

import kinds
import lines as text_lines
import real
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

SEED = 20240607
# Every code point of the blocks in use, and some of the rest.
SCALARS = [c for c in range(0x33500) if not 0xD800 <= c < 0xE000] + list(range(0x33500, 0xE0000, 997)) + list(range(0xE0000, 0xE0200)) + list(range(0xE0200, 0x110000, 997))
CLASSES = (
    [rf"\p{{{name}}}" for name in "L Lu Ll Lt Lm Lo LC M Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs C Cc Cf Cn Co".split()]
    + [rf"\p{{{name}}}" for name in "White_Space Arabic Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin Thai".split()]
    + [rf"\{letter}" for letter in "wWsSdDhHRvnt"]
    + [r"[^\s\p{L}\p{N}]", r"[^\S\r\n]", r"[\W\d]", r"[\P{L}a]", r"[^\P{L}a]", r"[\p{L}\p{M}&&[^\p{Han}]]", r"[[:digit:]_]", r"[\w]", r"[[:space:]]", "(?i:[sk])", "(?i:a)", ".", "(?m:.)", r"[+\-a-]"]
)
PRE_TOKENIZERS = [
    pre_tokenizers.Digits(individual_digits=True),
    pre_tokenizers.Punctuation(),
    pre_tokenizers.Whitespace(),
    pre_tokenizers.WhitespaceSplit(),
    pre_tokenizers.Metaspace(),
]
NORMALIZERS = [
    normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(),
    normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Nmt(), normalizers.Strip(),
]


def ranges(codes):
    out = []
    for code in codes:
        if out and out[-1][1] + 1 == code:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def class_ranges(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    found = set()
    for start in range(0, len(SCALARS), 4096):
        for piece, _ in split.pre_tokenize_str("a".join(map(chr, SCALARS[start : start + 4096]))):
            found.update(map(ord, piece))
    if split.pre_tokenize_str("a") == []:
        found.discard(ord("a"))
    return ranges(sorted(found))


def pre_tokenizer_cases(component):
    """Into pieces of how many characters "a?a" is cut, for each code point."""
    by_cut = {}
    for code in SCALARS:
        lengths = tuple(len(piece) for piece, _ in component.pre_tokenize_str(f"a{chr(code)}a"))
        by_cut.setdefault(lengths, []).append(code)
    return [{"lengths": list(cut), "ranges": ranges(codes)} for cut, codes in by_cut.items()]


def component_json(component):
    return json.loads(component.__getstate__())


def unicode_cases():
    return {
        "scalars": ranges(SCALARS),
        "classes": [{"pattern": pattern, "ranges": class_ranges(pattern)} for pattern in CLASSES],
        "pre_tokenizers": [{"json": component_json(c), "cuts": pre_tokenizer_cases(c)} for c in PRE_TOKENIZERS],
        "normalizers": [
            {"json": component_json(c), "changed": [[code, out] for code in SCALARS if (out := c.normalize_str(chr(code))) != chr(code)]}
            for c in NORMALIZERS
        ],
    }


def write_cases(tokenizer, folder, lines):
    tokenizer.no_truncation()
    tokenizer.no_padding()
    texts = [line.decode("utf-8", errors="replace") for line in lines]
    bare = tokenizer.encode_batch(texts, add_special_tokens=False)
    framed = tokenizer.encode_batch(texts, add_special_tokens=True)
    with open(folder / "cases.jsonl", "w") as out:
        for line, ids, framed_ids in zip(lines, (e.ids for e in bare), (e.ids for e in framed)):
            case = {"hex": line.hex(), "ids": ids, "framed_ids": framed_ids}
            case["text"] = tokenizer.decode(framed_ids, skip_special_tokens=False)
            case["plain_text"] = tokenizer.decode(framed_ids, skip_special_tokens=True)
            out.write(json.dumps(case) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--lines", type=int, default=6000)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--only", nargs="*", help="names of tokenizers")
    arguments = parser.parse_args()
    lines = text_lines.make_lines(arguments.lines, SEED)
    makers = {name: (lambda folder, t=t: t.save(str(folder / "tokenizer.json")) or t) for name, t in kinds.trained(text_lines.training_text(3000, SEED + 1))}
    if arguments.real:
        makers |= {name: (lambda folder, n=name: real.write_real(n, folder)) for name in real.REAL}
    for name, make in makers.items():
        if arguments.only and name not in arguments.only:
            continue
        folder = arguments.out / name
        folder.mkdir(parents=True, exist_ok=True)
        write_cases(make(folder), folder, lines)
        print(f"{name}: {len(lines)} lines")
    if not arguments.only:
        (arguments.out / "unicode.json").write_text(json.dumps(unicode_cases()))


if __name__ == "__main__":
    main()
