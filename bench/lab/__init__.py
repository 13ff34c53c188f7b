# SPDX-License-Identifier: Apache-2.0
"""The bench lab. bench/README.md shows how its modules work together."""
