// SPDX-License-Identifier: Apache-2.0
// A program that needs a DLL which may never end its start.
extern "C" __declspec(dllimport) int endless();

int main() { return endless(); }
