// SPDX-License-Identifier: Apache-2.0
// Which parallel call a stack belongs to.
#include "symbols/task_label.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace corbel::cli {
namespace {

struct Marker {
  std::string_view word;  // a whole word of the name of a function or of a class
  std::string_view algorithm;
};

// Classes that run the bodies of an algorithm, and the algorithms themselves, in Corbel and in
// oneTBB. The first one in a name decides: algorithms that are built on others come before them.
constexpr std::array kMarkers = {
    Marker{"parallel_sort", "parallel_sort"},
    Marker{"sort_call", "parallel_sort"},
    Marker{"quick_sort_range", "parallel_sort"},
    Marker{"quick_sort_pretest_body", "parallel_sort"},
    Marker{"parallel_scan", "parallel_scan"},
    Marker{"scan_call", "parallel_scan"},
    Marker{"start_scan", "parallel_scan"},
    Marker{"final_sum", "parallel_scan"},
    Marker{"parallel_for_each", "parallel_for_each"},
    Marker{"for_each_call", "parallel_for_each"},
    Marker{"fed_task", "parallel_for_each"},
    Marker{"for_each_iteration_task", "parallel_for_each"},
    Marker{"input_block_handling_task", "parallel_for_each"},
    Marker{"forward_block_handling_task", "parallel_for_each"},
    Marker{"feeder_item_task", "parallel_for_each"},
    Marker{"parallel_do", "parallel_do"},
    Marker{"parallel_while", "parallel_while"},
    Marker{"parallel_deterministic_reduce", "parallel_deterministic_reduce"},
    Marker{"start_deterministic_reduce", "parallel_deterministic_reduce"},
    Marker{"parallel_reduce", "parallel_reduce"},
    Marker{"reduction_body", "parallel_reduce"},
    Marker{"split_body", "parallel_reduce"},
    Marker{"start_reduce", "parallel_reduce"},
    Marker{"parallel_pipeline", "parallel_pipeline"},
    Marker{"pipeline_call", "parallel_pipeline"},
    Marker{"filter_node", "parallel_pipeline"},
    Marker{"stage_task", "parallel_pipeline"},
    Marker{"concrete_filter", "parallel_pipeline"},
    Marker{"parallel_invoke", "parallel_invoke"},
    Marker{"invoke_in", "parallel_invoke"},
    Marker{"function_invoker", "parallel_invoke"},
    Marker{"invoke_root_task", "parallel_invoke"},
    Marker{"invoke_subroot_task", "parallel_invoke"},
    Marker{"fork_task", "parallel_invoke"},
    Marker{"parallel_for", "parallel_for"},
    Marker{"numbers_body", "parallel_for"},
    Marker{"copy_body", "parallel_for"},
    Marker{"start_for", "parallel_for"},
    Marker{"enqueued_task", "enqueue"},
    Marker{"enqueue_task", "enqueue"},
    Marker{"body_task", "flow graph"},
    Marker{"graph_task", "flow graph"},
    Marker{"apply_body_task_bypass", "flow graph"},
    Marker{"input_node_task_bypass", "flow graph"},
    Marker{"function_body_leaf", "flow graph"},
    Marker{"function_node", "flow graph"},
    Marker{"function_task", "task_group"},
    Marker{"function_stack_task", "task_group"},
    Marker{"group_task", "task_group"},
    Marker{"classic_record", "task"},
    Marker{"run_task", "task"},
    Marker{"task_dispatcher", "task"},
};

bool is_word_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool has_word(std::string_view text, std::string_view word) {
  const bool mangled = text.substr(0, 2) == "_Z";
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
    // In a name that could not be made readable, the length is before the word.
    const bool starts = at == 0 || (at >= 2 && text.substr(at - 2, 2) == "::") ||
                        (mangled && text[at - 1] >= '0' && text[at - 1] <= '9');
    const std::size_t end = at + word.size();
    if (starts && (mangled || end == text.size() || !is_word_character(text[end]))) return true;
  }
  return false;
}

