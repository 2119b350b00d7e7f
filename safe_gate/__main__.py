"""`python -I -m safe_gate`: the command line without the console script."""

from safe_gate.cli import main

raise SystemExit(main())
