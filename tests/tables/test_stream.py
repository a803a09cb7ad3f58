"""Streams: however a table falls into parts, its encoding, and all that is made of it, has the same bits."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.estimators import PrivateClassifier
from prepriv.ledger import Ledger
from prepriv.tables.encoding import encode, encode_labels, encode_stream
from prepriv.tables.readers import BadData
from prepriv.tables.spool import Spool
from prepriv.tables.stream import Files, as_stream, files
from prepriv.tables.table import Streamed

N = 1500  # five blocks of 256 rows, and a rest
DOMAIN = Domain(
    {"a": Numeric(0, 1, missing="impute"), "job": Categorical(["clerk", "smith"]), "b": Numeric(-1, 1)},
    ["no", "yes"],
    label="y",
)


@pytest.fixture
def frame(rng):
    a = rng.random(N).astype(object)
    a[::97] = None
    job = rng.choice(["clerk", "smith", "odd", None], N)
    return pd.DataFrame(
        {"y": rng.choice(["no", "yes", "?"], N), "a": a.astype(float), "job": job, "b": rng.normal(size=N)}
    )


def parquet(table, path, rows_in_group):
    pq.write_table(table, path, row_group_size=rows_in_group)


def streams(frame, folder):
    """One table in many forms; the cuts fall inside blocks and on their edges."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for group in (1, 255, 256, 257, N):
        (folder / f"g{group}").mkdir()
        parquet(table, folder / f"g{group}" / "t.parquet", group)
        yield f"row groups of {group}", folder / f"g{group}" / "t.parquet"
    (folder / "parts").mkdir()
    for i, start in enumerate(range(0, N, 97)):
        part = table.slice(start, 97)
        if i % 2:
            parquet(part, folder / "parts" / f"{i:02}.parquet", 40)
        else:
            pa.csv.write_csv(part, folder / "parts" / f"{i:02}.csv")
    yield "a folder", folder / "parts"
    yield "a glob", str(folder / "parts" / "*")
    pa.csv.write_csv(table, folder / "one.csv")
    yield "a CSV file", folder / "one.csv"
    yield "a dataset", ds.dataset(folder / "g255", format="parquet")
    yield "a reader", table.to_reader(max_chunksize=100)
    yield "a query", pl.from_pandas(frame).lazy()
    yield "a query of a file", pl.scan_parquet(folder / "g257" / "t.parquet")
    if find_spec("dask") is not None:
        import dask.dataframe as dd

        yield "partitions", dd.from_pandas(frame, npartitions=7)
        yield "partitions of files", dd.read_parquet(folder / "g257" / "t.parquet", split_row_groups=2)


def test_every_stream_is_encoded_as_the_table_in_memory_to_the_bit_and_in_the_same_blocks(frame, tmp_path):
    want = list(encode(frame, DOMAIN).blocks())
    labels = encode_labels(frame["y"], DOMAIN.classes)
    for name, data in streams(frame, tmp_path):
        stream = as_stream(data)
        for keep in (True, False):
            if stream.once and not keep:
                continue
            table, targets = encode_stream(stream, DOMAIN, "y", keep=keep)
            assert isinstance(table, Streamed) != keep, name
            assert table.n == N and targets.tolist() == labels.tolist(), name
            for _ in range(1 if stream.once else 2):  # a later pass, too
                got = list(table.blocks())
                assert [at for at, _ in got] == [at for at, _ in want], name
                assert all(x.tobytes() == y.tobytes() for (_, x), (_, y) in zip(got, want)), name


def test_a_dask_frame_is_computed_one_partition_at_a_time(frame, monkeypatch):
    """And only its declared columns; a partition that cannot be made is one sentence without a cell."""
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install prepriv[dask]")
    import dask

    made = []
    add = Spool.add
    monkeypatch.setattr(Spool, "add", lambda self, part: (made.append("held"), add(self, part)))

    def part(i):
        made.append(i)
        if i > 3:
            raise ValueError("SECRET")
        return frame[100 * i : 100 * (i + 1)]

    def parts(count):
        return dd.from_map(part, range(count), meta=frame[:0])

    with dask.config.set(scheduler="synchronous"):
        table = encode(parts(4), DOMAIN)
        assert made == [0, "held", 1, "held", 2, "held", 3, "held"]
        assert [sum(len(x) for x in table) for _ in range(2)] == [400, 400] and len(made) == 8  # read once
        with pytest.raises(BadData, match="withheld") as told:
            encode(parts(5), DOMAIN)
    assert "SECRET" not in str(told.value) and told.value.__cause__ is None
    with pytest.raises(BadData, match="no column 'b'"):
        encode(parts(4).drop(columns="b"), DOMAIN)