// Where the name of the function itself begins: after the type that a template returns.
std::size_t after_return_type(std::string_view name) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ']' || c == '}') --depth;
    if (depth > 0) continue;
    if (c == '(') {
      if (name.substr(i, 22) != "(anonymous namespace)::") {
        if (i > 0) break;
      }
      i = name.find(')', i);
      if (i == std::string_view::npos) break;
    } else if (c == ' ' && name.substr(0, i).find("operator") == std::string_view::npos) {
      begin = i + 1;
    }
  }
  return begin;
}

bool begins_with(std::string_view text, std::string_view word) {
  return text.substr(0, word.size()) == word;
}

bool is_scheduler(std::string_view name, std::string_view file) {
  const std::string_view own = name.substr(after_return_type(name));
  if (begins_with(own, "corbel::") || begins_with(own, "tbb::") ||
      begins_with(own, "oneapi::tbb::") || begins_with(own, "_ZN6corbel") ||
      begins_with(own, "_ZNK6corbel") || begins_with(own, "_ZN3tbb") ||
      begins_with(own, "_ZNK3tbb")) {
    return true;
  }
  // With -g1, a name is all that is known of an inlined function, not its namespace.
  return own.substr(0, own.find_first_of("<(")).find("::") == std::string_view::npos &&
         (file.find("/include/corbel/") != std::string_view::npos ||
          file.find("/include/tbb/") != std::string_view::npos ||
          file.find("/include/oneapi/tbb/") != std::string_view::npos);
}

// Where threads and programs begin.
bool is_start(std::string_view name) {
  for (const std::string_view each : {"start_thread", "clone", "clone3", "__clone", "__clone3",
                                      "_start", "__libc_start_main", "__libc_start_call_main"}) {
    if (name == each) return true;
  }
  return begins_with(name, "__libc_start_main");
}

bool is_standard(std::string_view name, std::string_view file) {
  if (is_start(name)) return true;
  const std::string_view own = name.substr(after_return_type(name));
  if (own.substr(0, own.find_first_of("<(")).find("::") == std::string_view::npos &&
      file.find("/include/c++/") != std::string_view::npos) {
    return true;
  }
  return begins_with(own, "std::") || begins_with(own, "__gnu_cxx::") ||
         begins_with(own, "__cxx") || begins_with(own, "operator new");
}

// Functions that only pass a request on, by the names that many programs use.
bool is_wrapper(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kNames = {
      "strdup",       "strndup",       "wcsdup",          "asprintf",        "vasprintf",
      "xmalloc",      "xcalloc",       "xrealloc",        "xstrdup",         "xmemdup",
      "g_malloc",     "g_malloc0",     "g_realloc",       "g_strdup",        "g_strndup",
      "PyMem_Malloc", "PyMem_Realloc", "PyMem_RawMalloc", "PyObject_Malloc", "PyObject_Realloc",
      "zmalloc",      "zrealloc"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::string_view algorithm_of(std::string_view name) {
  for (const Marker& marker : kMarkers) {
    if (has_word(name, marker.word)) return marker.algorithm;
  }
  return {};
}

constexpr std::array<std::string_view, 2> kLambdas = {"::{lambda", "::<lambda"};

std::size_t lambda_in(std::string_view name) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view each : kLambdas) first = std::min(first, name.find(each));
  return first;
}

// The function that has the body whose call operator, or whose own name, is `name`.
std::string function_around(std::string_view name) {
  name = name.substr(after_return_type(name));
  if (const std::size_t lambda = lambda_in(name); lambda != std::string_view::npos) {
    return std::string(name.substr(0, lambda));
  }
  if (const std::size_t call = name.find("::operator()("); call != std::string_view::npos) {
    return std::string(name.substr(0, call));
  }
  return std::string(name);
}

// The lambda that is an argument of the template `name`; empty when there is none.
std::string function_in_arguments(std::string_view name) {
  const std::size_t lambda = lambda_in(name);
  if (lambda == std::string_view::npos) return {};
  // Back to the comma or the bracket before it, over the parameters of the function.
  int depth = 0;
  std::size_t begin = lambda;
  while (begin > 0) {
    const char c = name[begin - 1];
    if (c == ')' || c == '>') ++depth;
    if (depth == 0 && (c == ',' || c == '<' || c == '(')) break;
    if (c == '(' || c == '<') --depth;
    --begin;
  }
  std::string_view found = name.substr(begin, lambda - begin);
  while (!found.empty() && found.front() == ' ') found.remove_prefix(1);
  return is_scheduler(found, {}) ? std::string() : function_around(found);
}

