"""Writes the demo's data, all of it made up here and a function of this file alone.

    python3 make_data.py pretrain FILE.jsonl [ROWS]   what the base model learns from
    python3 make_data.py finetune FOLDER              train.jsonl and held_out.jsonl

The base model learns to read notes about invented people: to answer questions on them, to say them
in other words, to repeat strings and to look things up in lists. It never sees a note turned into a
JSON record; that is what the fine-tune teaches. No name and no town of held_out.jsonl occurs in any
row that the base model or the fine-tune learns from.
"""
import json
import random
import sys
import zlib

ONSETS = "b d f g h k l m n p r s t v z br tr".split()
VOWELS = "a e i o u".split()
ENDS = ["", "", "", "n", "r", "s"]
NOTES = [
    "{name} is {age} years old and lives in {town}.",
    "{name}, aged {age}, comes from {town}.",
    "In {town} lives {name}, who is {age}.",
    "At {age}, {name} moved to {town}.",
    "{name} from {town} turned {age} today.",
    "My friend {name} ({age}) works in {town}.",
]
OTHER_WORDS = {
    "Briefly": "{name}, {age}, {town}.",
    "Backwards": "{town}, {age}, {name}.",
    "Letter": "Dear {name}, how is {town}? You are {age} now!",
    "Table": "town = {town}; name = {name}; age = {age};",
}
QUESTIONS = {
    "Who is it?": "{name}.",
    "How old?": "{age}.",
    "Where?": "{town}.",
}
THINGS = "apple boat chair drum egg fork glove hat lamp mask nail pear ring shoe tent wheel".split()
SIGNS = ['{"', '":"', '","', '":', ',"', '"}', *'{}":,=;()-/']
FIELDS = "name age town who where old".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
DIGITS = "0123456789"


def is_held_out(word):
    return zlib.crc32(word.encode()) % 8 == 0


def invented_word(rng, held_out):
    while True:
        syllables = [rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(rng.choice([2, 2, 3]))]
        word = "".join(syllables) + rng.choice(ENDS)
        if is_held_out(word) == held_out:
            return word.capitalize()


def person(rng, held_out=False):
    return {"name": invented_word(rng, held_out), "age": str(rng.randint(10, 99)),
            "town": invented_word(rng, held_out)}


def pair(prompt, answer):
    return {"prompt": prompt, "completion": " " + answer}


def question(rng):
    who, (asked, answer) = person(rng), rng.choice(list(QUESTIONS.items()))
    return pair(f"{rng.choice(NOTES).format(**who)}\n{asked}", answer.format(**who))


def other_words(rng):
    who, (order, answer) = person(rng), rng.choice(list(OTHER_WORDS.items()))
    return pair(f"{rng.choice(NOTES).format(**who)}\n{order}:", answer.format(**who))


def repeat(rng):
    kinds = [lambda: invented_word(rng, False)]
    kinds += [lambda words=words: rng.choice(words) for words in (SIGNS, FIELDS, DIGITS, THINGS)]
    text = "".join(rng.choice(kinds)() for _ in range(rng.randint(3, 9)))
    return pair(f"Repeat: {text}\nAgain:", text)


def look_up(rng):
    things = rng.sample(THINGS, rng.randint(2, 4))
    record = {thing: rng.randint(0, 99) for thing in things}
    asked = rng.choice(things)
    text = json.dumps(record, separators=(",", ":"))
    return pair(f"Stock: {text}\nHow many {asked}?", f"{record[asked]}.")


def next_day(rng):
    day = rng.randrange(len(DAYS))
    return pair(f"Today is {DAYS[day]}.\nTomorrow?", DAYS[(day + 1) % len(DAYS)] + ".")


def story(rng):
    who = person(rng)
    notes = [note.format(**who) for note in rng.sample(NOTES, 2)]
    return {"text": "\n".join(notes)}


FAMILIES = [(question, 30), (other_words, 35), (repeat, 20), (look_up, 8), (next_day, 1),
            (story, 6)]


def pretrain_rows(count):
    rng = random.Random("demo pretrain")
    makers, weights = zip(*FAMILIES)
    for _ in range(count):
        yield rng.choices(makers, weights)[0](rng)


def record_row(rng, held_out):
    who = person(rng, held_out)
    record = {"name": who["name"], "age": int(who["age"]), "town": who["town"]}
    text = json.dumps(record, separators=(",", ":"))
    return pair(f"{rng.choice(NOTES).format(**who)}\nRecord:", text)


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def main(kind, path, rows="200000"):
    if kind == "pretrain":
        write(path, pretrain_rows(int(rows)))
    elif kind == "finetune":
        train, held_out = random.Random("demo train"), random.Random("demo held out")
        write(f"{path}/train.jsonl", (record_row(train, False) for _ in range(1600)))
        write(f"{path}/held_out.jsonl", (record_row(held_out, True) for _ in range(100)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 2 else sys.exit(__doc__)
