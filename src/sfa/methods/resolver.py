"""From a name to a method."""

from __future__ import annotations

from sfa.errors import unknown_name
from sfa.levels import Level
from sfa.methods.base import Method
from sfa.methods.graph.graph_bgrl import GraphBGRL
from sfa.methods.graph.graph_bt import GraphBT
from sfa.methods.graph.graphcl import GraphCL
from sfa.methods.graph.infograph import InfoGraph
from sfa.methods.graph.joao import JOAO
from sfa.methods.graph.joao_v2 import JOAOv2
from sfa.methods.graph.lp_info import LPInfo
from sfa.methods.graph.simgrace import SimGRACE
from sfa.methods.image.barlow_twins import BarlowTwins
from sfa.methods.image.byol import BYOL
from sfa.methods.image.simclr import SimCLR
from sfa.methods.image.simsiam import SimSiam
from sfa.methods.image.swav import SwAV
from sfa.methods.node.bgrl import BGRL
from sfa.methods.node.cca_ssg import CCASSG
from sfa.methods.node.costa import COSTA
from sfa.methods.node.deepwalk import DeepWalk
from sfa.methods.node.dgi import DGI
from sfa.methods.node.g_bt import GBT
from sfa.methods.node.gae import GAE
from sfa.methods.node.gca import GCA
from sfa.methods.node.grace import GRACE
from sfa.methods.node.merit import MERIT
from sfa.methods.node.mvgrl import MVGRL
from sfa.methods.node.node2vec import Node2Vec
from sfa.methods.node.sugrl import SUGRL
from sfa.methods.node.vgae import VGAE

METHODS: dict[str, type[Method]] = {
    "grace": GRACE,
    "gca": GCA,
    "g-bt": GBT,
    "bgrl": BGRL,
    "dgi": DGI,
    "mvgrl": MVGRL,
    "sugrl": SUGRL,
    "merit": MERIT,
    "cca-ssg": CCASSG,
    "costa": COSTA,
    "deepwalk": DeepWalk,
    "node2vec": Node2Vec,
    "gae": GAE,
    "vgae": VGAE,
    "graphcl": GraphCL,
    "joao": JOAO,
    "joao-v2": JOAOv2,
    "simgrace": SimGRACE,
    "infograph": InfoGraph,
    "lp-info": LPInfo,
    "graph-bt": GraphBT,
    "graph-bgrl": GraphBGRL,
    "simclr": SimCLR,
    "barlow-twins": BarlowTwins,
    "simsiam": SimSiam,
    "swav": SwAV,
    "byol": BYOL,
}

DEFAULTS: dict[Level, str] = {"node": "grace", "graph": "graphcl", "image": "simclr"}
"""The method that is meant where none is named."""


def resolve(name: str) -> type[Method]:
    """The class of the method called ``name``."""
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    return METHODS[name]
