# SPDX-License-Identifier: Apache-2.0
"""For GDB: `source .../corbel.py` adds Corbel's commands and pretty-printers."""

import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
if _folder not in sys.path:
    sys.path.insert(0, _folder)

import corbel_gdb  # pylint: disable=wrong-import-position

corbel_gdb.set_up()
