/* SPDX-License-Identifier: Apache-2.0
   Including this header makes a program run on the replaced malloc, free, new and delete. */
#pragma once

#include <corbel/malloc_proxy.h>
