# SPDX-License-Identifier: Apache-2.0
"""The plots of the result page, one file per form.

To add one, add a file here with

    PLOTS = ("name",)            the values of a kernel's `plot` that it draws, or
    KERNELS = ("name", ...)      the kernels that it draws in a special form

    def draw(kernel, run):       -> HTML: a <figure> or a table
    def together(kernels, run):  optional: (title, HTML) of a chapter that precedes those of KERNELS
                                 and shows them together

`kernel` and `run` are lab.page.model's. drawing.py is shared by the plots: colours by contestant,
labels that do not overlap, the spread. A form falls back to another one when the run has too few
results (one number of threads has no line).
"""
import importlib
import pkgutil


def _modules():
    for found in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{found.name}")
        if hasattr(module, "PLOTS") or hasattr(module, "KERNELS"):
            yield module


def registry():
    """({plot: module}, {kernel: module})."""
    plots, kernels = {}, {}
    for module in _modules():
        plots.update({name: module for name in getattr(module, "PLOTS", ())})
        kernels.update({name: module for name in getattr(module, "KERNELS", ())})
    return plots, kernels


def draw(kernel, run):
    """The kernel's figure; an unknown form is drawn as bars."""
    plots, kernels = registry()
    module = kernels.get(kernel.name) or plots.get(kernel.plot) or plots["bars"]
    return module.draw(kernel, run)


def together(run):
    """{name of the first kernel: (title, HTML)} of the chapters that join kernels."""
    found = {}
    for module in _modules():
        kernels = [run.kernels[name] for name in getattr(module, "KERNELS", ())
                   if name in run.kernels]
        if kernels and hasattr(module, "together"):
            chapter = module.together(kernels, run)
            if chapter:
                found[kernels[0].name] = chapter
    return found
