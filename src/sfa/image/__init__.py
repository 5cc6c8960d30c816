"""Images: their random views and their encoders."""

from sfa.image.encoders import make_encoder
from sfa.image.image_encoder import ImageEncoder
from sfa.image.pixels import to_float
from sfa.image.resnet import ResNet
from sfa.image.strengths import STRENGTHS, Strengths
from sfa.image.views import random_view

__all__ = ["STRENGTHS", "ImageEncoder", "ResNet", "Strengths", "make_encoder", "random_view", "to_float"]
