BEGIN TRANSACTION;
CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
    kind TEXT NOT NULL CHECK (kind IN ('charged', 'released')),
    plan_uid TEXT NOT NULL CHECK (typeof(plan_uid) = 'text' AND length(plan_uid) BETWEEN 1 AND 128),
    plan_hash TEXT NOT NULL CHECK (typeof(plan_hash) = 'text' AND length(plan_hash) BETWEEN 64 AND 64),
    amount INTEGER NOT NULL CHECK (typeof(amount) = 'integer' AND amount BETWEEN 0 AND 4000000000000000000),
    delta INTEGER NOT NULL CHECK (typeof(delta) = 'integer' AND delta BETWEEN 0 AND 999999999999999999),
    spent INTEGER NOT NULL CHECK (typeof(spent) = 'integer' AND spent BETWEEN 0 AND 4000000000000000000),
    spent_delta INTEGER NOT NULL CHECK (typeof(spent_delta) = 'integer' AND spent_delta BETWEEN 0 AND 999999999999999999),
    artifact TEXT NOT NULL CHECK (typeof(artifact) = 'text'),
    note TEXT NOT NULL CHECK (typeof(note) = 'text' AND length(note) BETWEEN 0 AND 200),
    previous TEXT NOT NULL CHECK (typeof(previous) = 'text' AND length(previous) BETWEEN 64 AND 64),
    head TEXT NOT NULL CHECK (typeof(head) = 'text' AND length(head) BETWEEN 64 AND 64),
    day TEXT NOT NULL CHECK (typeof(day) = 'text' AND length(day) BETWEEN 10 AND 10),
    CHECK (CASE kind WHEN 'charged' THEN amount + delta > 0 AND length(artifact) = 0
                     ELSE amount + delta = 0 AND length(artifact) = 64 END),
    UNIQUE (kind, plan_uid)
);
INSERT INTO "entries" VALUES(1,'charged','e40e7b201b081b1da4a3d6f68a4d7ee4','5b982b7290be941061e6a1c5584f9f5d5fc5f5542ff2c9c42f119aa6da5cdd91',999999999,10000000000000,999999999,10000000000000,'','holds if at most 50 of the 2000 records miss ''age''','2cf90f89c700dc6478cdae882c8f7adae078ea6d2bae5a21e6d16266f02be596','a8d8c04703e9d36ff9e21699e9cb55bfbb0e6cfcb9b7764a6afd40190b6b51e1','2026-11-22');
INSERT INTO "entries" VALUES(2,'released','e40e7b201b081b1da4a3d6f68a4d7ee4','5b982b7290be941061e6a1c5584f9f5d5fc5f5542ff2c9c42f119aa6da5cdd91',0,0,999999999,10000000000000,'02df2897e764608ab1952ee74027676c6775c723e08efdd37099b4b63d996e26','','a8d8c04703e9d36ff9e21699e9cb55bfbb0e6cfcb9b7764a6afd40190b6b51e1','8cdd8907c876dbd6636b7e276f0dade6ce12c02e4c6a023842c177c50f1e2e77','2026-11-22');
CREATE TABLE header (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    dataset_id TEXT NOT NULL CHECK (typeof(dataset_id) = 'text' AND length(dataset_id) BETWEEN 1 AND 200),
    adjacency TEXT NOT NULL CHECK (adjacency IN ('replace-one', 'add-or-remove-one')),
    unit TEXT NOT NULL CHECK (unit IN ('basic', 'zcdp', 'gdp')),
    cap INTEGER NOT NULL CHECK (typeof(cap) = 'integer' AND cap BETWEEN 0 AND 4000000000000000000),
    cap_delta INTEGER NOT NULL CHECK (typeof(cap_delta) = 'integer' AND cap_delta BETWEEN 0 AND 999999999999999999),
    genesis TEXT NOT NULL CHECK (typeof(genesis) = 'text' AND length(genesis) BETWEEN 64 AND 64),
    CHECK (cap + cap_delta > 0 AND (unit = 'basic' OR cap_delta = 0))
);
INSERT INTO "header" VALUES(1,'t','replace-one','basic',3000000000,100000000000000,'2cf90f89c700dc6478cdae882c8f7adae078ea6d2bae5a21e6d16266f02be596');
CREATE TRIGGER header_no_update BEFORE UPDATE ON header
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER header_no_delete BEFORE DELETE ON header
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER header_once BEFORE INSERT ON header
WHEN EXISTS (SELECT 1 FROM header)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entries_append BEFORE INSERT ON entries
BEGIN
    SELECT RAISE(ABORT, 'the sequence has a gap')
    WHERE NEW.sequence IS NOT COALESCE((SELECT sequence FROM entries ORDER BY sequence DESC LIMIT 1), 0) + 1;
    SELECT RAISE(ABORT, 'the row does not continue the chain')
    WHERE NEW.previous IS NOT COALESCE((SELECT head FROM entries ORDER BY sequence DESC LIMIT 1), (SELECT genesis FROM header));
    SELECT RAISE(ABORT, 'the plan was charged or released before')
    WHERE EXISTS (SELECT 1 FROM entries WHERE kind = NEW.kind AND plan_uid = NEW.plan_uid);
    SELECT RAISE(ABORT, 'the totals do not add up')
    WHERE NEW.spent IS NOT COALESCE((SELECT spent FROM entries ORDER BY sequence DESC LIMIT 1), 0) + NEW.amount
       OR NEW.spent_delta IS NOT COALESCE((SELECT spent_delta FROM entries ORDER BY sequence DESC LIMIT 1), 0) + NEW.delta;
    SELECT RAISE(ABORT, 'the cap is exceeded')
    WHERE NOT EXISTS (SELECT 1 FROM header WHERE NEW.spent <= cap AND NEW.spent_delta <= cap_delta);
    SELECT RAISE(ABORT, 'released without a charge')
    WHERE NEW.kind = 'released' AND NOT EXISTS (SELECT 1 FROM entries
        WHERE kind = 'charged' AND plan_uid = NEW.plan_uid AND plan_hash = NEW.plan_hash);
END;
COMMIT;
