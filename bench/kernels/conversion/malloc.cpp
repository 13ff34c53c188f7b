// SPDX-License-Identifier: Apache-2.0
// The CAD conversion, repeated in one process (see converter.hpp). On an allocator that fragments,
// the n-th conversion takes longer than the first ones. The row of one thread shows whether remote
// frees are the cause. With share=1 the lab samples the process and adds the share of processor
// time spent in the allocator; the work is the same.
#include "converter.hpp"

#include <algorithm>
#include <vector>

#include "harness.hpp"

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The time of the last third of the conversions divided by that of the first third: above 1 if the
// heap gets worse. The very first conversion fills an empty heap and is in neither.
double growth(const std::vector<double>& times) {
  const auto third = static_cast<std::ptrdiff_t>((times.size() - 1) / 3);
  if (third == 0) return 1;
  return median({times.end() - third, times.end()}) /
         median({times.begin() + 1, times.begin() + 1 + third});
}

void run(bench::Arguments& arguments, bench::Result& result) {
  conversion::Settings settings;
  settings.conversions = static_cast<unsigned>(arguments.number("conversions", 4));
  settings.entities = static_cast<unsigned>(arguments.number("entities", 2000));
  settings.threads = arguments.threads();
  settings.begin = [&](unsigned self) { bench::pin(self, settings.threads); };
  arguments.number("share", 0);  // only for the lab
  bench::check(settings.conversions > 0, "conversions= must be above 0");

  const std::vector<std::string> model = conversion::make_model(settings.entities);
  conversion::Converter converter(settings, model);
  const double begin = bench::now();
  converter.run();
  result.seconds = bench::now() - begin;
  result.value = result.seconds / settings.conversions;
  result.checksum = converter.digest();
  bench::check(converter.digest() == settings.conversions * converter.first_digest(),
               "the conversions do not all give the same model");
  bench::check(converter.times().size() == settings.conversions, "not all conversions were timed");
  result.extra["last_to_first"] = growth(converter.times());
  result.series["conversion"] = converter.times();
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "conversion",
    .title = "CAD conversion, repeated",
    .what =
        "One process repeatedly reads, translates and writes the same CAD model in parallel "
        "threads, and each time allocates and frees tens of thousands of small objects with "
        "lists and strings. On an allocator that fragments, the n-th conversion takes longer "
        "than the first.",
    .group = "seed allocator",
    .figure = "the growing conversion times of CAD Exchanger",
    .metric = "elapsed time of a conversion",
    .plot = "series",
    .threads = {1, 2},
    .cases = {{"", "entities=2400 conversions=12", "entities=8000 conversions=24",
               "entities=24000 conversions=100"},
              {"share in the allocator", "entities=2400 conversions=24 share=1",
               "entities=8000 conversions=24 share=1", "entities=24000 conversions=50 share=1"}},
    .run = run,
};
