// SPDX-License-Identifier: Apache-2.0
// Which processors belong together: the answer of GetLogicalProcessorInformationEx(), and what
// follows from it. Processor n of the group g has the number 64 * g + n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "os/os.hpp"

namespace corbel::os {

// A piece of the answer, as the system lays it out. `kind` tells which of the two it is.
struct Relation {
  enum Kind : std::uint32_t { kCore = 0, kNode = 1, kNodeOfGroups = 6 };
  struct Group {
    std::uint64_t processors;
    std::uint16_t number;
    std::uint16_t reserved[3];
  };

  std::uint32_t kind;
  std::uint32_t size;  // in bytes, of the whole piece
  union {
    struct {
      std::uint8_t flags;
      std::uint8_t efficiency;  // the higher, the faster
    } core;
    std::uint32_t node;
  };
  std::uint8_t reserved[18];
  std::uint16_t group_count;  // 0: one, in systems before there were several
  Group groups[1];

  template <class Visit>
  void for_each_group(Visit visit) const {
    const unsigned count = group_count == 0 ? 1 : group_count;
    for (unsigned i = 0; i < count; ++i) {
      if (groups[i].number < ProcessorSet::kMax / ProcessorSet::kBits) visit(groups[i]);
    }
  }
};
static_assert(offsetof(Relation, group_count) == 30 && offsetof(Relation, groups) == 32);

class Topology {
 public:
  Topology(const void* answer, std::size_t size)
      : begin_(static_cast<const char*>(answer)), end_(begin_ + size) {}

  // The numbers of the nodes with processors, at most `max`; returns how many there are of those.
  unsigned nodes(int* numbers, unsigned max) const {
    unsigned count = 0;
    for_each([&](const Relation& r) {
      if (!is_node(r) || count == max) return;
      std::uint64_t any = 0;
      r.for_each_group([&](const Relation::Group& g) { any |= g.processors; });
      if (any != 0) numbers[count++] = int(r.node);
    });
    return count;
  }

  // The number of kinds of cores; 0 if all are alike.
  unsigned core_types() const {
    unsigned count = 0;
    for (unsigned e = 0; e <= UINT8_MAX; ++e) count += has_efficiency(e);
    return count > 1 ? count : 0;
  }

  // See os::keep_processors.
  void keep(ProcessorSet* set, int node, int core_type, int threads_per_core) const {
    if (node >= 0) {
      keep_those(set, [&](const Relation& r) { return is_node(r) && r.node == unsigned(node); });
    }
    if (core_type >= 0) {
      const int efficiency = efficiency_of(core_type);
      keep_those(set, [&](const Relation& r) {
        return r.kind == Relation::kCore && r.core.efficiency == efficiency;
      });
    }
    if (threads_per_core > 0) keep_threads(set, unsigned(threads_per_core));
  }

 private:
  static bool is_node(const Relation& r) {
    return r.kind == Relation::kNode || r.kind == Relation::kNodeOfGroups;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const char* at = begin_; at < end_;) {
      const auto& r = *reinterpret_cast<const Relation*>(at);
      if (r.size == 0) return;
      visit(r);
      at += r.size;
    }
  }

  bool has_efficiency(unsigned efficiency) const {
    bool has = false;
    for_each([&](const Relation& r) {
      has |= r.kind == Relation::kCore && r.core.efficiency == efficiency;
    });
    return has;
  }

  // -1: there is no such type.
  int efficiency_of(int core_type) const {
    for (unsigned e = 0; e <= UINT8_MAX; ++e) {
      if (has_efficiency(e) && core_type-- == 0) return int(e);
    }
    return -1;
  }

  // Nothing changes if there are none of those.
  template <class IsOne>
  void keep_those(ProcessorSet* set, IsOne is_one) const {
    ProcessorSet kept{};
    bool any = false;
    for_each([&](const Relation& r) {
      if (!is_one(r)) return;
      any = true;
      r.for_each_group([&](const Relation::Group& g) { kept.words[g.number] |= g.processors; });
    });
    if (!any) return;
    for (unsigned i = 0; i < ProcessorSet::kMax / ProcessorSet::kBits; ++i) {
      set->words[i] &= kept.words[i];
    }
  }

  // Keeps the first `threads_per_core` processors of each core that are in the set.
  void keep_threads(ProcessorSet* set, unsigned threads_per_core) const {
    for_each([&](const Relation& r) {
      if (r.kind != Relation::kCore) return;
      unsigned kept = 0;
      r.for_each_group([&](const Relation::Group& g) {
        for (std::uint64_t left = g.processors; left != 0; left &= left - 1) {
          const unsigned p = g.number * ProcessorSet::kBits + unsigned(std::countr_zero(left));
          if (set->has(p) && ++kept > threads_per_core) set->remove(p);
        }
      });
    });
  }

  const char* const begin_;
  const char* const end_;
};

// How many processors' time a job may use whose processes get `rate` of 10,000 parts of the time of
// `all` processors, rounded up; at least 1.
constexpr unsigned processors_of_rate(std::uint32_t rate, unsigned all) {
  const std::uint64_t parts = std::uint64_t(rate) * all;
  const std::uint64_t whole = (parts + 9999) / 10000;
  return whole == 0 ? 1 : whole < all ? unsigned(whole) : all;
}

}  // namespace corbel::os
