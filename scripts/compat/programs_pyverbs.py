# SPDX-License-Identifier: Apache-2.0
"""The test suite of rdma-core 44, as the package python3-pyverbs carries it (its documentation folder)."""
import glob
import gzip
import os
import re
import shutil

from case import Case

PACKAGE = "python3-pyverbs"
SOURCE = "/usr/share/doc/rdma-core/tests"
# For other hardware, or for things outside of verbs: they say so themselves and are left to it.
MODULES = ("addr atomic cq cq_events cqex cuda_dmabuf device efa_srd efadv flow fork mlx5_cq mlx5_crypto mlx5_cuda_umem "
           "mlx5_dc mlx5_devx mlx5_dm_ops mlx5_dma_memcpy mlx5_dr mlx5_flow mlx5_huge_page mlx5_lag_affinity mlx5_mkey mlx5_pp "
           "mlx5_query_port mlx5_raw_wqe mlx5_rdmacm mlx5_sched mlx5_timestamp mlx5_uar mlx5_udp_sport mlx5_var mlx5_vfio mr odp "
           "parent_domain pd qp qpex rdmacm relaxed_ordering rss_traffic shared_pd tag_matching").split()
QUICK = ("cq", "qp")


def unpack(folder):
    for path in glob.glob(os.path.join(SOURCE, "*.py*")):
        name = os.path.basename(path)
        if name.endswith(".gz"):
            with gzip.open(path, "rb") as packed, open(os.path.join(folder, name[:-3]), "wb") as out:
                shutil.copyfileobj(packed, out)
        else:
            shutil.copy(path, folder)


def verdict(outcome):
    """unittest -v: one line a test, '... ok', '... skipped ...', '... FAIL' or '... ERROR'."""
    text = outcome.text["program"]
    ran = re.search(r"^Ran (\d+) tests? in", text, re.M)
    if not ran:
        started = re.findall(r"^(\w+) \(", text, re.M)
        return f"it did not come to its end; last test: {started[-1] if started else 'none'}", ""
    # softnic's own words on stderr come between the lines of the tests, so the closing line does the counting.
    closing = re.search(r"^(OK|FAILED)(?: \((.*)\))?$", text, re.M)
    numbers = dict(re.findall(r"(\w+)=(\d+)", closing.group(2) or "")) if closing else {}
    bad = re.findall(r"^(?:FAIL|ERROR): (\S+)", text, re.M)
    failed, skipped = int(numbers.get("failures", 0)) + int(numbers.get("errors", 0)), int(numbers.get("skipped", 0))
    if not closing or failed != len(bad):
        return "the closing line is missing or does not fit", ""
    reasons = sorted({reason.strip("'\"") for reason in re.findall(r"\bskipped (['\"].*)", text)})
    figure = f"{int(ran.group(1)) - failed - skipped} passed, {skipped} skipped"
    if reasons:
        figure += " (" + "; ".join(reasons)[:200] + ")"
    return (f"{failed} failed: {', '.join(bad)[:160]}; {figure}", figure) if bad else (None, figure)


def cases():
    there = os.path.exists(os.path.join(SOURCE, "run_tests.py"))
    for module in MODULES:
        # The interpreter that Debian's modules are for. unittest ends with 1 when a test fails: the text tells which.
        words = ["sh", "-c", f"/usr/bin/python3 -B run_tests.py -v --dev {{device}} --gid 0 tests.test_{module}; true"]
        if not there:
            words = ["pyverbs-tests"]
        yield Case("pyverbs", PACKAGE, f"tests.test_{module}", words, before=unpack, check=verdict, limit=90, quick=module in QUICK)
