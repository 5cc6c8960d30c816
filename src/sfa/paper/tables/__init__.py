"""The paper's tables: what it prints and what we measured, side by side."""
