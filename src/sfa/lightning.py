"""The layer, and what it does, in a model of PyTorch Lightning."""
