"""The batches. Everything is drawn from NumPy's PCG64, which gives the same bits on every machine.

tiny    one row of 6 tokens, all supervised; gate 1 lives here
tile    rows of 130 and 37 tokens, padded on the right, a fifth of the labels ignored
packed  two documents in one row, positions restart; the reference runs each document alone
left    tile with the padding on the left and position_ids that start at the first real token,
        which has no label: padding does not predict it
"""

import hashlib
from dataclasses import dataclass

import numpy as np

IGNORED = -100
TINY_LENGTH = 6
TILE_LENGTHS = (130, 37)
SIZE_OF = {"tiny": "tiny", "tile": "tile", "packed": "tile", "left": "tile"}


@dataclass
class Batch:
    """Arrays [B, T]; mask and positions are None where the model is called without them.
    `documents` holds the lengths of packed documents, else it is empty."""

    input_ids: np.ndarray
    labels: np.ndarray
    attention_mask: np.ndarray | None = None
    position_ids: np.ndarray | None = None
    documents: tuple = ()

    def tensors(self):
        named = {
            "input_ids": self.input_ids, "labels": self.labels,
            "attention_mask": self.attention_mask, "position_ids": self.position_ids,
        }
        return {name: value for name, value in named.items() if value is not None}

    def valid(self):
        """Which tokens count, [B, T] of bool."""
        if self.attention_mask is None:
            return np.ones(self.input_ids.shape, bool)
        return self.attention_mask == 1


def generator(*key):
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))


def make_batch(surface, fixture, seed):
    config = surface.config_for(SIZE_OF[fixture])
    rng = generator("batch", surface.name, fixture, seed)
    pad = config.get("pad_token_id")
    makers = {"tiny": _tiny, "tile": _tile, "packed": _packed, "left": _left}
    return makers[fixture](surface, rng, config["vocab_size"], pad)


def _tiny(surface, rng, vocab, pad):
    ids = _tokens(rng, vocab, pad, TINY_LENGTH)[None]
    return Batch(ids, ids.copy())


def _tile(surface, rng, vocab, pad):
    return _padded(rng, vocab, pad, left=False)


def _left(surface, rng, vocab, pad):
    batch = _padded(rng, vocab, pad, left=True)
    first = batch.attention_mask.argmax(axis=1)
    batch.labels[np.arange(len(first)), first] = IGNORED
    batch.position_ids = np.maximum(np.cumsum(batch.attention_mask, axis=1) - 1, 0)
    return batch


def _packed(surface, rng, vocab, pad):
    ids, labels, positions = [], [], []
    for length in surface.packed_lengths:
        document = _tokens(rng, vocab, pad, length)
        ids.append(document)
        labels.append(_some_ignored(rng, document))
        labels[-1][0] = IGNORED
        positions.append(np.arange(length, dtype=np.int64))
    row = [np.concatenate(part)[None] for part in (ids, labels, positions)]
    return Batch(row[0], row[1], None, row[2], tuple(surface.packed_lengths))


def _padded(rng, vocab, pad, left):
    width = max(TILE_LENGTHS)
    shape = (len(TILE_LENGTHS), width)
    ids = np.full(shape, 0 if pad is None else pad, np.int64)
    labels = np.full(shape, IGNORED, np.int64)
    mask = np.zeros(shape, np.int64)
    for row, length in enumerate(TILE_LENGTHS):
        span = slice(width - length, width) if left else slice(0, length)
        ids[row, span] = _tokens(rng, vocab, pad, length)
        labels[row, span] = _some_ignored(rng, ids[row, span])
        mask[row, span] = 1
    return Batch(ids, labels, mask)


def _tokens(rng, vocab, pad, length):
    """Random tokens; a pad token, where there is one, also stands in the middle of the text."""
    ids = rng.integers(0, vocab, length, dtype=np.int64)
    if pad is not None:
        ids[length // 2] = pad
    return ids


def _some_ignored(rng, ids):
    return np.where(rng.random(len(ids)) < 0.2, IGNORED, ids)
