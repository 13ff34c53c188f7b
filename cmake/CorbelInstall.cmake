# SPDX-License-Identifier: Apache-2.0
# Install rules and package files.
