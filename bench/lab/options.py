# SPDX-License-Identifier: Apache-2.0
"""The options of ./dev bench. A wrong one ends with exit code 2 and names the allowed values."""
import argparse
import difflib
import re
from pathlib import Path

COMMANDS = ("compare", "page", "peers", "lock")


def parser():
    made = argparse.ArgumentParser(
        prog="./dev bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures Corbel and its peers, row by row, and writes a page.",
        epilog="also:\n"
               "  ./dev bench compare A B [--all] [--html FILE]   the differences between two runs\n"
               "  ./dev bench page DIR                            draw a run's page again\n"
               "  ./dev bench peers [NAMES]                       fetch and build the peers only\n"
               "  ./dev bench lock                                pin the newest peers\n"
               "  ./dev bench container                           a server in limited memory\n"
               "  ./dev bench misuse                              programs that misuse the heap")
    scale = made.add_mutually_exclusive_group()
    scale.add_argument("--quick", dest="scale", action="store_const", const="quick",
                       help="small sizes: within 10 minutes")
    scale.add_argument("--full", dest="scale", action="store_const", const="full",
                       help="the sizes of the founding documents: hours")
    made.add_argument("--only", metavar="REGEX", type=expression,
                      help="only rows whose name matches (./dev bench --list shows the names)")
    made.add_argument("--peers", metavar="LIST", type=words,
                      help="only Corbel and these contestants, comma-separated")
    made.add_argument("--threads", metavar="LIST", type=counts,
                      help="thread counts for the rows that have several: 1,2,4")
    made.add_argument("--rounds", metavar="N", type=whole(1, 1000),
                      help="runs of each contestant in each row (quick: 3, otherwise 5)")
    made.add_argument("--seed", metavar="N", type=whole(0, 2**63), default=1,
                      help="seed of the order of the runs (1)")
    made.add_argument("--resume", metavar="DIR", nargs="?", const="", default=None,
                      help="continue a stopped run: DIR, or the latest")
    made.add_argument("--outside", action="store_true",
                      help="measure the programs that nothing is tuned to, and nothing else")
    made.add_argument("--list", action="store_true", help="list the rows without measuring")
    made.add_argument("--output", metavar="DIR", type=Path,
                      help="the folder of the results (build/bench/<date-time>)")
    # For the tests and for kernels from elsewhere.
    made.add_argument("--kernels", metavar="DIR", type=Path, help=argparse.SUPPRESS)
    made.set_defaults(scale="normal")
    return made


def expression(text):
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a regular expression: {error}") from None
    return text


def words(text):
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise argparse.ArgumentTypeError("names are missing")
    return found


def counts(text):
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1 or max(found) > 4096 or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(
            f"'{text}' must be different whole numbers from 1 to 4096, comma-separated, as in 1,2,4")
    return found


def whole(low, high):
    def convert(text):
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"'{text}' must be a whole number from {low} to {high}")
        return value
    return convert


def check_peers(made, chosen, known):
    """Exits with the list of known names when a name is unknown."""
    for name in chosen or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            made.error(f"argument --peers: there is no peer '{name}'"
                       + (f"; '{near[0]}'?" if near else ".") + f" Known are: {', '.join(known)}")


def parse(arguments):
    """(parser, options) of a run."""
    made = parser()
    found = made.parse_args(arguments)
    if found.resume is not None:
        given = [name for name in ("only", "peers", "threads", "rounds", "output", "kernels")
                 if getattr(found, name) is not None]
        if given or found.scale != "normal" or found.seed != 1 or found.list or found.outside:
            made.error("--resume continues the same plan: it takes no other option")
    return made, found
