"""Upstream's codec decoder (qwen-tts 0.1.1) at its published size; runs as one contender of bench/qwen3-codec.ts.

    make FOLDER                     writes a random checkpoint, config.json and codes.json
    run FOLDER FRAMES THREADS       decodes, prints figures, writes the samples beside the checkpoint
"""

import json
import math
import pathlib
import sys
import time

import torch
from qwen_tts.core.tokenizer_12hz.configuration_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2DecoderConfig
from qwen_tts.core.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Decoder
from safetensors.torch import load_file, save_file

# As published (Qwen/Qwen3-TTS-Tokenizer-12Hz).
CONFIG = {
    "attention_bias": False, "codebook_dim": 512, "codebook_size": 2048, "decoder_dim": 1536, "head_dim": 64,
    "hidden_act": "silu", "hidden_size": 512, "intermediate_size": 1024, "latent_dim": 1024,
    "num_attention_heads": 16, "num_hidden_layers": 8, "num_key_value_heads": 16, "num_quantizers": 16,
    "num_semantic_quantizers": 1, "rms_norm_eps": 1e-05, "rope_theta": 10000, "sliding_window": 72,
    "upsample_rates": [8, 5, 4, 3], "upsampling_ratios": [2, 2],
}  # fmt: skip


def network():
    return Qwen3TTSTokenizerV2Decoder(Qwen3TTSTokenizerV2DecoderConfig(**CONFIG)).eval()


def make(folder):
    generator = torch.Generator().manual_seed(1)
    tensors = {}
    for name, parameter in network().state_dict().items():
        noise = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() > 1:
            # Branches and the last layer small, so that samples stay within -1 and 1.
            gain = 0.05 if name == "decoder.6.conv.weight" else 0.5 if "conv2" in name else 1
            noise *= gain / math.sqrt(parameter[0].numel())
        elif name.endswith("cluster_usage"):
            noise = 1 + noise.abs()
        elif name.endswith(("weight", "scale", "gamma")):
            noise = 0.3 + 0.05 * noise if not name.endswith("weight") else 1 + 0.1 * noise
        else:
            noise *= 0.1
        tensors["decoder." + name] = noise.contiguous()
    for name in list(tensors):
        if name.endswith("embedding_sum"):
            tensors[name] *= 16
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    codes = torch.randint(0, CONFIG["codebook_size"], (1024, CONFIG["num_quantizers"]), generator=generator)
    (folder / "codes.json").write_text(json.dumps(codes.tolist()))


def run(folder, frames, threads):
    torch.set_num_threads(threads)
    began = time.perf_counter()
    model = network()
    weights = load_file(folder / "model.safetensors")
    model.load_state_dict({name.removeprefix("decoder."): value for name, value in weights.items()})
    del weights
    load = time.perf_counter() - began
    codes = torch.tensor(json.loads((folder / "codes.json").read_text())[:frames]).T[None]
    with torch.inference_mode():
        model(codes[..., :8])
        began, cpu = time.perf_counter(), time.process_time()
        samples = model.chunked_decode(codes)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        model(codes[..., :1])
        began = time.perf_counter()
        model(codes[..., :1])
        first = time.perf_counter() - began
    samples[0, 0].numpy().tofile(folder / "torch.f32")
    audio = samples.shape[-1] / 24000
    print(json.dumps({"rtf": seconds / audio, "cpu": cpu / audio, "first": first, "load": load}))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "make":
        make(folder)
    else:
        run(folder, int(sys.argv[3]), int(sys.argv[4]))
