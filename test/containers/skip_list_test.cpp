// SPDX-License-Identifier: Apache-2.0
// How many elements a search of the ordered containers' list compares with, where hints and the
// index do not help. That it finds the right ones is for the containers' tests and the model.
#include <corbel/detail/skip_list.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace corbel::test {
namespace {

template <typename T>
using Atomic = std::atomic<T>;
using List = detail::basic_skip_list<Atomic, true>;
using Link = List::link;

struct Element {
  std::array<Link, List::words_of(List::kMaxHeight)> words{};
  int key = 0;  // follows the tower in memory
};

// Elements whose hints in the list are all equal, as those of texts that begin alike.
class ElementsAlike {
 public:
  void insert(int key) {
    Element& e = elements_.emplace_back();
    e.key = key;
    const int height = list_.height_from(std::uint32_t(random_()));
    Link* const tower = e.words.data() + e.words.size();
    with_target(key, [&](const auto& target) {
      List::path p;
      list_.find_path(height, p, target);
      list_.insert(tower, height, p, target, [](const Link*) { return false; }, &hint_of);
    });
  }

  // Returns the number of comparisons.
  int find(int key) {
    compared_ = 0;
    with_target(key, [&](const auto& target) {
      const Link* const found = list_.find(target);
      EXPECT_NE(found, nullptr);
      EXPECT_EQ(key_of(found), key);
    });
    return compared_;
  }

  // As ordered_core does it.
  void make_index() {
    if (!list_.begin_index()) return;
    std::vector<Link*> towers;
    for (Link* t = list_.head(); (t = List::next(t, 1)) != nullptr;) towers.push_back(t);
    block_ = std::make_unique<std::uint64_t[]>(List::index::bytes_of(towers.size()) / 8 + 1);
    auto* const made =
        ::new (static_cast<void*>(block_.get())) List::index(towers.size(), list_.size(), nullptr);
    for (Link* t : towers) made->add(hint_of(t), t);
    list_.end_index(made);
  }

 private:
  static int key_of(const Link* tower) { return *reinterpret_cast<const int*>(tower); }
  // Of the keys above 0, the same.
  static std::uintptr_t hint_of(const Link* tower) { return key_of(tower) > 0 ? 1 : 0; }

  template <typename Use>
  void with_target(int key, const Use& use) {
    const auto is_before = [&](const Link* t) {
      ++compared_;
      return key_of(t) < key;
    };
    use(detail::skip_target<decltype(is_before)>{is_before, std::uintptr_t(key > 0 ? 1 : 0), true,
                                                 nullptr, nullptr});
  }

  List list_;
  std::deque<Element> elements_;
  std::minstd_rand random_;
  std::unique_ptr<std::uint64_t[]> block_;
  int compared_ = 0;
};

// The index knows where they begin only: the upper levels are the way.
TEST(SkipList, ManyEqualHintsAreNotWalked) {
  constexpr int kElements = 50000;
  ElementsAlike elements;
  for (int i = -100; i < 0; ++i) elements.insert(i);
  for (int i = 1; i < kElements; ++i) elements.insert(i);
  elements.make_index();
  std::minstd_rand random;
  long compared = 0;
  for (int i = 0; i < 1000; ++i) compared += elements.find(1 + int(random() % (kElements - 1)));
  EXPECT_LT(compared / 1000, 100);  // some 30; the walk takes thousands
}

}  // namespace
}  // namespace corbel::test