std::string openmp_of(std::string_view name) {
  for (const std::string_view mark :
       {" [clone ._omp_fn", "._omp_fn.", " [clone .omp_outlined", ".omp_outlined"}) {
    if (const std::size_t at = name.find(mark); at != std::string_view::npos) {
      return at == 0 ? "omp parallel" : "omp parallel in " + std::string(name.substr(0, at));
    }
  }
  return {};
}

// What task_of needs to know of a name. Names recur in many stacks.
struct Facts {
  bool scheduler = false, standard = false;
  std::string_view algorithm;
  std::string openmp;
};

Facts facts_of(const Frame& frame) {
  Facts facts;
  facts.scheduler = is_scheduler(*frame.name, *frame.file);
  facts.standard = !facts.scheduler && is_standard(*frame.name, *frame.file);
  if (facts.scheduler) facts.algorithm = algorithm_of(*frame.name);
  facts.openmp = openmp_of(*frame.name);
  return facts;
}

template <typename FactsAt>
std::string find_task(const std::vector<Frame>& frames, FactsAt&& facts_at) {
  const std::string* body = nullptr;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Facts& facts = facts_at(frames[i]);
    if (!facts.openmp.empty()) return facts.openmp;
    if (!facts.scheduler) {
      if (!facts.standard) body = frames[i].name;
      continue;
    }
    if (facts.algorithm.empty()) continue;
    const std::string algorithm(facts.algorithm);
    // With -g1, a lambda is just "operator()". Without debug information, an inlined body is not
    // seen at all. The templates that call it name it; on the thread of the call, so does what
    // called them.
    std::string place;
    if (body != nullptr && *body != "operator()") place = function_around(*body);
    for (std::size_t k = i; place.empty() && k < frames.size(); ++k) {
      const Facts& outer = facts_at(frames[k]);
      if (outer.scheduler) {
        place = function_in_arguments(*frames[k].name);
      } else if (!outer.standard && *frames[k].name != "operator()") {
        place = function_around(*frames[k].name);
      }
    }
    return algorithm + (place.empty() ? "" : " in " + place);
  }
  return {};
}

}  // namespace

FrameKind kind_of(const Frame& frame) {
  if (is_scheduler(*frame.name, *frame.file)) return FrameKind::kScheduler;
  return is_standard(*frame.name, *frame.file) ? FrameKind::kStandard : FrameKind::kProgram;
}

std::vector<Frame> frames_of(const Profile& profile, const Sample& sample) {
  std::vector<Frame> frames;
  for (const std::uint32_t location : sample.stack) {
    for (const Line& line : profile.locations[location].lines) {
      const Function& function = profile.functions[line.function];
      frames.push_back({&profile.texts[function.name], &profile.texts[function.file]});
    }
  }
  return frames;
}

std::string task_of(const std::vector<Frame>& frames) {
  Facts facts;
  return find_task(frames,
                   [&](const Frame& frame) -> const Facts& { return facts = facts_of(frame); });
}

std::size_t own_frame(const std::vector<Frame>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (kind_of(frames[i]) == FrameKind::kProgram && !is_wrapper(*frames[i].name)) return i;
  }
  return 0;
}

void label_tasks(Profile& profile) {
  std::map<std::pair<const std::string*, const std::string*>, Facts> known;
  const auto facts_at = [&](const Frame& frame) -> const Facts& {
    const auto [place, added] = known.try_emplace({frame.name, frame.file});
    if (added) place->second = facts_of(frame);
    return place->second;
  };
  for (Sample& sample : profile.samples) {
    const std::string task = find_task(frames_of(profile, sample), facts_at);
    if (!task.empty()) profile.set_label(sample, "task", task);
  }
}

}  // namespace corbel::cli
