"""Lines of text for the tokenizer cases: many scripts, code, emoji, white space, control characters,
random scalars and malformed UTF-8. All made up here from a seed; each line is bytes."""

import random

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2003\u2007\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
NEAR_SPACES = "\u180e\u200b\u200c\u200d\u2060\ufeff\u2581_"
CONTRACTIONS = "'s 't 're 've 'm 'll 'd 'S 'T 'RE 'Ve 'LL 'D \u2019s '\u017f".split(" ")
PUNCTUATION = list(".,;:!?-()[]{}<>/\\|@#$%^&*+=~`\"'") + "... -- => != :: // /* */ </ /> \u2014 \u2026 \u00ab \u00bb \u3001 \u3002 \uff01 \u061f \u0964 \u00a7 \u2192 \u2211 \u20ac \u00b2 \u00bd".split()
SYLLABLES = {
    "latin": "ba co din er fo gra hi in jo ka lo men nu or pe qua ri so ti un ve wo xy za the and ing tion".split(),
    "accented": "\u00e9t \u00e0 \u00f1o \u00fcb \u00f8r \u00e7a \u0159e \u017ei \u0142o \u0130s \u0131k e\u0301 o\u0308 n\u0303 \u1ec7n \u01b0\u1edd \u00df \ufb01 \u01c5".split(),
    "greek": "\u03b1\u03bb \u03c6\u03b1 \u03c3\u03bf \u03c2 \u03a3\u0391 \u03af\u03b1 \u03ce \u1f04\u03bd \u03b1\u0301".split(),
    "cyrillic": "\u043f\u0440\u0438 \u0432\u0435\u0442 \u043c\u0438\u0440 \u0439\u043e \u0451\u0436 \u0410\u0411 \u0438\u0306 \u0457\u0457".split(),
    "hebrew": "\u05e9\u05dc \u05d5\u05dd \u05e2\u05d5 \u05dc\u05dd \u05d1\u05b0 \u05e8\u05b5".split(),
    "arabic": "\u0633\u0644\u0627 \u0645\u064e \u0639\u0644\u064a \u0643\u0645\u0652 \u0634\u064f \ufefb".split(),
    "devanagari": "\u0928\u092e \u0938\u094d\u0924\u0947 \u0939\u093f \u0928\u094d \u0926\u0940 \u0915\u093c \u0958".split(),
    "thai": "\u0e2a\u0e27 \u0e31\u0e2a \u0e14\u0e35 \u0e04\u0e23 \u0e31\u0e1a \u0e33".split(),
    "hangul": "\uc548 \ub155 \ud558 \uc138 \uc694 \u1112\u1161\u11ab \u1100\u1173".split(),
    "kana": "\u3053 \u3093 \u306b \u3061 \u306f \u30ab \u30ac \u30cb \u30d5\u309a \uff76\uff9e \u30fc".split(),
    "han": "\u4f60 \u597d \u4e16 \u754c \u4e2d \u6587 \u6f22 \u5b57 \uf900 \U00020000 \U0002f800 \u3007 \u9fa6".split(),
    "other": "\u1780\u17d2 \u1000\u103c \u0ba4\u0bae \u0c95\u0ccd \u12a0\u121b \u10d0\u10d1 \u0531\u0561 \u13a0\uab70 \U00010400\U00010428 \U0001e900\U0001e943 \U00011f02 \U00031350".split(),
}
DIGITS = ["0123456789", "\u0660\u0661\u0662\u0669", "\u0966\u0967\u096f", "\uff10\uff11\uff19", "\u2160\u2167\u216b", "\u00b2\u00b3\u00bd\u2460", "\U0001d7ce\U0001d7d7", "\u4e00\u4e8c\u5341"]
EMOJI = "\U0001f600 \U0001f44d\U0001f3fd \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f 1\ufe0f\u20e3 \U0001f3f4\U000e0067\U000e0062\U000e007f \u2600 \U0001fae8 \U0001fac6".split(" ")
CODE = [
    "def {a}({b}, *args, **kwargs):", "    return {a}[{n}:] if {b} is not None else {{}}", "\tfor (int i = 0; i < {n}; ++i) {{",
    "#include <{a}.h>\r\n", "x = {n}.{n}e-{n} + 0x{n}f * {a}_{b};", "<div class=\"{a}\">{b}</div>", "SELECT {a}, {b} FROM t WHERE id={n};",
    "        // TODO({a}): don't {b} here!!", "{{\"{a}\": [{n}, null, true], \"{b}\": \"\\u00e9\\n\"}}", "git commit -m '{a} {b}' && ./{a}.sh | grep -E \"^{b}$\"",
    "std::vector<std::string>{{}};\n\n\n    }}\n}}", "https://{a}.example/{b}?q={n}#{a}", "\\frac{{{n}}}{{{a}}} \\times \\mathbb{{R}}^{{{n}}}",
]
MARKS = ["<|special|>", "<|end|>", "<s>", "</s>", "[mask]", "[right]", "[both]", "word", "\u00c9clair", "he\u0301llo", "<|spec", "<0x41>", "<unk>", "AddMe", "addme", "\u2581", "[INST]", "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<|im_start|>user\n", "   ", "  "]
BROKEN = [b"\xff", b"\xc0\x80", b"\xe5\x8f", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\x80", b"\xc3", b"\xf8\x88\x80\x80\x80", b"\xe0\x80\xaf", b"\xfe\xfe"]


def word(r, script):
    text = "".join(r.choice(SYLLABLES[script]) for _ in range(r.randint(1, 4)))
    return r.choice([str, str, str, str.upper, str.capitalize])(text)


def number(r):
    digits = r.choice(DIGITS[:1] * 4 + DIGITS)
    return "".join(r.choice(digits) for _ in range(r.choice([1, 2, 3, 4, 5, 8, 13])))


def sentence(r):
    script = r.choice(["latin"] * 4 + list(SYLLABLES))
    parts = []
    for _ in range(r.randint(2, 14)):
        parts.append(word(r, script if r.random() < 0.9 else r.choice(list(SYLLABLES))))
        extra = r.random()
        if extra < 0.15:
            parts.append(r.choice(CONTRACTIONS))
        elif extra < 0.35:
            parts.append(r.choice(PUNCTUATION))
        elif extra < 0.45:
            parts.append(number(r))
        if script not in ("han", "kana", "thai") or r.random() < 0.1:
            parts.append(r.choice([" "] * 8 + ["  ", "\n", "", "\u00a0"]))
    return "".join(parts)


def code(r):
    lines = [r.choice(CODE).format(a=word(r, "latin"), b=word(r, "latin"), n=number(r)) for _ in range(r.randint(1, 3))]
    return r.choice(["\n", "\r\n", "\n\n", "\n    "]).join(lines)


def emoji(r):
    return "".join(r.choice(EMOJI + [" ", word(r, "latin")]) for _ in range(r.randint(1, 8)))


def white(r):
    pool = SPACES + NEAR_SPACES + " " * 12 + "\n" * 6
    return "".join("".join(r.choice(pool) for _ in range(r.randint(1, 5))) + r.choice(["", word(r, "latin"), number(r), "!"]) for _ in range(r.randint(1, 6)))


def control(r):
    pool = [chr(c) for c in range(32)] + [chr(c) for c in range(0x7F, 0xA1)] + ["a", " ", "Z", "7"]
    return "".join(r.choice(pool) for _ in range(r.randint(1, 20)))


def scalar(r):
    top = r.choice([0x80, 0x250, 0x3000, 0x10000, 0x20000, 0x33480, 0x110000])
    while True:
        c = r.randrange(top)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def scalars(r):
    return "".join(scalar(r) for _ in range(r.randint(1, 24)))


def marks(r):
    glue = ["", "", " ", "  ", "\t", "\n", "a", ".", "\u3000", "\u0301", "\u00e9"]
    return "".join(r.choice(MARKS) + r.choice(glue) + (word(r, "latin") if r.random() < 0.4 else "") for _ in range(r.randint(1, 6)))


def malformed(r):
    parts = []
    for _ in range(r.randint(1, 6)):
        parts.append(r.choice([r.choice(BROKEN), bytes(r.randrange(256) for _ in range(r.randint(1, 6))), r.choice(MAKERS)(r).encode()[: r.randint(1, 40)]]))
    return b"".join(parts)


def mixed(r):
    return "".join(r.choice(MAKERS)(r)[: r.randint(1, 20)] for _ in range(r.randint(2, 6)))


MAKERS = [sentence, code, emoji, white, control, scalars, marks]


def make_lines(count, seed):
    """`count` lines of bytes; one in eight is malformed."""
    r = random.Random(seed)
    makers = [sentence, sentence, sentence, code, emoji, white, control, scalars, scalars, marks, marks, mixed, mixed]
    lines = [b"", b" ", b"  ", b"\n", b"a", b"\x00", "\u2581".encode(), "\u0301".encode()]
    while len(lines) < count:
        lines.append(malformed(r) if r.random() < 0.125 else r.choice(makers)(r).encode())
    return lines


def training_text(count, seed):
    r = random.Random(seed)
    return [r.choice([sentence, sentence, sentence, code, emoji, white])(r) for _ in range(count)]
