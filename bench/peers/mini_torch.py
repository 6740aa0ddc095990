"""Peer of bench/mini.ts: the recipe's own PyTorch reference on the same phones.

stdin: {"voice": folder, "pieces": [{"ids": [...], "word_start": [...]}], "threads": n}
stdout: {"compute_seconds": s, "audio_seconds": s, "load_seconds": s}
"""
import json
import os
import sys
import time

request = json.load(sys.stdin)
sys.path.insert(0, os.path.join(request["voice"], "recipe"))

import torch  # noqa: E402

torch.set_num_threads(request["threads"])
started = time.perf_counter()
from synth import Voice  # noqa: E402

voice = Voice(request["voice"])
load_seconds = time.perf_counter() - started
samples = 0
started = time.perf_counter()
for number, piece in enumerate(request["pieces"]):
    samples += len(voice.say(piece["ids"], piece["word_start"], seed=number))
compute_seconds = time.perf_counter() - started
print(json.dumps({"compute_seconds": compute_seconds, "audio_seconds": samples / 24000, "load_seconds": load_seconds}))
