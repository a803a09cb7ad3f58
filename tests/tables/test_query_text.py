"""The text of a query: one statement that reads, as it runs and as it is printed."""

import pytest

from prepriv.tables.query_text import LONGEST_QUERY, depends, one_statement
from prepriv.tables.readers import BadData


@pytest.mark.parametrize(
    "sql, said",
    [
        ("SELECT a\n\tFROM t ;\n", "SELECT a FROM t"),
        ("-- whose; rows\nselect a /* not; /* b */ */ from t", "select a from t"),
        ("SELECT 'a;b -- c', \"x;y\" FROM t -- ;", "SELECT 'a;b -- c', \"x;y\" FROM t"),
        ("SELECT 'it''s;' FROM t", "SELECT 'it''s;' FROM t"),
        (r"SELECT E'it\'s; -- ' FROM t", r"SELECT E'it\'s; -- ' FROM t"),
        ("SELECT $q$ ; ' -- $q$ FROM t", "SELECT $q$ ; ' -- $q$ FROM t"),
        ("FROM t;;", "FROM t"),
        ("(SELECT a FROM t)", "(SELECT a FROM t)"),
    ],
)
def test_comments_go_and_literals_stay(sql, said):
    assert one_statement(sql) == said == one_statement(said)


@pytest.mark.parametrize(
    "sql, why",
    [
        ("", "empty"),
        ("-- nothing", "empty"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("SELECT 1 /* ; */ ; DROP TABLE t", "one statement"),
        ("SELECT 1 /* never", "comment"),
        ("SELECT 'never", "quote"),
        ("DELETE FROM t", "must be one that reads"),
        ("insert into t values (1)", "must be one that reads"),
        ("COPY t TO 'x.csv'", "must be one that reads"),
        ("EXPLAIN SELECT 1", "must be one that reads"),
        ("SELECT * FROM (PIVOT t ON y)", "PIVOT"),
        ("SELECT 'a\nb' FROM t", "printable"),
        ("SELECT 'a\x1b[2J' FROM t", "printable"),
        ("SELECT " + "a, " * LONGEST_QUERY + "a FROM t", "at most"),
        (7, "text of SQL"),
    ],
)
def test_what_is_not_one_statement_that_reads_is_refused(sql, why):
    with pytest.raises(BadData, match=why):
        one_statement(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, b AS c FROM t",
        "SELECT * FROM t WHERE a > 3 AND b = 'JOIN, LIMIT' ORDER BY a, b",
        'SELECT "limit" FROM t -- JOIN u',
        "FROM t",
    ],
)
def test_columns_and_conditions_of_one_table_depend_on_one_row(sql):
    assert depends(sql) == []


@pytest.mark.parametrize(
    "sql, word",
    [
        ("SELECT a FROM t JOIN u ON t.i = u.i", "JOIN"),
        ("SELECT a FROM t limit 5", "LIMIT"),
        ("SELECT a FROM t, u", "two tables"),
        ("SELECT a FROM t AS x , u WHERE b", "two tables"),
        ("SELECT sum(a) FROM t", "brackets"),
        ("SELECT own_function(a) FROM t", "brackets"),
        ("SELECT a FROM t TABLESAMPLE 10", "TABLESAMPLE"),
        ("SELECT DISTINCT a FROM t", "DISTINCT"),
        ("SELECT a FROM t UNION ALL SELECT a FROM u", "UNION"),
        ("SELECT a FROM t WHERE b = (SELECT max(b) FROM t)", "a second SELECT"),
        ("WITH v AS (SELECT a FROM t) SELECT a FROM v", "WITH"),
        ("SELECT 1", "not one FROM"),
        ("SELECT a FROM t GROUP BY a", "GROUP"),
        ("SELECT lag(a) OVER (ORDER BY b) FROM t", "OVER"),
    ],
)
def test_whatever_else_is_said_to_depend_on_several(sql, word):
    assert word in depends(sql)
