// SPDX-License-Identifier: Apache-2.0
// Calls no allocation function at all: the proxy must be among its libraries nevertheless.
int main(void) { return 0; }
