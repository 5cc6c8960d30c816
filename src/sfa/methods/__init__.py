"""Published methods, one a file."""

from sfa.registry import import_modules, registered
from sfa.tasks import Task

# A method registers its name when it is imported, and `sfa list methods` keeps this order.
# isort: off
from sfa.methods.base import FeatureMaps as FeatureMaps, Method as Method, Observer as Observer
from sfa.methods.base import TrainingHooks as TrainingHooks, TwoViewMethod as TwoViewMethod
from sfa.methods.grace import GRACE as GRACE
from sfa.methods.gca import GCA as GCA
from sfa.methods.g_bt import GBT as GBT
from sfa.methods.bgrl import BGRL as BGRL
from sfa.methods.dgi import DGI as DGI
from sfa.methods.mvgrl import MVGRL as MVGRL
from sfa.methods.sugrl import SUGRL as SUGRL
from sfa.methods.signa import SIGNA as SIGNA
from sfa.methods.merit import MERIT as MERIT
from sfa.methods.cca_ssg import CCASSG as CCASSG
from sfa.methods.costa import COSTA as COSTA
from sfa.methods.deepwalk import DeepWalk as DeepWalk
from sfa.methods.node2vec import Node2Vec as Node2Vec
from sfa.methods.gae import GAE as GAE, VGAE as VGAE
from sfa.methods.propagate import Propagate as Propagate
from sfa.methods.graphcl import GraphCL as GraphCL
from sfa.methods.joao import JOAO as JOAO, JOAOv2 as JOAOv2
from sfa.methods.simgrace import SimGRACE as SimGRACE
from sfa.methods.infograph import InfoGraph as InfoGraph
from sfa.methods.lp_info import LPInfo as LPInfo
from sfa.methods.graph_level import GraphBT as GraphBT, GraphBGRL as GraphBGRL
from sfa.methods.simclr import SimCLR as SimCLR
from sfa.methods.barlow_twins import BarlowTwins as BarlowTwins
from sfa.methods.simsiam import SimSiam as SimSiam
from sfa.methods.swav import SwAV as SwAV
from sfa.methods.byol import BYOL as BYOL
# isort: on

DEFAULTS: dict[Task, str] = {"node": "grace", "graph": "graphcl", "image": "simclr"}
"""The method of each task where none is named."""

import_modules(__name__, __path__)


def available_methods(task: Task | None = None) -> dict[str, type[Method]]:
    """Return all methods by name, or those of a task, in the order of ``sfa list methods``."""
    return {name: method for name, method in registered("method").items() if task in (None, method.task)}
