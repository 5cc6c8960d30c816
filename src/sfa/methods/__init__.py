"""Published methods; those that build on each other share a file."""

from sfa.registry import import_modules, registered
from sfa.tasks import Task

# A method registers its name when it is imported, and `sfa list methods` keeps this order.
# isort: off
from sfa.methods.base import FeatureMaps as FeatureMaps, Method as Method, Observer as Observer
from sfa.methods.base import TrainingHooks as TrainingHooks, TwoViewMethod as TwoViewMethod
from sfa.methods.grace import GCA as GCA, GRACE as GRACE
from sfa.methods.g_bt import GBT as GBT
from sfa.methods.bgrl import BGRL as BGRL
from sfa.methods.dgi import DGI as DGI, MVGRL as MVGRL
from sfa.methods.sugrl import SUGRL as SUGRL
from sfa.methods.signa import SIGNA as SIGNA
from sfa.methods.sgrl import SGRL as SGRL
from sfa.methods.merit import MERIT as MERIT
from sfa.methods.cca_ssg import CCASSG as CCASSG
from sfa.methods.costa import COSTA as COSTA
from sfa.methods.deepwalk import DeepWalk as DeepWalk, Node2Vec as Node2Vec
from sfa.methods.gae import GAE as GAE, VGAE as VGAE
from sfa.methods.propagate import Propagate as Propagate
from sfa.methods.neighbor_contrast import NeighborContrast as NeighborContrast
from sfa.methods.graphcl import JOAO as JOAO, GraphCL as GraphCL, JOAOv2 as JOAOv2, SimGRACE as SimGRACE
from sfa.methods.infograph import InfoGraph as InfoGraph
from sfa.methods.lp_info import LPInfo as LPInfo
from sfa.methods.graph_level import GraphBT as GraphBT, GraphBGRL as GraphBGRL
from sfa.methods.siamese import BarlowTwins as BarlowTwins, SimCLR as SimCLR, SimSiam as SimSiam
from sfa.methods.swav import SwAV as SwAV
from sfa.methods.byol import BYOL as BYOL
# isort: on

DEFAULTS: dict[Task, str] = {"node": "neighbor-contrast", "graph": "graphcl", "image": "simclr"}  # where none is named

import_modules(__name__, __path__)


def available_methods(task: Task | None = None) -> dict[str, type[Method]]:
    """Return all methods by name, or those of a task, in the order of ``sfa list methods``."""
    return {name: method for name, method in registered("method").items() if task in (None, method.task)}
