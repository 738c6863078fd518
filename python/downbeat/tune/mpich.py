"""Writes tuned rules for MPICH: the library's own selection trees, with additional branches for the rules.

MPICH selects in two steps (src/mpi/coll/src/csel.c): the device (ch4) selects a composition, e.g. a split by nodes, and
then an algorithm is selected for each collective of the composition. Each step has a tree of conditions, which is
compiled into the library as JSON text. A file can replace a tree only as a whole: a collective that is missing in it
has no algorithm. So this module reads the library's own trees from its shared object, and writes them with branches
for the ranks and sizes of rules. ORIGINAL stands for the library's own branch:

    "collective=bcast": {"comm_type=intra": {
        "comm_size<4": ORIGINAL,
        "comm_size<=4": {
            "avg_msg_size<64": ORIGINAL,
            "avg_msg_size<128": {"algorithm=MPIR_Bcast_intra_binomial": {}},
            "avg_msg_size=any": ORIGINAL},
        "comm_size=any": ORIGINAL}}

MPICH takes the first condition of an object that holds, and does not return from a branch: in every object, one
condition must hold in every case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from downbeat.errors import DownbeatError
from downbeat.tune.rules_format import Rule, RulesFormat, Written, by_collective

Tree = dict[str, Any]  # condition -> subtree; a leaf is {"algorithm=...": {}} or {"composition=...": {}}
Branch = Callable[[Rule, Tree], Tree]  # makes the branch of a rule, given the original branch for other cases

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

# Name of the device's composition that uses the whole communicator, without a split by nodes
# (src/mpid/ch4/src/ch4_coll_impl.h). For other collectives, the device's own tree never splits.
WHOLE_COMMUNICATOR = {"barrier": "beta", "bcast": "gamma", "allreduce": "beta", "reduce": "gamma", "scan": "beta"}

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
# Collectives whose rules cannot have sizes. A barrier has no size. MPICH aborts at a size condition for gatherv,
# scatterv, scan and exscan. For alltoallv and alltoallw it counts the bytes that the rank sends, and for gather and
# scatter a count that is meaningless at the root with MPI_IN_PLACE: ranks would select different algorithms, and hang.
SIZELESS = ("barrier", "gather", "gatherv", "scatter", "scatterv", "scan", "exscan", "alltoallv", "alltoallw")

# In these collectives, MPI_IN_PLACE has an algorithm that cannot be used otherwise.
IN_PLACE = ("alltoall", "alltoallv", "alltoallw")
IN_PLACE_ALGORITHM = "pairwise_sendrecv_replace"

# Collective -> algorithm -> conditions on the operator or the counts. If a variable forces an algorithm,
# MPIR_<Collective>_impl in src/mpi/coll/mpir_coll.c checks them; in a tree, the tree must check them.
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
# Algorithms that cut the data into a part per rank, so that they need at least as many elements as ranks (pow2: the
# largest power of two up to the number of ranks).
NEED_LARGE_COUNTS = {("reduce", "reduce_scatter_gather"), ("allreduce", "reduce_scatter_allgather")}
BY_NODES = "smp"  # algorithm that needs a communicator with several nodes

# Prefixes of algorithms of MPICH 5 with parameters. Variables set the parameters in the sweep; this module does not
# know their values.
PARAMETERIZED = ("k_", "recexch", "tree", "pipelined_tree", "recursive_multiplying", "ccl")


def own_trees(library: Path) -> tuple[Tree, Tree]:
    """Returns the two trees that are compiled into a library: of compositions, and of algorithms.

    Raises:
        DownbeatError: the library cannot be read, or has no trees.
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
            algorithms = tree  # the largest: a library may have partial trees as well
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
            compositions: the library's own tree of compositions.
            algorithms: the library's own tree of algorithms.
            known: content of the library, which contains the keys that its reader of trees knows; None: all keys.
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
        if collective in IN_PLACE and algorithm == IN_PLACE_ALGORITHM:
            return "is for MPI_IN_PLACE alone"
        if self._name(collective, algorithm) is None:
            return "is not among the selections that the library reads"
        return ""

    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        del collective, algorithm
        return {}

    def write(self, rules: Sequence[Rule]) -> Written:
        algorithms = self._graft(self._algorithms, rules, self._algorithm_branch)
        may_split = [rule for rule in rules if rule.collective in WHOLE_COMMUNICATOR]
        compositions = self._graft(self._compositions, may_split, self._composition_branch)
        trees = {ALGORITHMS_FILE: algorithms, COMPOSITIONS_FILE: compositions}
        return Written(
            {name: json.dumps(tree, indent=1) + "\n" for name, tree in trees.items()},
            {VARIABLES[name]: "{directory}/" + name for name in trees},
            ["rules hold for every communicator of that many ranks, those that MPICH makes for the nodes among them"],
        )

    def _name(self, collective: str, algorithm: str) -> str | None:
        """Returns the key of an algorithm in trees; None: the library does not know it."""
        title = collective.capitalize()
        keys = [f"algorithm=MPIR_{title}_{kind}_{algorithm}" for kind in ("intra", "allcomm")]
        return next((key for key in keys if self._known is None or key.encode() + b"\0" in self._known), None)

    def _graft(self, original: Tree, rules: Sequence[Rule], branch: Branch) -> Tree:
        """Returns a tree with conditions on ranks and sizes for rules; in all other cases, the original branch holds.

        Args:
            original: the library's own tree.
            rules: the rules.
            branch: makes the branch of a rule.
        """
        tree = dict(original)
        for collective, chosen in by_collective(rules):
            key = f"collective={collective}"
            by_type: Tree = original[key]
            # Few collectives use the same tree for intra- and intercommunicators.
            if INTRA not in by_type:
                by_type = {INTRA: by_type, "comm_type=inter": by_type}
            otherwise: Tree = by_type[INTRA]
            conditions: Tree = {}
            for ranks, group in groupby(chosen, key=lambda rule: rule.ranks):
                conditions[f"comm_size<{ranks}"] = otherwise
                conditions[f"comm_size<={ranks}"] = self._by_size(collective, list(group), branch, otherwise)
            conditions["comm_size=any"] = otherwise
            tree[key] = {**by_type, INTRA: conditions}
        return tree

    def _by_size(self, collective: str, rules: list[Rule], branch: Branch, otherwise: Tree) -> Tree:
        """Returns the tree for one number of ranks: conditions on the size for its rules, which are sorted by size."""
        if collective in SIZELESS:
            return self._not_in_place(collective, branch(rules[0], otherwise), otherwise)
        condition, of_all_ranks = SIZE_CONDITIONS[collective]
        sizes: Tree = {}
        for rule in rules:
            scale = rule.ranks if of_all_ranks else 1
            if rule.first > 0:
                # The rule before may have the same limit; its branch stays.
                sizes.setdefault(f"{condition}<{rule.first * scale}", otherwise)
            if rule.last is not None:
                sizes[f"{condition}<{(rule.last + 1) * scale}"] = branch(rule, otherwise)
        sizes[f"{condition}=any"] = otherwise if rules[-1].last is not None else branch(rules[-1], otherwise)
        return self._not_in_place(collective, sizes, otherwise)

    def _not_in_place(self, collective: str, branch: Tree, otherwise: Tree) -> Tree:
        """Limits a branch to calls without MPI_IN_PLACE, for collectives in `IN_PLACE`."""
        if collective not in IN_PLACE:
            return branch
        return {"is_sendbuf_inplace=yes": otherwise, "is_sendbuf_inplace=no": branch}

    def _composition_branch(self, rule: Rule, _: Tree) -> Tree:
        """Returns the branch of a rule in the tree of compositions: no split by nodes."""
        composition = WHOLE_COMMUNICATOR[rule.collective]
        return {f"composition=MPIDI_{rule.collective.capitalize()}_intra_composition_{composition}": {}}

    def _algorithm_branch(self, rule: Rule, otherwise: Tree) -> Tree:
        """Returns the branch of a rule in the tree of algorithms, with the conditions that its algorithm needs."""
        branch: Tree = {str(self._name(rule.collective, rule.algorithm)): {}}
        if (rule.collective, rule.algorithm) in NEED_LARGE_COUNTS:
            branch = {"count<pow2": otherwise, "count=any": branch}
        for need in NEEDS.get(rule.collective, {}).get(rule.algorithm, []):
            branch = {f"{need}=yes": branch, f"{need}=no": otherwise}
        if rule.algorithm == BY_NODES:
            branch = {"comm_hierarchy=parent": branch, "comm_hierarchy=any": otherwise}
        return branch


def mpich_rules(library: Path) -> MpichRules:
    """Returns the format for a library, given its shared object."""
    compositions, algorithms = own_trees(library)
    return MpichRules(compositions, algorithms, library.read_bytes())
