"""Images: their random views and their encoders."""
