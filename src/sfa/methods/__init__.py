"""Published methods, each in a file that reads like its paper's section."""

from sfa.levels import Level
from sfa.methods.barlow_twins import BarlowTwins
from sfa.methods.base import FeatureMaps, Method, Observer
from sfa.methods.bgrl import BGRL
from sfa.methods.byol import BYOL
from sfa.methods.cca_ssg import CCASSG
from sfa.methods.costa import COSTA
from sfa.methods.deepwalk import DeepWalk
from sfa.methods.dgi import DGI
from sfa.methods.g_bt import GBT
from sfa.methods.gae import GAE
from sfa.methods.gca import GCA
from sfa.methods.grace import GRACE
from sfa.methods.graph_bgrl import GraphBGRL
from sfa.methods.graph_bt import GraphBT
from sfa.methods.graphcl import GraphCL
from sfa.methods.infograph import InfoGraph
from sfa.methods.joao import JOAO
from sfa.methods.joao_v2 import JOAOv2
from sfa.methods.lp_info import LPInfo
from sfa.methods.merit import MERIT
from sfa.methods.mvgrl import MVGRL
from sfa.methods.node2vec import Node2Vec
from sfa.methods.simclr import SimCLR
from sfa.methods.simgrace import SimGRACE
from sfa.methods.simsiam import SimSiam
from sfa.methods.sugrl import SUGRL
from sfa.methods.swav import SwAV
from sfa.methods.two_views import TwoViewMethod
from sfa.methods.vgae import VGAE
from sfa.registry import import_modules, registered

__all__ = [
    "BGRL",
    "BYOL",
    "CCASSG",
    "COSTA",
    "DEFAULTS",
    "DGI",
    "GAE",
    "GBT",
    "GCA",
    "GRACE",
    "JOAO",
    "MERIT",
    "MVGRL",
    "SUGRL",
    "VGAE",
    "BarlowTwins",
    "DeepWalk",
    "FeatureMaps",
    "GraphBGRL",
    "GraphBT",
    "GraphCL",
    "InfoGraph",
    "JOAOv2",
    "LPInfo",
    "Method",
    "Node2Vec",
    "Observer",
    "SimCLR",
    "SimGRACE",
    "SimSiam",
    "SwAV",
    "TwoViewMethod",
    "available_methods",
]

DEFAULTS: dict[Level, str] = {"node": "grace", "graph": "graphcl", "image": "simclr"}
"""The method that is meant where none is named."""

import_modules(__name__, __path__)


def available_methods(level: Level | None = None) -> dict[str, type[Method]]:
    """Return all methods by name, or those of a level: node before graph before image, the default of each first."""
    levels, methods = list(DEFAULTS), registered("method")
    names = sorted(methods, key=lambda name: (levels.index(methods[name].level), name not in DEFAULTS.values(), name))
    return {name: methods[name] for name in names if level in (None, methods[name].level)}
