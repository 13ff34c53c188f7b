// SPDX-License-Identifier: Apache-2.0
// Bounds how often a heap samples.
#pragma once

#include <cstdint>

namespace corbel::alloc {

// A sample takes a microsecond or two, with the lines of the caches that it displaces. A thread
// that allocates tens of gigabytes in a second would spend a tenth of its time on a sample for each
// 512 KiB. So where the program has not asked for a distance of its own, a heap whose samples
// follow each other too fast samples at a larger one: 2^shift times as large. The first samples may
// come as fast as they like, so that there are some of a program that runs for a moment.
struct SamplePace {
  static constexpr std::uint32_t kSamples = 32;           // between two looks at the clock
  static constexpr std::uint64_t kMinInterval = 200'000;  // ns from one sample to the next, mean
  static constexpr std::uint64_t kFree = 512;             // samples
  static constexpr unsigned kMaxShift = 12;

  std::uint64_t since = 0;    // the time of the last look
  std::uint64_t ahead = 0;    // how many samples there were more than the interval allows
  std::uint32_t samples = 0;  // since the last look
  std::uint8_t shift = 0;

  // To be called for each sample. True if look() is due.
  bool count() { return ++samples >= kSamples; }

  // `now` is in nanoseconds.
  void look(std::uint64_t now) {
    const std::uint64_t allowed = (now - since) / kMinInterval;
    ahead = ahead + samples > allowed ? ahead + samples - allowed : 0;
    if (allowed < samples) {
      if (ahead >= kFree && shift < kMaxShift) ++shift;
    } else if (allowed >= 4 * samples && shift != 0) {
      --shift;
    }
    since = now;
    samples = 0;
  }
};

}  // namespace corbel::alloc
