// SPDX-License-Identifier: Apache-2.0
// The statistics as JSON. The keys are the names of the fields.
#include "alloc/report/stats_json.hpp"

#include <iterator>

#include "alloc/map/size_class.hpp"

#include "base/config.hpp"

namespace corbel::alloc {

namespace {

template <class Struct>
struct Field {
  const char* name;
  std::size_t Struct::* value;
};

#define CORBEL_FIELD(name) {"\"" #name "\":", &Stats::name}
constexpr Field<Stats> kFields[] = {
    CORBEL_FIELD(footprint),       CORBEL_FIELD(peak_footprint),
    CORBEL_FIELD(mapped),          CORBEL_FIELD(live),
    CORBEL_FIELD(large_live),      CORBEL_FIELD(large_count),
    CORBEL_FIELD(thread_cached),   CORBEL_FIELD(slab_free),
    CORBEL_FIELD(orphan_free),     CORBEL_FIELD(slab_purged),
    CORBEL_FIELD(uncarved),        CORBEL_FIELD(free_resident),
    CORBEL_FIELD(free_purged),     CORBEL_FIELD(free_count),
    CORBEL_FIELD(largest_free),    CORBEL_FIELD(peak_mapped),
    CORBEL_FIELD(uncommitted),     CORBEL_FIELD(metadata),
    CORBEL_FIELD(metadata_mapped), CORBEL_FIELD(soft_limit),
    CORBEL_FIELD(hard_limit),      CORBEL_FIELD(container_limit),
    CORBEL_FIELD(limit_searches),  CORBEL_FIELD(limit_episodes),
    CORBEL_FIELD(limit_excess),    CORBEL_FIELD(limit_refusals),
    CORBEL_FIELD(threads),         CORBEL_FIELD(map_calls),
    CORBEL_FIELD(purge_calls),     CORBEL_FIELD(heaps_taken_over),
};
#undef CORBEL_FIELD
// Fails when a new field is missing above. The 5 fields that are left out there: `size` and
// `class_count`, and the three that are printed as words.
static_assert(sizeof(Stats) == sizeof(Stats::classes) + (std::size(kFields) + 5) * sizeof(size_t));

const char* name_of_source(std::size_t source) {
  switch (source) {
    case CORBEL_LIMIT_ENVIRONMENT:
      return "environment";
    case CORBEL_LIMIT_CALL:
      return "call";
    default:
      return "default";
  }
}

const char* name_of_activity(std::size_t helper_thread) {
  switch (helper_thread) {
    case CORBEL_HELPER_RESTING:
      return "resting";
    case CORBEL_HELPER_WORKING:
      return "working";
    default:
      return "none";
  }
}

#define CORBEL_FIELD(name) {"\"" #name "\":", &corbel_size_class_stats::name}
constexpr Field<corbel_size_class_stats> kClassFields[] = {
    CORBEL_FIELD(block_size),    CORBEL_FIELD(slabs),       CORBEL_FIELD(used_blocks),
    CORBEL_FIELD(cached_blocks), CORBEL_FIELD(free_blocks), CORBEL_FIELD(purged_blocks),
    CORBEL_FIELD(uncarved),
};
#undef CORBEL_FIELD

constexpr std::size_t length_of(const char* s) {
  std::size_t n = 0;
  while (s[n] != '\0') ++n;
  return n;
}

template <class Struct, std::size_t kCount>
constexpr std::size_t longest(const Field<Struct> (&fields)[kCount]) {
  constexpr std::size_t kDigitsAndComma = 21;
  std::size_t length = 2;  // the braces
  for (const Field<Struct>& field : fields) length += length_of(field.name) + kDigitsAndComma;
  return length;
}
static_assert(longest(kFields) + kClasses * (1 + longest(kClassFields)) + 200 < kMaxJson);

template <class Struct, std::size_t kCount>
void add_fields(TextInto& text, const Struct& s, const Field<Struct> (&fields)[kCount]) {
  const char* comma = "";
  for (const Field<Struct>& field : fields) {
    text.add(comma).add(field.name).add_decimal(s.*field.value);
    comma = ",";
  }
}

}  // namespace

void add_json(TextInto& text, const Stats& s) {
  text.add("{\"version\":\"").add(config::kVersion).add("\",");
  add_fields(text, s, kFields);
  text.add(",\"soft_limit_source\":\"").add(name_of_source(s.soft_limit_source));
  text.add("\",\"hard_limit_source\":\"").add(name_of_source(s.hard_limit_source));
  text.add("\",\"helper_thread\":\"").add(name_of_activity(s.helper_thread));
  text.add("\",\"classes\":[");
  const char* comma = "";
  for (std::size_t i = 0; i < s.class_count; ++i) {
    if (s.classes[i].slabs == 0) continue;
    text.add(comma).add("{");
    add_fields(text, s.classes[i], kClassFields);
    text.add("}");
    comma = ",";
  }
  text.add("]}");
}

}  // namespace corbel::alloc
