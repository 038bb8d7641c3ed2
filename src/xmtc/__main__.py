"""`python -m xmtc`: the command line."""

from xmtc.cli import main

main()
