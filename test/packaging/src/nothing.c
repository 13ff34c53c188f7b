// SPDX-License-Identifier: Apache-2.0
// Calls no allocation function; it must load the proxy nevertheless.
int main(void) { return 0; }
