// SPDX-License-Identifier: Apache-2.0
#include "profile/heap_output.hpp"

#include <fmt/core.h>

#include "pprof/profile_file.hpp"
#include "profile/output_files.hpp"
#include "profile/profile_page.hpp"
#include "profile/report.hpp"
#include "terminal.hpp"

namespace corbel::cli {

HeapOutput choose_heap_output(const HeapOptions& options, const std::string& program) {
  HeapOutput output{options.output, options.page};
  if (output.profile.empty()) output.profile = default_output(program, "heap");
  if (output.page.empty() && !options.no_page) output.page = page_beside(output.profile);
  check_writable(output.profile);
  if (!output.page.empty()) check_writable(output.page);
  return output;
}

void write_heap_output(const Profile& profile, const HeapOutput& output, const std::string& title) {
  write_profile(profile, output.profile);
  if (!output.page.empty()) write_file(output.page, profile_page(profile, title));
  if (profile.samples.empty()) {
    complain(
        "no samples: the program requested too little memory for one (sample more often, as with "
        "--every 4K)");
  } else {
    fmt::print(stderr, "{}", profile_table(profile, 10, 2));
  }
  if (!output.page.empty()) {
    fmt::print(stderr, "page:    {} (open it in a browser)\n", output.page);
  }
  fmt::print(stderr, "profile: {} (pprof -http=: {})\n", output.profile, output.profile);
}

}  // namespace corbel::cli
