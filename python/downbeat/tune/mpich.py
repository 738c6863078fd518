"""Rules for MPICH: the trees of conditions by which it selects, with branches put in front of its own.

MPICH selects twice (src/mpi/coll/src/csel.c): the device picks a composition, then each collective in it an algorithm.
Either tree is compiled into the library as JSON and can be replaced by a file, as a whole: a collective that is missing
has no algorithm. So this writes the library's own trees, found in its shared object, in which a
communicator of so many ranks and a message of such a size takes another branch:

    "collective=bcast": {"comm_type=intra": {
        "comm_size<4": OWN,
        "comm_size<=4": {
            "avg_msg_size<64": OWN,
            "avg_msg_size<128": {"algorithm=MPIR_Bcast_intra_binomial": {}},
            "avg_msg_size=any": OWN},
        "comm_size=any": OWN}}

Within an object the first condition that holds is taken, and there is no way back out of it: every object must have a
branch for everything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from downbeat.errors import DownbeatError
from downbeat.tune.rules_format import Rule, RulesFormat, Written, by_collective

Tree = dict[str, Any]
Branch = Callable[[Rule, Tree], Tree]

ALGORITHMS_FILE = "selection.json"
COMPOSITIONS_FILE = "selection-ch4.json"
VARIABLES = {
    ALGORITHMS_FILE: "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
    COMPOSITIONS_FILE: "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE",
}

INTRA = "comm_type=intra"
BUILT_IN = "is_op_built_in"
COMMUTATIVE = "is_commutative"
REGULAR = "is_block_regular"

# The device's composition that hands the whole communicator on to the algorithm, without a split by nodes
# (src/mpid/ch4/src/ch4_coll_impl.h). For the other collectives the device's own tree takes none that splits.
WHOLE = {"barrier": "beta", "bcast": "gamma", "allreduce": "beta", "reduce": "gamma", "scan": "beta"}

# The condition on the size of a collective (get_avg_msgsize, get_total_msgsize in csel.c), and whether it counts the
# bytes of all ranks together where downbeat-bench counts those of a rank.
SIZE_CONDITIONS = {
    "bcast": ("avg_msg_size", False),
    "reduce": ("avg_msg_size", False),
    "allreduce": ("avg_msg_size", False),
    "alltoall": ("avg_msg_size", False),
    "allgather": ("total_msg_size", True),
    "allgatherv": ("total_msg_size", True),
    "reduce_scatter": ("total_msg_size", False),
    "reduce_scatter_block": ("total_msg_size", True),
}
# Those without: barrier has no size; MPICH aborts at a size condition for gatherv, scatterv, scan and exscan; alltoallv
# and alltoallw count what the rank itself sends, gather and scatter a count that MPI_IN_PLACE makes meaningless at the
# root: ranks would select differently, and hang.
SIZELESS = ("barrier", "gather", "gatherv", "scatter", "scatterv", "scan", "exscan", "alltoallv", "alltoallw")

# In these, MPI_IN_PLACE has an algorithm of its own, which can do nothing else.
IN_PLACE = ("alltoall", "alltoallv", "alltoallw")
IN_PLACE_ALONE = "pairwise_sendrecv_replace"

# Reductions whose operator or counts decide what may run: MPIR_<Collective>_impl in src/mpi/coll/mpir_coll.c checks it
# where a variable forces an algorithm, the tree must check it itself. Others have no limits.
NEEDS = {
    "reduce": {"smp": [COMMUTATIVE], "reduce_scatter_gather": [COMMUTATIVE, BUILT_IN]},
    "allreduce": {"smp": [COMMUTATIVE], "reduce_scatter_allgather": [COMMUTATIVE, BUILT_IN]},
    "reduce_scatter": {
        "pairwise": [COMMUTATIVE],
        "recursive_halving": [COMMUTATIVE],
        "noncommutative": [REGULAR],
    },
    "reduce_scatter_block": {"pairwise": [COMMUTATIVE], "recursive_halving": [COMMUTATIVE]},
}
# Conditions beyond those that a rule measured: counts too small to be cut into parts.
SMALL_COUNTS = {("reduce", "reduce_scatter_gather"), ("allreduce", "reduce_scatter_allgather")}
BY_NODES = "smp"  # wants a communicator that has nodes

# Selections of MPICH 5 that take parameters; what variables set them to when they were measured is not known here.
PARAMETERIZED = ("k_", "recexch", "tree", "pipelined_tree", "recursive_multiplying", "ccl")


def own_trees(library: Path) -> tuple[Tree, Tree]:
    """Returns the trees that are compiled into a library: of compositions, and of algorithms.

    Raises:
        DownbeatError: they are not found there.
    """
    try:
        content = library.read_bytes()
    except OSError as error:
        raise DownbeatError(f"MPICH's own selection cannot be read from '{library}': {error.strerror}") from error
    compositions: Tree = {}
    algorithms: Tree = {}
    start = -1
    while (start := content.find(b'{"collective=', start + 1)) >= 0:
        text, _, _ = content[start:].partition(b"\0")
        try:
            tree: Tree = json.loads(text)
        except ValueError:
            continue
        if b'"composition=' in text:
            compositions = tree
        elif b'"algorithm=MPIR_' in text and len(tree) > len(algorithms):
            algorithms = tree
    if not compositions or not algorithms:
        raise DownbeatError(
            f"MPICH's own selection was not found in '{library}', and rules without it would leave all other "
            "collectives without an algorithm"
        )
    return compositions, algorithms


class MpichRules(RulesFormat):
    """Rules of MPICH 4 and 5, device ch4."""

    name = "MPICH selection tree, JSON"

    def __init__(self, compositions: Tree, algorithms: Tree, known: bytes | None = None) -> None:
        """Makes the form.

        Args:
            compositions: the device's own tree.
            algorithms: the own tree of algorithms.
            known: the library, whose text names what its reader knows; None: everything.
        """
        self._compositions = compositions
        self._algorithms = algorithms
        self._known = known

    def collectives(self) -> Sequence[str]:
        return (*SIZE_CONDITIONS, *SIZELESS)

    def has_sizes(self, collective: str) -> bool:
        return collective in SIZE_CONDITIONS

    def unwritable(self, collective: str, algorithm: str) -> str:
        if algorithm.startswith(PARAMETERIZED):
            return "takes parameters, which rules would have to set"
        if collective in IN_PLACE and algorithm == IN_PLACE_ALONE:
            return "is for MPI_IN_PLACE alone"
        if self._name(collective, algorithm) is None:
            return "is not among the selections that the library reads"
        return ""

    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        del collective, algorithm
        return {}

    def write(self, rules: Sequence[Rule]) -> Written:
        algorithms = self._graft(self._algorithms, rules, self._algorithm_branch)
        split = [rule for rule in rules if rule.collective in WHOLE]
        compositions = self._graft(self._compositions, split, self._composition_branch)
        trees = {ALGORITHMS_FILE: algorithms, COMPOSITIONS_FILE: compositions}
        return Written(
            {name: json.dumps(tree, indent=1) + "\n" for name, tree in trees.items()},
            {VARIABLES[name]: "{directory}/" + name for name in trees},
            ["rules hold for every communicator of that many ranks, those that MPICH makes for the nodes among them"],
        )

    def _name(self, collective: str, algorithm: str) -> str | None:
        """Returns the key by which the tree selects an algorithm."""
        title = collective.capitalize()
        keys = [f"algorithm=MPIR_{title}_{kind}_{algorithm}" for kind in ("intra", "allcomm")]
        return next((key for key in keys if self._known is None or key.encode() + b"\0" in self._known), None)

    def _graft(self, original: Tree, rules: Sequence[Rule], branch: Branch) -> Tree:
        """Returns a tree in which rules come before its branches."""
        tree = dict(original)
        for collective, some in by_collective(rules):
            key = f"collective={collective}"
            below: Tree = original[key]
            # Few collectives use the same tree for intra- and intercommunicators.
            otherwise: Tree = below.get(INTRA, below)
            sides = below if INTRA in below else {INTRA: below, "comm_type=inter": below}
            conditions: Tree = {}
            for ranks, each in groupby(some, key=lambda rule: rule.ranks):
                conditions[f"comm_size<{ranks}"] = otherwise
                conditions[f"comm_size<={ranks}"] = self._by_size(collective, list(each), branch, otherwise)
            conditions["comm_size=any"] = otherwise
            tree[key] = {**sides, INTRA: conditions}
        return tree

    def _by_size(self, collective: str, rules: list[Rule], branch: Branch, otherwise: Tree) -> Tree:
        if collective in SIZELESS:
            return self._not_in_place(collective, branch(rules[0], otherwise), otherwise)
        condition, of_all = SIZE_CONDITIONS[collective]
        sizes: Tree = {}
        for rule in rules:
            scale = rule.ranks if of_all else 1
            if rule.first > 0:
                sizes.setdefault(f"{condition}<{rule.first * scale}", otherwise)
            if rule.last is not None:
                sizes[f"{condition}<{(rule.last + 1) * scale}"] = branch(rule, otherwise)
        sizes[f"{condition}=any"] = otherwise if rules[-1].last is not None else branch(rules[-1], otherwise)
        return self._not_in_place(collective, sizes, otherwise)

    def _not_in_place(self, collective: str, branch: Tree, otherwise: Tree) -> Tree:
        if collective not in IN_PLACE:
            return branch
        return {"is_sendbuf_inplace=yes": otherwise, "is_sendbuf_inplace=no": branch}

    def _composition_branch(self, rule: Rule, _: Tree) -> Tree:
        return {f"composition=MPIDI_{rule.collective.capitalize()}_intra_composition_{WHOLE[rule.collective]}": {}}

    def _algorithm_branch(self, rule: Rule, otherwise: Tree) -> Tree:
        branch: Tree = {str(self._name(rule.collective, rule.algorithm)): {}}
        if (rule.collective, rule.algorithm) in SMALL_COUNTS:
            branch = {"count<pow2": otherwise, "count=any": branch}
        for need in NEEDS.get(rule.collective, {}).get(rule.algorithm, []):
            branch = {f"{need}=yes": branch, f"{need}=no": otherwise}
        if rule.algorithm == BY_NODES:
            branch = {"comm_hierarchy=parent": branch, "comm_hierarchy=any": otherwise}
        return branch


def mpich_rules(library: Path) -> MpichRules:
    """Returns the form for a library, from its shared object."""
    compositions, algorithms = own_trees(library)
    return MpichRules(compositions, algorithms, library.read_bytes())
