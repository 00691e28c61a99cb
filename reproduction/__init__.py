"""The paper's tables and figures, what goes beyond it, and the records of all runs.

Part of the repository only: ``python -m reproduction table1 --data DIR`` runs here. Each module
reads like the table that it rebuilds. Importing this package lets the library build, and load, a loss that
only its tables use.
"""

from hyperproto.losses import LOSSES
from reproduction.cauchy import CauchySoftmax

LOSSES[CauchySoftmax.name] = CauchySoftmax
