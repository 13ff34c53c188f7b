// SPDX-License-Identifier: Apache-2.0
// A converter of CAD models, after one that was measured in 2009 ("Memory management challenges in
// parallel applications", on the plugin of CAD Exchanger that translates between ACIS and Open
// CASCADE; it reports 20,000 and more objects of 48 bytes along with lists and strings, and
// conversions that took longer and longer). One process repeats a conversion: it reads the same
// model, translates it in parallel threads from one kernel's objects into another's, writes it, and
// frees everything. Each conversion allocates and frees tens of thousands of small objects of many
// sizes with lists and strings. Half of them are freed by another thread than the one that
// allocated them.
//
// The demo (tools/demo) and the lab share this code.
#pragma once

#include <algorithm>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace conversion {

struct Settings {
  unsigned conversions = 20;
  unsigned threads = std::max(2u, std::thread::hardware_concurrency());
  unsigned entities = 24000;
  std::function<void(unsigned)> begin = {};  // called at the start of each thread, with its number
};

// The source kernel: one entity is a record with attributes, as a text file lists them.
struct Attribute {
  std::string key;
  std::string value;
};

struct Entity {
  std::uint32_t id = 0;
  std::string kind;
  std::vector<double> numbers;
  std::vector<std::uint32_t> references;
  std::list<Attribute> attributes;
};

using Section = std::vector<std::unique_ptr<Entity>>;

// The target kernel: shapes in a graph, geometry shared between them.
struct Geometry {
  virtual ~Geometry() = default;
  virtual void write(std::string& out) const = 0;
};

struct Curve final : Geometry {
  std::vector<double> poles;
  std::vector<double> knots;
  void write(std::string& out) const override {
    out += "B_SPLINE_CURVE(";
    for (const double pole : poles) out += std::to_string(static_cast<long>(pole * 1000)) + ",";
    out += std::to_string(knots.size()) + ")";
  }
};

struct Plane final : Geometry {
  double origin[3] = {};
  double normal[3] = {};
  void write(std::string& out) const override {
    out += "PLANE(" + std::to_string(static_cast<long>(origin[0] * 1000 + normal[2])) + ")";
  }
};

struct Shape {
  std::string name;
  std::shared_ptr<Geometry> geometry;
  std::list<std::shared_ptr<Shape>> children;
  std::map<std::string, std::string> properties;
};

inline std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

// The input file: one line an entity, "id kind | numbers | references | key=value;…".
inline std::vector<std::string> make_model(unsigned entities) {
  static constexpr const char* kKinds[] = {"body", "lump",   "shell",  "face",           "loop",
                                           "edge", "vertex", "coedge", "straight-curve", "plane"};
  std::vector<std::string> lines;
  std::uint64_t state = 0x9E3779B97F4A7C15u;
  for (unsigned id = 0; id < entities; ++id) {
    std::string line = std::to_string(id) + " " + kKinds[next_random(state) % std::size(kKinds)];
    line += " |";
    for (std::uint64_t i = next_random(state) % 12; i > 0; --i) {
      line += " " + std::to_string(static_cast<double>(next_random(state) % 100000) / 1000);
    }
    line += " |";
    for (std::uint64_t i = next_random(state) % 4; i > 0 && id > 0; --i) {
      line += " " + std::to_string(next_random(state) % id);
    }
    line += " |";
    for (std::uint64_t i = next_random(state) % 5; i > 0; --i) {
      line += "attribute-" + std::to_string(next_random(state) % 40) + "=";
      line.append(next_random(state) % 60, static_cast<char>('a' + i));
      line += ";";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

inline std::unique_ptr<Entity> parse(std::string_view line) {
  auto entity = std::make_unique<Entity>();
  const auto take = [&line](char end) {
    const std::size_t at = std::min(line.find(end), line.size());
    const std::string_view word = line.substr(0, at);
    line.remove_prefix(std::min(at + 1, line.size()));
    return word;
  };
  const auto number_of = [](std::string_view text, auto& value) {
    std::from_chars(text.data(), text.data() + text.size(), value);
  };
  number_of(take(' '), entity->id);
  entity->kind = take(' ');
  take('|');
  const auto each_word = [](std::string_view text, const auto& use) {
    while (!text.empty()) {
      const std::size_t at = std::min(text.find(' '), text.size());
      if (at > 0) use(text.substr(0, at));
      text.remove_prefix(std::min(at + 1, text.size()));
    }
  };
  each_word(take('|'),
            [&](std::string_view word) { number_of(word, entity->numbers.emplace_back()); });
  each_word(take('|'),
            [&](std::string_view word) { number_of(word, entity->references.emplace_back()); });
  while (!line.empty()) {
    const std::string_view text = take(';');
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) break;
    entity->attributes.push_back(
        {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))});
  }
  return entity;
}

