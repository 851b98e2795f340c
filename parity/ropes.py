"""RoPE types of the shared reader, one of each kind: every family has them, few have more."""

from parity.surface import Surface

ORIGINAL = 4096  # trained length of the types that stretch it


def linear(theta):
    return {"rope_type": "linear", "rope_theta": theta, "factor": 4.0}


def dynamic(theta):
    return {"rope_type": "dynamic", "rope_theta": theta, "factor": 2.0}


def llama3(theta):
    return {
        "rope_type": "llama3", "rope_theta": theta, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
    }


def yarn(theta, **more):
    return {
        "rope_type": "yarn", "rope_theta": theta, "factor": 4.0,
        "original_max_position_embeddings": ORIGINAL,
    } | more


def longrope(theta, pairs, original, **more):
    """Factors that differ from pair to pair; rows longer than `original` take the long ones."""
    return {
        "rope_type": "longrope", "rope_theta": theta,
        "short_factor": [1.0 + 0.05 * i for i in range(pairs)],
        "long_factor": [1.5 + 0.4 * i for i in range(pairs)],
        "original_max_position_embeddings": original,
    } | more
