# SPDX-License-Identifier: Apache-2.0
"""The table of misuse: which faults of a program does an allocator find?

    kinds        the kinds of misuse in the order of the table; compiles their program
    contestants  the allocators, with their settings and builds for checks
    judge        one run: found, stopped, crashed, missed, harmed?
    runner       all runs, on all cores, into a file
    record       the runs of a cell taken together; reads and writes the results
    table        the tables in Markdown
    figure       the table as a figure, and the page
    command      ./dev bench misuse
"""