def test_encode_takes_a_stream(frame, tmp_path):
    parquet(pa.Table.from_pandas(frame), tmp_path / "t.parquet", 100)
    table = encode(tmp_path / "t.parquet", DOMAIN)
    assert table.n == N and isinstance(table, Streamed)
    assert np.concatenate(list(table)).tobytes() == encode(frame, DOMAIN).block(0, N).tobytes()
    with pytest.raises(TypeError, match="no rows at hand"):
        table.block(0, 1)


@pytest.mark.parametrize("odd", ["0x1F", "x", '"', "", "1e999", '"a,b"', '"never closed'])
def test_one_odd_cell_changes_no_other_row_wherever_files_are_cut(frame, tmp_path, odd):
    """The rule of tables.column over parts: types are not those of a first block, and no part has types of its own."""
    lines = [f"{y},{i},clerk,{i / N}" for i, y in enumerate(frame["y"])]
    before = "y,a,job,b\n" + "\n".join(lines) + "\n"
    (tmp_path / "before.csv").write_text(before)
    lines[700] = f"no,{odd},smith,0.5"
    (tmp_path / "after.csv").write_text("y,a,job,b\n" + "\n".join(lines) + "\n")
    one, other = (
        np.concatenate(list(encode(tmp_path / f"{name}.csv", DOMAIN))) for name in ("before", "after")
    )
    same = [i for i in range(N) if i != 700]
    assert one.shape == other.shape and one[same].tobytes() == other[same].tobytes()


def test_parts_of_other_types_are_read_cell_by_cell(tmp_path):
    """One file has numbers, another has them as texts: an odd cell in one file would do that."""
    domain = Domain({"a": Numeric(0, 10)}, [0, 1], label="y")
    parquet(pa.table({"a": [1, 2], "y": [0, 1]}), tmp_path / "1.parquet", 1)
    parquet(pa.table({"a": ["3", "odd"], "y": ["0", "1.0"]}), tmp_path / "2.parquet", 1)
    table, targets = encode_stream(Files(files(tmp_path)), domain, "y", keep=False)
    assert np.concatenate(list(table)).ravel().tolist() == [0.1, 0.2, 0.3, 0.5] and targets.tolist() == [
        0,
        1,
        0,
        1,
    ]


def test_what_is_wrong_with_a_stream_is_one_sentence(frame, tmp_path):
    parquet(pa.Table.from_pandas(frame), tmp_path / "1.parquet", 100)
    parquet(pa.Table.from_pandas(frame.drop(columns="b")), tmp_path / "2.parquet", 100)
    (tmp_path / "none").mkdir()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 SECRET")
    for data, says in [
        (tmp_path, "2.parquet has no column 'b'"),
        (tmp_path / "none", "holds no .parquet, .csv or .tsv file"),
        (tmp_path / "*.pq", "no file matches"),
        (tmp_path / "gone.csv", "no such file"),
        (tmp_path / "broken.parquet", "cannot be read as Parquet"),
        (pl.LazyFrame({"a": [1]}), "no column 'job'"),
        (ds.dataset(pa.table({"a": [1]})), "no column 'job'"),
    ]:
        with pytest.raises(BadData, match=says) as told:
            encode(data, DOMAIN)
        assert "SECRET" not in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize(
    "twice", [{"columns": {"y": Categorical(["no", "yes"])}}, {"unit": "y", "rows_per_unit": 1}]
)
def test_a_label_that_is_declared_twice_is_refused_before_the_charge(tmp_path, twice):
    """The run was charged, and then the header line was called wrong, which was right."""
    pd.DataFrame({"a": [0.0, 1.0] * 20, "y": ["no", "yes"] * 20}).to_csv(tmp_path / "t.csv", index=False)
    ledger = Ledger.create(tmp_path / "L.db", "people", epsilon=4, delta=1e-3)
    declared = {"columns": {}, "classes": ["no", "yes"], "n": 40} | twice
    domain = Domain(**declared | {"columns": {"a": Numeric(0, 1)} | declared["columns"]})
    clf = PrivateClassifier(domain, epsilon=1.0, ledger=tmp_path / "L.db")
    with pytest.raises(ValueError, match="label"):
        clf.fit(str(tmp_path / "t.csv"), "y")
    assert ledger.entries() == ()


