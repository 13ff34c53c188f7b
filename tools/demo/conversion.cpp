// SPDX-License-Identifier: Apache-2.0
// The demo's own program: a converter of CAD models. The lab uses the same converter
// (bench/kernels/conversion/converter.hpp).
//
//   corbel-demo-conversion [--conversions N] [--threads N] [--entities N] [--times FILE]
//
// Prints a digest of its output, which depends neither on the allocator nor on the number of
// threads.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "conversion/converter.hpp"

namespace {

struct Settings : conversion::Settings {
  std::string times_file;
};

[[noreturn]] void usage(const char* problem) {
  std::fprintf(stderr,
               "corbel-demo-conversion: %s\nUsage: corbel-demo-conversion [--conversions N] "
               "[--threads N] [--entities N] [--times FILE]\n",
               problem);
  std::exit(2);
}

Settings read_settings(int count, char** values) {
  Settings settings;
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = values[i];
    if (i + 1 >= count) usage("an option without its value");
    const unsigned long number = std::strtoul(values[i + 1], nullptr, 10);
    if (name == "--times") {
      settings.times_file = values[i + 1];
      continue;
    }
    if (number == 0 || number > 10000000) usage("a number above 0 is needed");
    if (name == "--conversions") {
      settings.conversions = static_cast<unsigned>(number);
    } else if (name == "--threads") {
      settings.threads = static_cast<unsigned>(number);
    } else if (name == "--entities") {
      settings.entities = static_cast<unsigned>(number);
    } else {
      usage("unknown option");
    }
  }
  return settings;
}

}  // namespace

int main(int count, char** values) {
  const Settings settings = read_settings(count, values);
  const std::vector<std::string> model = conversion::make_model(settings.entities);
  conversion::Converter converter(settings, model);
  converter.run();
  std::printf("%u conversions of %u entities, digest %016llx\n", settings.conversions,
              settings.entities, static_cast<unsigned long long>(converter.digest()));
  if (!settings.times_file.empty()) {
    std::ofstream file(settings.times_file);
    for (const double time : converter.times()) file << time << '\n';
  }
  return 0;
}
