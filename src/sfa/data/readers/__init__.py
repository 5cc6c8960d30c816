"""Read graphs, graph sets and image sets from files and folders."""
