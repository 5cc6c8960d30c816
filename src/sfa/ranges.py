"""Types that say which values an argument takes; recipes check them before a run starts."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Interval

Count = Annotated[int, Ge(1)]
Natural = Annotated[int, Ge(0)]
NonNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Share = Annotated[float, Interval(ge=0, le=1)]
