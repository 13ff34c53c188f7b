/* SPDX-License-Identifier: Apache-2.0
   Replaces malloc, free, new and delete of the program that includes this header. */
#pragma once

#include <corbel/malloc_proxy.h>
