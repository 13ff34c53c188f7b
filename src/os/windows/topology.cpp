// SPDX-License-Identifier: Apache-2.0
#include "os/windows/topology.hpp"

#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

// Asks the system. Memory of the system's, since this calls no malloc.
class Answer {
 public:
  explicit Answer(Relation::Kind kind) {
    const auto relation = LOGICAL_PROCESSOR_RELATIONSHIP(kind);
    DWORD size = 0;
    GetLogicalProcessorInformationEx(relation, nullptr, &size);
    if (size == 0) return;
    memory_ = VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (memory_ != nullptr &&
        GetLogicalProcessorInformationEx(
            relation, static_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(memory_), &size)) {
      size_ = size;
    }
  }
  ~Answer() {
    if (memory_ != nullptr) VirtualFree(memory_, 0, MEM_RELEASE);
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  bool is_there() const { return size_ != 0; }
  Topology topology() const { return {memory_, size_}; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

// Calls use(topology) with the memory nodes: with all their groups where the system tells those.
template <class Use>
void with_nodes(Use use) {
  const Answer whole(Relation::kNodeOfGroups);
  if (whole.is_there()) {
    use(whole.topology());
  } else {
    use(Answer(Relation::kNode).topology());
  }
}

}  // namespace

unsigned read_memory_nodes(int* nodes, unsigned max) {
  LastErrorGuard guard;
  unsigned count = 0;
  with_nodes([&](const Topology& t) { count = t.nodes(nodes, max); });
  return count;
}

unsigned count_core_types() {
  LastErrorGuard guard;
  return Answer(Relation::kCore).topology().core_types();
}

void keep_processors(ProcessorSet* set, int node, int core_type, int threads_per_core) {
  LastErrorGuard guard;
  if (node >= 0) with_nodes([&](const Topology& t) { t.keep(set, node, -1, -1); });
  if (core_type >= 0 || threads_per_core > 0) {
    Answer(Relation::kCore).topology().keep(set, -1, core_type, threads_per_core);
  }
}

}  // namespace corbel::os
