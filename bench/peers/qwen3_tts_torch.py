"""Peer of bench/qwen3-tts.ts: upstream's own talker and code predictor (pip install qwen-tts==0.1.1) on the same checkpoint.

stdin: {"checkpoint": folder, "threads": n, "frames": n, "prompt": positions, "dtype": "bfloat16" | "float32"}
stdout: seconds of load, prompt and frames, the code predictor's share, peak of anonymous memory in MiB
"""
import json
import os
import re
import sys
import threading
import time

request = json.load(sys.stdin)
# Upstream prints to stdout while it is imported.
answer = os.dup(1)
os.dup2(2, 1)

peak = 0.0


def watch():
    global peak
    while True:
        with open("/proc/self/status") as status:
            found = re.search(r"RssAnon:\s+(\d+)", status.read())
        peak = max(peak, int(found.group(1)) / 1024)
        time.sleep(0.02)


if os.path.exists("/proc/self/status"):
    threading.Thread(target=watch, daemon=True).start()

import torch  # noqa: E402
from qwen_tts.core.models.configuration_qwen3_tts import Qwen3TTSTalkerConfig  # noqa: E402
from qwen_tts.core.models.modeling_qwen3_tts import Qwen3TTSTalkerForConditionalGeneration  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

torch.set_num_threads(request["threads"])
torch.manual_seed(1)
dtype = getattr(torch, request["dtype"])
frames = request["frames"]

started = time.perf_counter()
with open(os.path.join(request["checkpoint"], "config.json")) as file:
    config = Qwen3TTSTalkerConfig(**json.load(file)["talker_config"])
config._attn_implementation = config.code_predictor_config._attn_implementation = "sdpa"
with torch.device("meta"):
    talker = Qwen3TTSTalkerForConditionalGeneration(config)
state = load_file(os.path.join(request["checkpoint"], "model.safetensors"))
state = {name.removeprefix("talker."): tensor.to(dtype) for name, tensor in state.items()}
talker.load_state_dict(state, assign=True)
# Rotary frequencies are computed, not stored.
for module in (talker.model, talker.code_predictor.model):
    module.rotary_emb = type(module.rotary_emb)(config=module.config)
talker.eval()
load_seconds = time.perf_counter() - started

spent = {"predictor": 0.0, "prompt": None}
generate_codes, forward = talker.code_predictor.generate, talker.model.forward


def timed_codes(*args, **kwargs):
    begin = time.perf_counter()
    result = generate_codes(*args, **kwargs)
    spent["predictor"] += time.perf_counter() - begin
    return result


def timed_forward(*args, **kwargs):
    begin = time.perf_counter()
    result = forward(*args, **kwargs)
    if spent["prompt"] is None:
        spent["prompt"] = time.perf_counter() - begin
    return result


talker.code_predictor.generate, talker.model.forward = timed_codes, timed_forward
width = config.hidden_size
text = 0.03 * torch.randn(1, 1, width).to(dtype)
arguments = {
    "inputs_embeds": 0.03 * torch.randn(1, request["prompt"], width).to(dtype),
    "attention_mask": torch.ones(1, request["prompt"], dtype=torch.long),
    "trailing_text_hidden": text,
    "tts_pad_embed": text,
    # The last first code that is drawn gets no other codes.
    "max_new_tokens": frames + 1,
    "min_new_tokens": frames + 1,
    "do_sample": True,
    "top_k": 50,
    "temperature": 0.9,
    "repetition_penalty": 1.05,
    "subtalker_dosample": True,
    "subtalker_top_k": 50,
    "subtalker_top_p": 1.0,
    "subtalker_temperature": 0.9,
    "eos_token_id": config.codec_eos_token_id,
    "suppress_tokens": [i for i in range(config.vocab_size - 1024, config.vocab_size) if i != config.codec_eos_token_id],
}
with torch.inference_mode():
    started = time.perf_counter()
    talker.generate(**arguments)
    whole = time.perf_counter() - started
result = {
    "load_seconds": load_seconds,
    "prompt_seconds": spent["prompt"],
    "frame_seconds": (whole - spent["prompt"]) / frames,
    "predictor_seconds": spent["predictor"] / frames,
    "peak_anon_mib": peak,
}
os.write(answer, json.dumps(result).encode())
