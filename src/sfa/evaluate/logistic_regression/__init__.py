"""Logistic regression on many training parts with many ``C`` at once, as a linear probe needs it."""

from sfa.evaluate.logistic_regression.regression import LogisticPath, logistic_regression

__all__ = ["LogisticPath", "logistic_regression"]
