// SPDX-License-Identifier: Apache-2.0
// Shared by the programs of tacheon: the picture, cut into tiles, and the kernel.
// From "The Foundations for Scalable Multi-Core Software in Intel Threading Building Blocks" (Intel
// Technology Journal 11(4), 2007), Figure 9. The paper's tracer is an example of its library; this
// one is our own (tracer.hpp).
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "classic_tricks.hpp"
#include "harness.hpp"
#include "tracer.hpp"

namespace tacheon {

constexpr std::size_t kWidth = 400;
constexpr std::size_t kHeight = 300;
constexpr std::size_t kTile = 4;  // pixels on a side
constexpr std::size_t kColumns = kWidth / kTile;
constexpr std::size_t kTiles = kColumns * (kHeight / kTile);

// The expected picture: for each tile the sums of its red, green and blue, as three hexadecimal
// digits each. scene.png is the whole picture.
constexpr const char* kReference =
#include "reference.inc"
    ;

struct Job {
  Scene scene = corbel_arch();
  std::size_t grain = 1;
  std::size_t step = 1;  // for example, only every third tile in a short run
  std::vector<std::uint8_t> picture = std::vector<std::uint8_t>(3 * kWidth * kHeight);

  std::size_t count() const { return (kTiles + step - 1) / step; }

  // The work for the drawn tiles in [begin, end).
  void draw(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t tile = i * step;
      const std::size_t left = tile % kColumns * kTile;
      const std::size_t top = tile / kColumns * kTile;
      for (std::size_t y = top; y < top + kTile; ++y) {
        for (std::size_t x = left; x < left + kTile; ++x) draw_pixel(x, y);
      }
    }
  }

 private:
  void draw_pixel(std::size_t x, std::size_t y) {
    const Vector eye = {-2.1, 2.35, -9.6};
    const Vector ahead = unit(Vector{0.05, 1.62, 0.0} - eye);
    const Vector right = unit(cross({0, 1, 0}, ahead));
    const Vector up = cross(ahead, right);
    Vector sum;
    for (int sample = 0; sample < 4; ++sample) {
      const double a = 0.25 + 0.5 * (sample % 2);
      const double b = 0.25 + 0.5 * (sample / 2);
      const double across = (static_cast<double>(x) + a - kWidth * 0.5) / kHeight;
      const double down = (static_cast<double>(y) + b - kHeight * 0.5) / kHeight;
      const Vector way = unit(ahead * 1.25 + right * across - up * down);
      // Another order than that of the position in the pixel, or edges and shadows would correlate.
      sum = sum + scene.colour(Ray(eye, way), b, 1.0 - a, 0);
    }
    std::uint8_t* const pixel = &picture[3 * (y * kWidth + x)];
    pixel[0] = level(sum.x * 0.25);
    pixel[1] = level(sum.y * 0.25);
    pixel[2] = level(sum.z * 0.25);
  }

  // Brightness to a level of 8 bits, with a gamma of 2.
  static std::uint8_t level(double light) {
    return static_cast<std::uint8_t>(std::sqrt(std::min(1.0, std::max(0.0, light))) * 255.0 + 0.5);
  }
};

inline std::uint64_t hash(const void* data, std::size_t size) {
  std::uint64_t sum = 0xCBF29CE484222325u;  // FNV-1a
  const auto* const bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) sum = (sum ^ bytes[i]) * 0x100000001B3u;
  return sum;
}

inline std::vector<unsigned> tile_sums(const Job& job) {
  std::vector<unsigned> sums(3 * kTiles);
  for (std::size_t i = 0; i < job.picture.size(); ++i) {
    const std::size_t pixel = i / 3;
    const std::size_t tile = pixel / kWidth / kTile * kColumns + pixel % kWidth / kTile;
    sums[3 * tile + i % 3] += job.picture[i];
  }
  return sums;
}

// The sums in the form of kReference.
inline std::string reference_of(const Job& job) {
  std::string text;
  for (const unsigned sum : tile_sums(job)) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "%03x", sum);
    text += digits;
  }
  return text;
}

// The number of sums that differ from the reference by more than one level per pixel.
inline std::size_t differing(const Job& job) {
  const std::string reference = kReference;
  const std::vector<unsigned> sums = tile_sums(job);
  if (reference.size() != 3 * sums.size()) return sums.size();
  std::size_t count = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (i / 3 % job.step != 0) continue;
    const auto expected =
        static_cast<unsigned>(std::stoul(reference.substr(3 * i, 3), nullptr, 16));
    const unsigned apart = sums[i] > expected ? sums[i] - expected : expected - sums[i];
    count += apart > kTile * kTile;
  }
  return count;
}

inline void write(const std::string& name, const std::string& head, const void* data,
                  std::size_t size) {
  std::FILE* const file = std::fopen(name.c_str(), "wb");
  bench::check(file != nullptr, "cannot write the file");
  std::fwrite(head.data(), 1, head.size(), file);
  std::fwrite(data, 1, size, file);
  bench::check(std::fclose(file) == 0, "cannot write the file");
}

// A program: draw(job, end) draws the tiles before `end` with its scheduler, in pieces of
// job.grain. It is called once for a few tiles with grain 1, to start its threads, and then timed.
using Draw = std::function<void(Job& job, std::size_t end)>;

// The kernel of one program. `prepare` sets its scheduler up for the given arguments.
inline bench::Kernel kernel(std::function<Draw(bench::Arguments&)> prepare) {
  return {
      .name = "tacheon",
      .title = "Tacheon",
      .what =
          "A ray tracer repeatedly draws the same picture, in tiles of 4 x 4 pixels, with one "
          "parallel loop over the tiles of each picture. Reflections and shadows make some tiles "
          "cost many times more than others, so this shows how well the loop balances, with "
          "pieces of one tile or of up to 50.",
      .group = "seed scheduler",
      .figure = "Figure 9",
      .plot = "speedup",
      .threads = {1, 2, 4, 8},
      .cases = {{"grain 1", "grain=1 frames=1 step=3", "grain=1 frames=3", "grain=1 frames=20"},
                {"grain 50", "grain=50 frames=1 step=3", "grain=50 frames=3",
                 "grain=50 frames=20"}},
      .variants = bench::four_tricks(),
      .run =
          [prepare](bench::Arguments& arguments, bench::Result& result) {
            Job job;
            job.step = arguments.number("step", 1);
            bench::check(job.step > 0, "step= is at least 1");
            const std::uint64_t frames = arguments.number("frames", 1);
            const std::string image = arguments.text("image", "");
            const std::string reference = arguments.text("reference", "");
            const Draw draw = prepare(arguments);
            draw(job, std::min<std::size_t>(job.count(), 64));
            job.picture.assign(job.picture.size(), 0);
            job.grain = arguments.number("grain", 50);
            const double begin = bench::now();
            for (std::uint64_t i = 0; i < frames; ++i) draw(job, job.count());
            result.value = result.seconds = bench::now() - begin;
            if (!image.empty()) {
              write(image,
                    "P6 " + std::to_string(kWidth) + " " + std::to_string(kHeight) + " 255\n",
                    job.picture.data(), job.picture.size());
            }
            if (!reference.empty()) {
              const std::string text = reference_of(job);
              write(reference, "", text.data(), text.size());
            }
            result.extra["sums that differ"] = static_cast<double>(differing(job));
            bench::check(!reference.empty() || differing(job) == 0,
                         "the picture is not the reference");
            result.checksum = hash(job.picture.data(), job.picture.size());
          },
  };
}

}  // namespace tacheon
