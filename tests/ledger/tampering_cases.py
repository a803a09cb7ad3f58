"""Statements that tamper with the ledger of conftest.py, in SQL that both stores understand but for OR REPLACE."""

HASH = "5e" * 32
ROW = f"'charged', 'new', '{HASH}', 1, 0, 300000001, 300000000000, '', '', 'HEAD', '{HASH}', '2999-01-01'"

# The chain's head goes in for HEAD, so that only the named fault remains.
REFUSED = [
    "UPDATE header SET cap = 4000000000",
    "DELETE FROM header",
    "INSERT INTO header SELECT 2, dataset_id, adjacency, unit, 9, 9, genesis FROM header",
    "INSERT OR REPLACE INTO header SELECT 1, dataset_id, adjacency, unit, 9, 9, genesis FROM header",
    "UPDATE entries SET amount = 1 WHERE sequence = 1",
    "DELETE FROM entries WHERE sequence = 4",
    "DELETE FROM entries",
    "UPDATE OR REPLACE entries SET sequence = 1 WHERE sequence = 2",
    f"INSERT OR REPLACE INTO entries VALUES (1, {ROW})",
    f"INSERT INTO entries VALUES (6, {ROW})",  # a gap
    f"INSERT INTO entries VALUES (5, {ROW.replace('HEAD', HASH)})",  # a broken chain
    f"INSERT OR REPLACE INTO entries VALUES (5, {ROW.replace('new', 'a')})",  # would delete row 1
    f"INSERT INTO entries VALUES (5, {ROW.replace('300000001', '300000000')})",  # a wrong total
    f"INSERT INTO entries VALUES (5, {ROW.replace(' 1, 0, 300000001', ' 800000000, 0, 1100000000')})",
    f"INSERT INTO entries VALUES (5, {ROW.replace(' 1, 0, 300000001', ' 0, 0, 300000000')})",  # free
    f"INSERT INTO entries VALUES (5, {ROW.replace(' 1, 0, 300000001', ' -1, 0, 299999999')})",  # a refund
    f"INSERT INTO entries VALUES (5, {ROW.replace(' 1, 0, 300000001', ' 0.5, 0, 300000000.5')})",
    f"INSERT INTO entries VALUES (5, {ROW.replace('charged', 'refunded')})",
]

EDITS = [
    "UPDATE header SET cap = 4000000000",
    "UPDATE header SET cap_delta = 1",
    "UPDATE header SET unit = 'zcdp', cap_delta = 0",
    "UPDATE header SET adjacency = 'add-or-remove-one'",
    "UPDATE header SET dataset_id = 'census-2030'",
    "UPDATE header SET genesis = '" + HASH + "'",
    "DELETE FROM header",
    *(
        f"UPDATE entries SET {change} WHERE sequence = 2"
        for change in (
            "plan_uid = 'z'",
            f"plan_hash = '{'0f' * 32}'",
            "amount = 1",
            "delta = 1",
            "spent = 1",
            "spent_delta = 1",
            "note = 'free'",
            f"previous = '{HASH}'",
            f"head = '{HASH}'",
            "day = '2001-01-01'",
            "day = '2999-01-01'",
            "sequence = 9",
        )
    ),
    "UPDATE entries SET kind = 'released', amount = 0, delta = 0, artifact = head WHERE sequence = 2",
    "UPDATE entries SET artifact = plan_hash WHERE sequence = 4",
    "DELETE FROM entries WHERE sequence = 1",
    "DELETE FROM entries WHERE sequence = 2",
]
