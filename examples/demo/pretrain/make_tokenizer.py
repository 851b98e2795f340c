"""Trains the demo's tokenizer on the pretraining rows and writes it into FOLDER.

    python3 make_tokenizer.py ROWS.jsonl FOLDER       (needs the package `tokenizers`)

A capitalised word, a digit and white space are pieces of their own, so an invented name has the
same tokens wherever it stands.
"""
import json
import sys

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PIECES = r"[A-Z][a-z]*|[0-9]| ?[a-z]+| ?[^\sA-Za-z0-9]+|\s"
END = "<|end|>"


def texts(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield row["text"] if "text" in row else row["prompt"] + row["completion"]


def main(rows, folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=512, special_tokens=[END], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts(rows), trainer)
    tokenizer.save(f"{folder}/tokenizer.json")
    side = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "pad_token": END,
            "model_max_length": 128, "clean_up_tokenization_spaces": False}
    with open(f"{folder}/tokenizer_config.json", "w", encoding="utf-8") as file:
        file.write(json.dumps(side, indent=2) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) == 3 else sys.exit(__doc__)
