// SPDX-License-Identifier: Apache-2.0
// Calls for Intel's profilers. Corbel has a trace of its own, so they do nothing.
#include "tbb12/layout.hpp"

namespace tbb::detail {

namespace d1 {
class queuing_rw_mutex;
}

namespace r1 {

using Name = d0::string_resource_index;
using Domain = d1::itt_domain_enum;
using Extra = unsigned long long;

CORBEL_TBB12 void call_itt_notify(int, void*) {}
CORBEL_TBB12 void create_itt_sync(void*, const char*, const char*) {}
CORBEL_TBB12 void itt_set_sync_name(void*, const char*) {}
CORBEL_TBB12 void itt_make_task_group(Domain, void*, Extra, void*, Extra, Name) {}
CORBEL_TBB12 void itt_task_begin(Domain, void*, Extra, void*, Extra, Name) {}
CORBEL_TBB12 void itt_task_end(Domain) {}
CORBEL_TBB12 void itt_region_begin(Domain, void*, Extra, void*, Extra, Name) {}
CORBEL_TBB12 void itt_region_end(Domain, void*, Extra) {}
CORBEL_TBB12 void itt_metadata_ptr_add(Domain, void*, Extra, Name, void*) {}
CORBEL_TBB12 void itt_metadata_str_add(Domain, void*, Extra, Name, const char*) {}
CORBEL_TBB12 void itt_relation_add(Domain, void*, Extra, d0::itt_relation, void*, Extra) {}
CORBEL_TBB12 void construct(d1::queuing_rw_mutex&) {}  // only names the lock

}  // namespace r1
}  // namespace tbb::detail
