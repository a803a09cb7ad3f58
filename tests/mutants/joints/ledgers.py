"""Planted bugs: ledgers in containers and on servers."""

from __future__ import annotations

from mutant import Mutant

PLACES, TEXTS = "tests/ledger/test_ledger_places.py", "tests/ledger/test_ledger_texts.py"
SERVER = "tests/ledger/test_ledger_postgres.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a ledger mounted by itself",
        "SQLite: two names of one file are two logs",
        "ledger/mounts.py",
        "        return file != folder\n",
        "        return False\n",
        (PLACES, "-k", "mounted_by_itself"),
    ),
    Mutant(
        "a place that is looked at when a ledger is opened, and not at a charge",
        "SQLite: two names of one file are two logs",
        "ledger/store.py",
        "    refuse_unsafe_place(path)  # SQLite",
        "    write or refuse_unsafe_place(path)  # SQLite",
        (PLACES, "-k", "second_name or told"),
    ),
    Mutant(
        "a look at a mount that drops the locks of the file",
        "POSIX: closing any descriptor of a file drops the locks of the process",
        "ledger/mounts.py",
        "os.open(path, os.O_PATH | os.O_NOFOLLOW)",
        "os.open(path, os.O_RDONLY | os.O_NOFOLLOW)",
        (PLACES, "-k", "keeps_the_locks"),
    ),
    Mutant(
        "a table of mounts cut at odd characters",
        "str.splitlines knows ten ends of a line",
        "ledger/mounts.py",
        '.split("\\n")  # a name',
        ".splitlines()  # a name",
        (PLACES, "-k", "table_of_mounts"),
    ),
    Mutant(
        "a charge in a file that was replaced meanwhile",
        "a backup put back while a charge is written",
        "ledger/store.py",
        "        if write and _identity(path) != file:",
        "        if write and _identity(path) is None:",
        (PLACES, "-k", "replaced"),
    ),
    Mutant(
        "a ledger whose texts act on the terminal",
        "terminal escape sequences in names",
        "commands/exits.py",
        "    typer.echo(shown(text), err=err)\n",
        "    typer.echo(text, err=err)\n",
        (TEXTS, "-k", "sound_and_odd"),
    ),
    Mutant(
        "a row that no charge could have made",
        "a check at one door only",
        "ledger/schema.py",
        "    return low <= len(text) <= high and shown(text) == text\n",
        "    return low <= len(text) <= high\n",
        (TEXTS, "-k", "no_charge or stops"),
    ),
    Mutant(
        "charges of units and of records in one ledger",
        "a check at one door only",
        "ledger/verification.py",
        "    problems += chain.check_whose(entries)\n",
        "",
        (TEXTS, "-k", "no_charge"),
    ),
    Mutant(
        "an estimator that shows the password of its ledger",
        "credentials in the repr of an object",
        "pipeline/charge.py",
        '        check_no_password(value)\n        owner.__dict__["ledger"] = value\n',
        '        owner.__dict__["ledger"] = value\n',
        (TEXTS, "-k", "password and (classifier or set_params)"),
    ),
    Mutant(
        "a password in disguise",
        "percent-encoded keys of a URL",
        "ledger/urls.py",
        'unquote(option.partition("=")[0])',
        'option.partition("=")[0]',
        (TEXTS, "-k", "password and open"),
    ),
    Mutant(
        "a server that takes a row with a wrong hash",
        "one INSERT that makes a ledger corrupt for ever",
        "ledger/postgres_guard.py",
        '    "its content does not match its hash": f"NEW.head IS NOT {_DIGEST}",\n',
        "",
        (SERVER, "-k", "no_charge_would_write and wrong"),
    ),
    Mutant(
        "a server that takes a day in the future",
        "one INSERT after which every clock is set back",
        "ledger/postgres_guard.py",
        "interval '1 day'",
        "interval '1000 years'",
        (SERVER, "-k", "no_charge_would_write and future"),
    ),
    Mutant(
        "a server that nothing proves to be the one",
        "libpq: sslmode = prefer verifies nothing",
        "ledger/postgres.py",
        '    if options.get("sslmode") not in ("verify-ca", "verify-full") and',
        '    if options.get("sslmode") in ("disable", "allow") and',
        (SERVER, "-k", "prove"),
    ),
    Mutant(
        "merge keys in a schema",
        "YAML: the billion laughs",
        "pipeline/declared_file.py",
        "            if key.tag == _MERGE:\n",
        "            if False:\n",
        ("tests/pipeline/test_declared_file.py",),
    ),
    Mutant(
        "aliases of aliases in a schema",
        "YAML: the billion laughs",
        "pipeline/declared_file.py",
        "    if size(root) > len(sizes) + MOST_ALIASED:\n",
        "    if len(sizes) > MOST_ALIASED + size(root):\n",
        ("tests/pipeline/test_declared_file.py", "-k", "one_sentence"),
    ),
    Mutant(
        "columns that change after they were declared",
        "a declared fact that the caller can edit",
        "columns.py",
        "        self._items = dict(items)\n",
        "        self._items = items\n",
        ("tests/test_domain.py", "-k", "its_own"),
    ),
)
