"""Node-level methods: one graph, an embedding per node."""

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

__all__ = [
    "BGRL",
    "CCASSG",
    "COSTA",
    "DGI",
    "GAE",
    "GBT",
    "GCA",
    "GRACE",
    "MERIT",
    "MVGRL",
    "SUGRL",
    "VGAE",
    "DeepWalk",
    "Node2Vec",
]
