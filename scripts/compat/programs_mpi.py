# SPDX-License-Identifier: Apache-2.0
"""OpenMPI over UCX: a small MPI program of ours, built by the installed mpicc."""
import os
import re
import shutil
import subprocess

from case import Case

PACKAGE = "openmpi-bin"
SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tests", "compat", "mpi_ring.c")


def build(folder):
    target = os.path.join(folder, "mpi_ring")
    if shutil.which("mpicc"):
        made = subprocess.run(["mpicc", "-O2", "-o", target, SOURCE], capture_output=True, text=True, check=False)
        if made.returncode:
            with open(os.path.join(folder, "mpicc.log"), "w") as log:
                log.write(made.stdout + made.stderr)


def ring(outcome):
    found = re.search(r"all correct: (.*)", outcome.text["program"])
    return (None, found.group(1)) if found else ("no verdict is printed", "")


def run(what, ranks, transports, arguments, **more):
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks),
             "--mca", "pml", "ucx", "--mca", "btl", "^vader,tcp,openib,uct", "--mca", "osc", "ucx",
             "-x", f"UCX_TLS={transports}", "-x", "UCX_NET_DEVICES={device}:1", "{folder}/mpi_ring"] + arguments
    return Case("mpirun", PACKAGE, what, words, before=build, check=ring, limit=120, **more)


def cases():
    yield run("2 ranks, UCX rc: ring, collectives, one-sided", 2, "rc_v,self", [])
    yield run("2 ranks, UCX ud: ring, collectives", 2, "ud_v,self", ["--two-sided"])
    yield run("4 ranks, UCX rc,ud: ring, collectives", 4, "rc,ud,self", ["--two-sided"])
