"""Images as tensors: pixels, crops, colors, blur."""
