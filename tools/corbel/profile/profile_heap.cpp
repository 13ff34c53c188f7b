// SPDX-License-Identifier: Apache-2.0
// `corbel profile heap`: runs a command with the heap profile on, and shows what it has written.
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "profile/output.hpp"
#include "profile/profile_command.hpp"
#include "profile/profile_page.hpp"
#include "profile/profiled_run.hpp"
#include "profile/report.hpp"
#include "terminal.hpp"

namespace corbel::cli {

void report_heap(const Profile& profile, const ProfileOutput& output, const std::string& title) {
  write_profile(profile, output.profile);
  if (!output.page.empty()) write_file(output.page, profile_page(profile, title));
  if (profile.samples.empty()) {
    complain(
        "no samples: the program requested too little memory for one (sample more often, as with "
        "--every 4K)");
  } else {
    tell(profile_table(profile, 10, 2));
  }
  print_output(output);
}

int profile_heap(const HeapOptions& options) {
  try {
    const ProfileOutput output = choose_output(options.run.command.front(), "heap", options.output,
                                               options.page, options.no_page);
    check_output(output);
    return run_profiled(options.run, options.every.empty() ? "heap" : "heap,every=" + options.every,
                        "it requested no memory, ended by _exit, or did not run on Corbel",
                        [&](const std::vector<std::string>& files) {
                          report_heap(load_profiles(files), output, title_of(options.run.command));
                        });
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return kExitOwnFailure;
  }
}

}  // namespace corbel::cli