inline std::shared_ptr<Shape> translate(const Entity& entity) {
  auto shape = std::make_shared<Shape>();
  shape->name = entity.kind + "#" + std::to_string(entity.id);
  if (entity.numbers.size() >= 6) {
    auto curve = std::make_shared<Curve>();
    // Knot insertion as converters do it: one pole after the other.
    for (const double number : entity.numbers) {
      curve->poles.push_back(number);
      curve->knots.insert(curve->knots.begin(), number / 2);
    }
    shape->geometry = std::move(curve);
  } else if (!entity.numbers.empty()) {
    auto plane = std::make_shared<Plane>();
    plane->origin[0] = entity.numbers.front();
    plane->normal[2] = entity.numbers.back();
    shape->geometry = std::move(plane);
  }
  for (const std::uint32_t reference : entity.references) {
    auto child = std::make_shared<Shape>();
    child->name = "use of #" + std::to_string(reference);
    child->geometry = shape->geometry;
    shape->children.push_back(std::move(child));
  }
  for (const Attribute& attribute : entity.attributes) {
    shape->properties[attribute.key] += attribute.value;
  }
  return shape;
}

inline std::uint64_t write(const Shape& shape, std::uint64_t digest) {
  std::string out = "#" + shape.name + "=SHAPE(";
  if (shape.geometry) shape.geometry->write(out);
  for (const auto& child : shape.children) out += "," + child->name;
  for (const auto& [key, value] : shape.properties) out += ";" + key + "=" + value;
  out += ");";
  for (const char c : out) {
    digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return digest;
}

class Converter {
 public:
  Converter(const Settings& settings, const std::vector<std::string>& model)
      : settings_(settings),
        model_(model),
        parts_(settings.threads),
        barrier_(static_cast<std::ptrdiff_t>(settings.threads)) {}

  void run() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < settings_.threads; ++i) threads.emplace_back([this, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  }
  std::uint64_t digest() const { return total(&Part::sum); }
  // The digest of the first conversion; all others have the same.
  std::uint64_t first_digest() const { return total(&Part::first_sum); }
  const std::vector<double>& times() const { return times_; }

 private:
  // The data of one thread, on cache lines of its own (and on no pair of lines that is fetched
  // together with another thread's), so that any false sharing comes from the allocator.
  struct alignas(128) Part {
    Section section;
    std::vector<std::shared_ptr<Shape>> shapes;
    std::uint64_t sum = 0;
    std::uint64_t first_sum = 0;
  };

  std::uint64_t total(std::uint64_t Part::* member) const {
    std::uint64_t sum = 0;
    for (const Part& part : parts_) sum += part.*member;
    return sum;
  }

  void work(unsigned self) {
    if (settings_.begin) settings_.begin(self);
    Part& own = parts_[self];
    Part& other = parts_[(self + 1) % settings_.threads];
    const std::size_t low = model_.size() * self / settings_.threads;
    const std::size_t high = model_.size() * (self + 1) / settings_.threads;
    auto start = std::chrono::steady_clock::now();
    for (unsigned round = 0; round < settings_.conversions; ++round) {
      for (std::size_t i = low; i < high; ++i) own.section.push_back(parse(model_[i]));
      barrier_.arrive_and_wait();
      // Each thread translates and frees what another thread has read.
      Section section = std::move(other.section);
      for (auto& entity : section) {
        own.shapes.push_back(translate(*entity));
        entity.reset();
      }
      section = Section();
      barrier_.arrive_and_wait();
      for (auto& shape : own.shapes) {
        // A sum of the digests of single shapes does not depend on the split into sections.
        own.sum += write(*shape, 14695981039346656037u);
        shape.reset();
      }
      own.shapes = {};
      if (round == 0) own.first_sum = own.sum;
      barrier_.arrive_and_wait();
      if (self == 0) {
        const auto now = std::chrono::steady_clock::now();
        times_.push_back(std::chrono::duration<double>(now - start).count());
        start = now;
      }
    }
  }

  const Settings& settings_;
  const std::vector<std::string>& model_;
  std::vector<Part> parts_;
  std::vector<double> times_;
  std::barrier<> barrier_;
};

}  // namespace conversion
