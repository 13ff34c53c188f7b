// SPDX-License-Identifier: Apache-2.0
#include "alloc/profile/heap_profile.hpp"

#include <errno.h>

#include <atomic>
#include <iterator>

#include "alloc/heap/sampling.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/profile/aggregates.hpp"
#include "alloc/profile/gzip.hpp"
#include "alloc/profile/pprof.hpp"
#include "alloc/sample/observer.hpp"
#include "alloc/sample/sampler.hpp"
#include "base/text.hpp"

namespace corbel::alloc {

namespace {

// relaxed throughout: figures for the reader of the profile
constinit std::atomic<std::uint64_t> profile_every{kDefaultProfileDistance};
constinit std::atomic<std::uint64_t> profile_started_at{0};

// Under samples_lock.
constinit std::uint64_t samples_recorded = 0;
constinit std::uint64_t samples_lost = 0;

Estimate estimate_of(const Sample& sample) {
  const double parts = sample.weight * double(1U << Estimate::kFractionBits);
  return {std::uint64_t(parts + 0.5), std::uint64_t(sample.weight * double(sample.size) + 0.5)};
}

}  // namespace

bool record_sample(const Sample& sample) {
  const bool recorded = add_block(sample.block, sample.stack, estimate_of(sample));
  ++(recorded ? samples_recorded : samples_lost);
  return recorded;
}

bool forget_sample(const void* block) { return remove_block(block); }

void start_heap_profile(std::uint64_t every) {
  std::uint64_t none = 0;
  profile_started_at.compare_exchange_strong(none, os::wall_ns(), std::memory_order_relaxed);
  const SampleRate rate = every == 0 ? SampleRate::kBounded : SampleRate::kExact;
  if (every == 0) every = kDefaultProfileDistance;
  profile_every.store(every, std::memory_order_relaxed);
  start_sampling(every, SampledFor::kProfile, rate);
}

bool heap_profile_is_on() { return samples_for(SampledFor::kProfile); }

bool heap_profile_has_begun() { return profile_started_at.load(std::memory_order_relaxed) != 0; }

std::uint64_t heap_profile_distance() { return profile_every.load(std::memory_order_relaxed); }

void stop_heap_profile() { stop_sampling(); }

namespace {

constexpr ValueType kTypes[] = {
    {"alloc_objects", "count"}, {"alloc_space", "bytes"},  {"inuse_objects", "count"},
    {"inuse_space", "bytes"},   {"peak_objects", "count"}, {"peak_space", "bytes"},
};
constexpr unsigned kInUseSpace = 3;

// Requires: the caller holds samples_lock.
void add_aggregates(PprofWriter& writer) {
  Text<64> samples;
  samples.add("samples: ").add_decimal(samples_recorded);
  writer.add_comment(samples.data(), samples.size());
  if (samples_lost != 0) {
    Text<64> text;
    text.add("samples lost for want of memory: ").add_decimal(samples_lost);
    writer.add_comment(text.data(), text.size());
  }
  for (SampledThread* thread = first_sampled_thread(); thread != nullptr; thread = thread->next) {
    thread->label = writer.add_thread(thread->name, thread->id);
  }
  for (const Aggregate* a = first_aggregate(); a != nullptr; a = a->next) {
    std::uint64_t values[std::size(kTypes)];
    std::uint64_t* value = values;
    for (const Estimate& e : {a->allocated, a->live, at_peak(*a)}) {
      *value++ = e.blocks();
      *value++ = e.bytes;
    }
    const PprofWriter::Label thread = writer.thread_label(a->thread->label);
    writer.add_sample(stack_of(a->stack), values, &thread, 1);
  }
}

// Prepares the profile and calls `write` with its bytes. Returns ENOMEM, EBUSY, or what that does.
template <typename Write>
int make_profile(bool wait, Write write) {
  const std::uint64_t now = os::wall_ns();
  const std::uint64_t started_at = profile_started_at.load(std::memory_order_relaxed);
  PprofWriter writer({.types = kTypes,
                      .count = unsigned(std::size(kTypes)),
                      .default_type = kInUseSpace,
                      .period_type = {"space", "bytes"},
                      .period = profile_every.load(std::memory_order_relaxed),
                      .started_at = started_at != 0 ? started_at : now,
                      .written_at = now});
  if (wait) {
    samples_lock.lock();
  } else if (!samples_lock.try_lock()) {
    return EBUSY;
  }
  add_aggregates(writer);
  samples_lock.unlock();
  if (!writer.is_complete()) return ENOMEM;
  return write(writer.data(), writer.size());
}

}  // namespace

int write_heap_profile(os::OutputFile& file, bool wait) {
  if (file.error() != 0) return file.error();
  return make_profile(wait, [&](const char* data, std::size_t size) {
    write_gzip(file, data, size);
    return file.error();
  });
}

int write_heap_profile(ProfileSink& sink) {
  return make_profile(false, [&](const char* data, std::size_t size) {
    return write_gzip(sink, data, size) ? 0 : EPIPE;
  });
}

int write_heap_profile_to(const char* path) {
  os::NewFile file(path);
  const int error = write_heap_profile(file, true);
  if (error != 0) return error;
  file.finish();
  return file.error();
}

}  // namespace corbel::alloc
