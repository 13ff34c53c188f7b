# SPDX-License-Identifier: Apache-2.0
"""The table of the article "Controlling memory consumption with Intel TBB scalable allocator":
tests 1 to 3 with no limit and three limits, next to the figures that the article printed in 2014.
"""
from lab.page import looks, show

from . import table

KERNELS = ("soft1", "soft2", "soft3")
LIMITED = ("corbel", "tbbmalloc")  # the contestants with a soft limit

# Peak memory in MB and seconds of tests 1, 2 and 3, as printed.
ARTICLE = (
    ("2 cores, 4 threads (Core i5-2540M), Windows 7", (
        ("tbbmalloc, no limit", 607, 5.58, 483, 10.50, 1716, 0.46),
        ("tbbmalloc, 500 MB", 505, 5.59, 459, 10.69, 1131, 0.86),
        ("tbbmalloc, 400 MB", 404, 5.39, 481, 10.51, 1118, 1.02),
        ("tbbmalloc, 300 MB", 405, 5.40, 487, 10.51, 1152, 1.09),
        ("default malloc", 389, 10.76, 439, 15.04, 1090, 1.15))),
    ("4 cores, 8 threads (Xeon E31275), Windows 8.1", (
        ("tbbmalloc, no limit", 774, 5.47, 954, 9.90, 2675, 1.00),
        ("tbbmalloc, 500 MB", 754, 5.43, 957, 9.98, 2092, 3.09),
        ("tbbmalloc, 400 MB", 675, 5.22, 951, 9.83, 2046, 3.17),
        ("tbbmalloc, 300 MB", 686, 5.47, 949, 9.81, 2123, 3.22),
        ("default malloc", 803, 17.21, 950, 16.73, 2103, 17.45))),
)


def _article():
    out = []
    for title, rows in ARTICLE:
        lines = "".join(
            f'<tr><th scope="row">{name}</th>' + "".join(
                f"<td>{memory} MB</td><td>{seconds:.2f} s</td>"
                for memory, seconds in zip(figures[::2], figures[1::2])) + "</tr>"
            for name, *figures in rows)
        top = "".join(f'<th scope="colgroup" colspan="2">test {n}</th>' for n in (1, 2, 3))
        out.append(f'<div class="wide grid" tabindex="0" role="region" aria-label="{title}"><table>'
                   f"<caption>The article's, {title}</caption><thead>"
                   f'<tr><th rowspan="2" scope="col">2014</th>{top}</tr><tr>'
                   + '<th scope="col">peak</th><th scope="col">elapsed</th>' * 3
                   + f"</tr></thead><tbody>{lines}</tbody></table></div>")
    return "".join(out)


def _limit(found, case):
    """The case with the limits that it set, which differ between the tests and scales."""
    limits = dict.fromkeys(f"{cell.extra('limit_mib'):g}" for cell in found
                           if cell and cell.extra("limit_mib"))
    return f"{case}: {' / '.join(limits)} MiB" if limits else case


def _lines(kernels, threads):
    cases = list(dict.fromkeys(case for kernel in kernels for case in kernel.case_labels))
    identities = sorted({i for kernel in kernels for i in kernel.contestants},
                        key=looks.sort_key)
    for identity in identities:
        for number, case in enumerate(cases):
            found = [row.cells.get(identity) if (row := kernel.row(case, threads)) else None
                     for kernel in kernels]
            if any(found) and (number == 0 or identity in LIMITED):
                own = ' class="own"' if identity == "corbel" else ""
                name = looks.name(identity) + (f", {_limit(found, case)}" if case else "")
                yield (f'<tr{own}><th scope="row">{show.escape(name)}</th>'
                       + "".join(map(table.cells, found)) + "</tr>")


def together(kernels, run):
    out = ["<p>The article runs three patterns of allocation, each with no limit and with three "
           "limits that were set by <code>scalable_allocation_mode</code>, and prints peak memory "
           "and elapsed time. Compare within a test; its figures are from other machines and "
           "another system, and its memory is address space.</p>"]
    for threads in sorted({count for kernel in kernels for count in kernel.thread_counts}):
        lines = "".join(_lines(kernels, threads))
        titles = [kernel.title for kernel in kernels]
        out.append('<div class="wide grid" tabindex="0" role="region" aria-label="soft limits">'
                   f"<table><caption>Here, {show.threads(threads)}</caption>"
                   f"{table.head(titles, 'contestant, limit')}<tbody>{lines}</tbody></table></div>")
    return "The soft-limit article's table", "".join(out) + _article()


def draw(kernel, run):
    # Most contestants do not support a limit, so bars would be mostly empty.
    return table.draw(kernel, run, with_bars=False)
