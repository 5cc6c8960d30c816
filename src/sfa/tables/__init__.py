"""The paper's tables: what it publishes, and beside it what was measured."""
