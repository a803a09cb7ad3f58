"""`python -m prepriv`."""

from prepriv.cli import main

main()
