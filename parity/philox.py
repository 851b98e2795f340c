"""Replays the masks of the engine's dropout (src/ops/elementwise/dropout.h) bit for bit."""

import numpy as np


def philox4x32(counter, key):
    """Philox4x32-10 (Salmon et al., SC11). `counter` [..., 4] and `key` [2], unsigned 32-bit."""
    words = [np.asarray(counter)[..., i].astype(np.uint64) for i in range(4)]
    low32 = np.uint64(0xFFFFFFFF)
    key = [int(key[0]) & 0xFFFFFFFF, int(key[1]) & 0xFFFFFFFF]
    for _ in range(10):
        first = words[0] * np.uint64(0xD2511F53)
        second = words[2] * np.uint64(0xCD9E8D57)
        shift = np.uint64(32)
        words = [
            (second >> shift) ^ words[1] ^ np.uint64(key[0]),
            second & low32,
            (first >> shift) ^ words[3] ^ np.uint64(key[1]),
            first & low32,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(words, axis=-1).astype(np.uint32)


def dropout_mask(rows, columns, p, *, seed, step, micro, site):
    """Factors [len(rows), columns] (float32) by which dropout multiplies: 0, or 1 / (1 - p).

    `rows` are the row keys (the flat row numbers unless documents are packed), `seed` has 64 bits.
    """
    rows = np.asarray(rows, dtype=np.int64).astype(np.uint32)
    blocks = (columns + 3) // 4
    counter = np.zeros((len(rows), blocks, 4), dtype=np.uint32)
    counter[..., 0] = rows[:, None]
    counter[..., 1] = np.uint32(site * 65536) + np.arange(blocks, dtype=np.uint32)
    counter[..., 2] = micro & 0xFFFFFFFF
    counter[..., 3] = step & 0xFFFFFFFF
    words = philox4x32(counter, (seed & 0xFFFFFFFF, seed >> 32)).reshape(len(rows), -1)
    kept = words[:, :columns] >= np.uint32(int(p * 2.0**32))
    return np.where(kept, np.float32(1) / np.float32(1 - p), np.float32(0))
