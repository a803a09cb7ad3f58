"""Planted bugs: what a run takes of the machine, and what it shows, where the number of records is private."""

from __future__ import annotations

from mutant import Mutant

DISK = ("tests/engines/test_engines.py", "-k", "one_record_more or same_file")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "room for the declared rows alone",
        "our own: one record decides whether a run ends",
        "runs/run.py",
        "    return rows if public else rows + rows // 4 + 64\n",
        "    return rows\n",
        DISK,
    ),
    Mutant(
        "a bar that counts private rows",
        "our own: the size of a private file on a progress bar",
        "runs/run.py",
        '    if not n_is_public(plan.domain.adjacency):\n        progress("reading", 0, 0)\n        return None\n',
        "",
        DISK,
    ),
    Mutant(
        "a description's bar that tells how many rows there are",
        "our own: the size of a private file on a progress bar",
        "commands/describe.py",
        'waiting("reading"):',
        'waiting(f"reading {stream.count()}"):',
        ("tests/commands/test_paid_outputs.py", "-k", "a_wait_is_shown"),
    ),
    Mutant(
        "a second file for rows that are too many",
        "our own: twice the disk for one record more",
        "engines/local.py",
        "                self.file.grow(rows_size(self.grid, n, self.d))\n",
        "                size = rows_size(self.grid, n, self.d)\n                self.file.empty if size <= self.file.size else MappedZeros(size)\n                self.file.grow(size)\n",
        DISK,
    ),
)
