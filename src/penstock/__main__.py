"""`python -m penstock`: the command line, where the command `penstock` is not on the path."""

from penstock.cli.entrance import main

if __name__ == "__main__":
    main()
