"""Callbacks: hooks at each stage of training, and those that come with the package. Import them from sfa.train."""
