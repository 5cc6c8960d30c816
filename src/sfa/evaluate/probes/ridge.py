"""The probe of real-valued targets: ridge regression."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sfa.evaluate.probes.base import Prediction, Probe
from sfa.evaluate.splits import Split


@dataclass(frozen=True)
class RidgeProbe(Probe):
    """Ridge regression with the penalty ``alpha`` chosen on validation; of equally good values the largest.

    Dense columns are standardized by the training part. Sparse rows are counts, and only centered: a rare kind would
    come to weigh as much as a common one.
    """

    alphas: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5)
    unit_rows: bool = False
    takes_sparse: ClassVar[bool] = True

    def predict_split(self, z: Any, y: Any, split: Split, number: int) -> Prediction:
        scaler, alphas = StandardScaler(with_std=not sparse.issparse(z)), sorted(self.alphas, reverse=True)
        rows = [z[part] for part in (split.train, split.validation, split.test)]
        rows = [part.toarray() if sparse.issparse(part) else part.double().numpy() for part in rows]
        train, look, test = scaler.fit_transform(rows[0]), *map(scaler.transform, rows[1:])
        targets = np.repeat(y[split.train, None], len(alphas), axis=1)  # one penalty each, of one matrix of products
        with threadpool_limits(1):
            model = Ridge(alpha=alphas).fit(train, targets)
        errors = [root_mean_squared_error(y[split.validation], column) for column in model.predict(look).T]
        best = int(np.argmin(errors))
        return Prediction(model.predict(test)[:, best], alphas[best], float(errors[best]))
