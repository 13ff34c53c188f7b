# SPDX-License-Identifier: Apache-2.0
"""Shared by the pages of `./dev demo` and `./dev bench`: colours, plots as SVG, the page's frame.

Add the folder above to sys.path, then `from report import colours, page, svg`.
"""
