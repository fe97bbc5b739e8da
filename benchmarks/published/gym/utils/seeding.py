import hashlib

from gymnasium.utils.seeding import np_random

__all__ = ["hash_seed", "np_random"]


def hash_seed(seed, max_bytes=8):
    return int.from_bytes(hashlib.sha512(str(seed).encode()).digest()[:max_bytes], "little")
