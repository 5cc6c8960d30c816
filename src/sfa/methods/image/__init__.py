"""Image-level methods: a set of images, an embedding each."""