def test_a_dataset_that_types_texts_by_their_first_cells_is_refused(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv")
    with pytest.raises(BadData, match="path of its files"):
        as_stream(ds.dataset(tmp_path / "t.csv", format="csv"))


def test_a_part_that_changes_or_vanishes_between_passes_stops_the_run(frame, tmp_path):
    whole = pa.Table.from_pandas(frame)
    for i in range(2):
        parquet(whole, tmp_path / f"{i}.parquet", 500)
    table = encode(tmp_path, DOMAIN)
    assert sum(len(x) for x in table) == 2 * N
    parquet(whole.slice(1), tmp_path / "1.parquet", 500)
    with pytest.raises(BadData, match=r"1\.parquet changed while"):
        list(table)
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(BadData, match=r"no such file: .*1\.parquet"):
        list(table)


def test_what_a_library_says_of_a_query_is_withheld():
    query = pl.LazyFrame({"a": ["0.5", "SECRET"], "job": ["", ""], "b": [0, 0], "y": ["", ""]}).with_columns(
        pl.col("a").cast(pl.Float64)
    )
    with pytest.raises(BadData, match="withheld") as told:
        encode(query, DOMAIN)
    assert "SECRET" not in str(told.value) and told.value.__cause__ is None


def test_a_query_is_asked_once_whatever_it_would_give_the_next_time(rng):
    asked = []

    def rows(frame):
        asked.append(len(frame))
        return frame.head(6 - len(asked))

    source = pl.LazyFrame({"a": [0.5] * 5, "job": [""] * 5, "b": [0.0] * 5, "y": ["no"] * 5})
    query = source.map_batches(rows, schema=source.collect_schema())
    table, targets = encode_stream(as_stream(query), DOMAIN, "y", keep=False)
    first = [x.tobytes() for x in table]
    assert table.n == len(targets) == 5 and len(asked) == 1
    assert [x.tobytes() for x in table] == first and len(asked) == 1
    assert [len(x) for x in table.some(np.array([True, False, True, True, False]))] == [3] and len(asked) == 1


def test_some_rows_of_a_stream_are_those_of_the_table(frame, tmp_path, rng):
    """A holdout splits a stream without holding it."""
    for start in range(0, N, 97):
        parquet(pa.Table.from_pandas(frame[start : start + 97]), tmp_path / f"{start:04}.parquet", 50)
    chosen = rng.random(N) < 0.3
    want = encode(frame, DOMAIN).some(chosen)
    got = encode(tmp_path, DOMAIN).some(chosen)
    assert isinstance(got, Streamed) and got.n == want.n == chosen.sum()
    assert [x.tobytes() for x in got] == [x.tobytes() for x in want]
    with pytest.raises(BadData, match="same number of rows"):
        list(encode(tmp_path, DOMAIN).some(chosen[:-1]))


@pytest.mark.parametrize("group", [1500, 300, 77])
def test_rows_found_by_their_numbers_are_those_of_the_table(frame, tmp_path, rng, group):
    """A part of a table is read elsewhere: the same blocks, of the same numbers, in whatever row groups they lie."""
    for start in range(0, N, 700):
        parquet(pa.Table.from_pandas(frame[start : start + 700]), tmp_path / f"{start:04}.parquet", group)
    chosen = rng.random(N) < 0.7
    for table in (encode(tmp_path, DOMAIN), encode(tmp_path, DOMAIN).some(chosen)):
        want = list(table.blocks())
        for start, stop in ((0, table.n), (256, 512), (512, table.n), (768, 800), (table.n, table.n)):
            got = [] if start == stop else list(table.part(start, stop).blocks())
            some = [(at, x[: stop - at]) for at, x in want if start <= at < stop]
            assert [(at, x.tobytes()) for at, x in got] == [(at, x.tobytes()) for at, x in some]
    assert encode(frame, DOMAIN).part(0, 256) is None  # in this memory only
    whole = encode(tmp_path, DOMAIN).part(0, N)
    parquet(pa.Table.from_pandas(frame[:700]), tmp_path / "0700.parquet", 50)
    with pytest.raises(BadData, match=r"0700\.parquet changed while"):
        list(whole)
