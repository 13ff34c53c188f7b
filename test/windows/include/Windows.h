// SPDX-License-Identifier: Apache-2.0
// As programs for Windows write it; MinGW's file has another name where names are case-sensitive.
#pragma once
#include <windows.h>
