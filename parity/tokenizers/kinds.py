"""Small tokenizers trained with `tokenizers`, one for each kind of pre-tokenization in use."""

import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
]
O200K = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
KIMI = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
ODD = r"\bw\w+\b|[\W\d]\w|[^\S\n]{2,}|\h{,4}[^\w\s]|\u0041[\x{42}-\x{5A}]*|(?<=\d)\D|(?m:\\.)|[[:digit:]-]+?|^\P{L}|\p{^L}$"

ADDED = [
    AddedToken("<|special|>", special=True),
    AddedToken("<|end|>", special=True, normalized=True),
    AddedToken("[mask]", lstrip=True, special=True),
    AddedToken("[right]", rstrip=True),
    AddedToken("[both]", lstrip=True, rstrip=True, single_word=True),
    AddedToken("word", single_word=True),
    AddedToken("\u00c9clair", normalized=True),
    AddedToken("he\u0301llo", normalized=False),
    AddedToken("<|spec", normalized=False),
    AddedToken("AddMe", normalized=True),
    AddedToken("   ", normalized=False),
]
BYTE_ALPHABET = pre_tokenizers.ByteLevel.alphabet()


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def byte_level(*before, **options):
    last = pre_tokenizers.ByteLevel(**({"add_prefix_space": False, "use_regex": not before} | options))
    return pre_tokenizers.Sequence([*before, last]) if before else last


def template(text, *tokens):
    return processors.TemplateProcessing(single=text, pair=f"{text} $B:1", special_tokens=list(tokens))


def train(text, pre_tokenizer, normalizer=None, decoder=None, added=ADDED, model=None, post=None, alphabet=(), **trainer):
    tokenizer = Tokenizer(models.BPE(**(model or {})))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    special = ["<unk>", "<s>", "</s>"]
    settings = {"vocab_size": 1600, "special_tokens": special, "initial_alphabet": sorted(alphabet), "show_progress": False}
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(**(settings | trainer)))
    tokenizer.add_tokens(added)
    if post:
        tokenizer.post_processor = post
    return tokenizer


def edit(tokenizer, **model):
    """The tokenizer with changed fields of its model."""
    data = json.loads(tokenizer.to_str())
    data["model"].update(model)
    return Tokenizer.from_str(json.dumps(data))


def with_byte_tokens(tokenizer):
    """SentencePiece's layout: <unk> <s> </s>, 256 byte tokens, then the pieces."""
    data = json.loads(tokenizer.to_str())
    model = data["model"]
    pieces = [t for t in sorted(model["vocab"], key=model["vocab"].get) if t not in ("<unk>", "<s>", "</s>")]
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + pieces
    model["vocab"] = {name: i for i, name in enumerate(names)}
    model.update(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    for token in data["added_tokens"]:
        token["id"] = model["vocab"].get(token["content"], token["id"] + 256)
    return Tokenizer.from_str(json.dumps(data))


def sentencepiece_decoder():
    return decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])


def byte_level_kinds(text):
    def make(*before, normalizer=None, post=None, added=ADDED, **options):
        return train(text, byte_level(*before, **options), normalizer, decoders.ByteLevel(), added, post=post, alphabet=BYTE_ALPHABET)

    bos_first = processors.Sequence([processors.ByteLevel(trim_offsets=False), template("<s> $A", ("<s>", 1))])
    yield "gpt2", make(post=processors.ByteLevel(trim_offsets=False))
    yield "roberta", make(add_prefix_space=True, post=processors.RobertaProcessing(("</s>", 2), ("<s>", 1)))
    yield "llama3", edit(make(split(LLAMA3), post=bos_first), ignore_merges=True)
    yield "qwen2", make(split(QWEN2), normalizer=normalizers.NFC())
    yield "deepseek", make(*map(split, DEEPSEEK))
    yield "smollm2", make(pre_tokenizers.Digits(individual_digits=True), use_regex=True)
    yield "o200k", make(split(O200K), post=template("$A </s>", ("</s>", 2)))
    yield "cl100k", make(split(CL100K, "removed", True))
    yield "kimi", make(split(KIMI))
    yield "odd_regex", make(split(ODD), normalizer=normalizers.NFKD(), added=[])


def sentencepiece_kinds(text):
    bos = template("<s> $A", ("<s>", 1))
    mark = "\u2581"
    old = normalizers.Sequence([normalizers.Prepend(mark), normalizers.Replace(" ", mark)])
    words = [piece.replace(" ", mark) for line in text for piece in line.split("\n")]
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    named = [AddedToken("<unk>", special=True), AddedToken("<s>", special=True), AddedToken("</s>", special=True)]

    def spm(pre_tokenizer, normalizer=None, corpus=text):
        tokenizer = train(corpus, pre_tokenizers.Metaspace(), decoder=sentencepiece_decoder(), added=named + ADDED, post=bos)
        tokenizer.pre_tokenizer, tokenizer.normalizer = pre_tokenizer, normalizer
        return with_byte_tokens(tokenizer)

    yield "llama2_normalizer", spm(None, old)
    yield "llama2_metaspace", spm(metaspace)
    yield "mistral_split", spm(pre_tokenizers.Metaspace(prepend_scheme="always", split=True))
    never = spm(pre_tokenizers.Metaspace(prepend_scheme="never", split=True))
    never.decoder = decoders.Metaspace(prepend_scheme="first")
    yield "metaspace_never", never
    gemma = spm(pre_tokenizers.Split(" ", "merged_with_previous"), normalizers.Replace(" ", mark), words)
    gemma.decoder = decoders.Sequence([decoders.Replace(mark, " "), decoders.ByteFallback(), decoders.Fuse()])
    yield "gemma", gemma
    first = normalizers.Sequence([normalizers.Strip(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.NFKC()])
    both = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Metaspace(prepend_scheme="first")])
    yield "metaspace_offsets", spm(both, first)


def word_kinds(text):
    clean = normalizers.Sequence([normalizers.Nmt(), normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip(left=False)])
    plain = dict(unk_token="<unk>")
    yield "whitespace_suffix", train(text, pre_tokenizers.Whitespace(), clean, model=plain | {"end_of_word_suffix": "</w>"}, end_of_word_suffix="</w>", limit_alphabet=200)
    yield "punctuation_prefix", train(text, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]), model=plain | {"continuing_subword_prefix": "##", "fuse_unk": True}, continuing_subword_prefix="##", limit_alphabet=200)
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        stages = [split(r"\s", behavior), split(r"[\p{L}\p{M}]+", behavior, True), pre_tokenizers.Digits(individual_digits=False)]
        yield f"split_{behavior}", train(text, pre_tokenizers.Sequence(stages), normalizers.NFKC(), model=plain, limit_alphabet=300)
    yield "bare", train(text, None, added=[], post=processors.BertProcessing(("</s>", 2), ("<s>", 1)), vocab_size=400)


def trained(text):
    for group in (byte_level_kinds, sentencepiece_kinds, word_kinds):
        yield from group(text)
