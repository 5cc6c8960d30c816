"""Graph-level methods: many graphs, an embedding each."""
