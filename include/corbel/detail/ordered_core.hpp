// SPDX-License-Identifier: Apache-2.0
// What the ordered containers do with their nodes, under the interface of ordered_container. Not
// for programs to include.
#ifndef CORBEL_DETAIL_ORDERED_CORE_HPP
#define CORBEL_DETAIL_ORDERED_CORE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/detail/key_hint.hpp>
#include <corbel/detail/ordered_iterator.hpp>
#include <corbel/detail/ordered_node.hpp>
#include <corbel/detail/succeeds.hpp>

namespace corbel {
namespace detail {

// Returns random bits. Each thread has a sequence of its own: a linear congruential generator whose
// increment is the address of its state.
inline std::uint32_t random_bits() noexcept {
  static thread_local std::uint64_t state = 0;
  state = state * 6364136223846793005U + (reinterpret_cast<std::uintptr_t>(&state) | 1);
  return static_cast<std::uint32_t>(state >> 32);
}

// A skip list of nodes with the comparison and the allocator. See ordered_container for `Policy`,
// for what throws, and for what needs exclusive access.
template <typename Policy>
class ordered_core {
 protected:
  using node = typename Policy::node;
  using skip_list = typename Policy::node_types::list;
  using link = typename skip_list::link;
  using path = typename skip_list::path;
  using cursor = typename skip_list::cursor;
  using index = typename skip_list::index;
  using node_allocator = typename Policy::node_types::allocator;
  using node_traits = typename Policy::node_types::traits;
  using key_type = typename Policy::key_type;
  using hint = ordered_hint<key_type, typename Policy::key_compare>;
  using key_compare = typename Policy::key_compare;
  using iterator = ordered_iterator<node, typename Policy::value_type>;
  using const_iterator = ordered_iterator<node, const typename Policy::value_type>;

  template <typename Allocator>
  ordered_core(const key_compare& compare, Allocator&& allocator)
      : compare_(compare), allocator_(std::forward<Allocator>(allocator)) {}
  ~ordered_core() { destroy_all(); }
  ordered_core(const ordered_core&) = delete;
  ordered_core& operator=(const ordered_core&) = delete;

  // Returns the element with the key; makes one from the arguments if there is none.
  template <typename K, typename... Arguments>
  std::pair<iterator, bool> insert_value(const K& key, Arguments&&... arguments) {
    path p;
    const int height = list_.height_from(random_bits());
    link* const found = find_place(height, p, key);
    if (refuses(found, key)) return {iterator(found), false};
    return link_node(node::make(allocator_, height, std::forward<Arguments>(arguments)...), p);
  }

  template <typename K>
  link* find_key(const K& key) const {
    link* const found = lower(key);
    return found != nullptr && !compare_(key, key_of(found)) ? found : nullptr;
  }

  void destroy_all() noexcept {
    cursor front = list_.begin();
    while (link* const tower = skip_list::next(front.before[0]))
      node::destroy(allocator_, node::of(tower), list_.remove(front, tower));
    for (index* i = list_.newest_index(); i != nullptr;) {
      index* const older = i->older();
      const std::size_t units = units_of_index(i->capacity());
      node::free_units(allocator_, reinterpret_cast<typename node::unit*>(i), units);
      i = older;
    }
    list_.reset();
  }

  // Owns a node that is in no list, and destroys it at the end.
  struct owned_node {
    ~owned_node() {
      if (owned == nullptr) return;
      owned->set_height(height);  // an insertion that fails overwrites it
      node::destroy(allocator, owned);
    }
    node_allocator& allocator;
    node* owned;
    int height;
  };

  // Puts back a node that has been taken out of the list at the position.
  struct taken_node {
    ~taken_node() {
      if (tower != nullptr) list.place(at, tower, height, hint_in_list);
    }
    skip_list& list;
    cursor& at;
    link* tower;
    const std::uintptr_t hint_in_list;
    const int height;
  };

  static const key_type& key_of(link* tower) { return Policy::key(node::of(tower)->element); }

  // What a search for a key compares with. Only for keys of the same type the hint is known.
  template <typename K, typename IsBefore>
  static skip_target<IsBefore> target(const K&, const IsBefore& is_before) {
    return {is_before, 0, false, nullptr, nullptr};
  }
  template <typename IsBefore>
  static skip_target<IsBefore> target(const key_type& key, const IsBefore& is_before) {
    return {is_before, hint::kExists ? hint::of(key) : 0, hint::kExists, std::addressof(key),
            hint_after(is_text())};
  }
  static std::uintptr_t hint_of(link* tower) { return hint::of(key_of(tower)); }
  static std::uintptr_t hint_in(const index& i, link* tower) {
    return i.hint_of(hint_of(tower), std::addressof(key_of(tower)), hint_after(is_text()));
  }
  using is_text = std::integral_constant<bool, hint::kIsText>;
  static constexpr skip_hint_after hint_after(std::true_type) { return &hint::after; }
  static constexpr skip_hint_after hint_after(std::false_type) { return nullptr; }

  template <typename K>
  link* lower(const K& key) const {
    const auto is_before = [&](link* tower) -> bool { return compare_(key_of(tower), key); };
    return list_.find(target(key, is_before));
  }
  template <typename K>
  link* upper(const K& key) const {
    const auto is_before = [&](link* tower) -> bool { return !compare_(key, key_of(tower)); };
    return list_.find(target(key, is_before));
  }
  template <typename Iterator, typename K>
  std::pair<Iterator, Iterator> range_of(const K& key) const {
    return {Iterator(lower(key)), Iterator(upper(key))};
  }
  template <typename K>
  std::size_t count_key(const K& key) const {
    std::size_t count = 0;
    for (link* tower = lower(key); tower != nullptr && !compare_(key, key_of(tower));
         tower = skip_list::next(tower))
      ++count;
    return count;
  }

  // Whether a tower in the container belongs before a new element with the key.
  template <typename K>
  bool is_before(link* tower, const K& key) const {
    return Policy::kMulti ? !compare_(key, key_of(tower)) : compare_(key_of(tower), key);
  }
  // Whether the tower, the first that does not, refuses the element.
  template <typename K>
  bool refuses(link* tower, const K& key) const {
    return !Policy::kMulti && tower != nullptr && !compare_(key, key_of(tower));
  }

  template <typename K>
  link* find_place(int height, path& p, const K& key) const {
    const auto before_key = [&](link* tower) { return is_before(tower, key); };
    return list_.find_path(height, p, target(key, before_key));
  }

  // Inserts a new node, with its path.
  std::pair<iterator, bool> link_node(node* made, path& p) {
    owned_node owner{allocator_, made, made->height()};
    link* const other = link_at(made->tower(), owner.height, p);
    if (other != nullptr) return {iterator(other), false};
    owner.owned = nullptr;
    note_inserted(owner.height);
    return {iterator(made->tower()), true};
  }
  link* link_at(link* tower, int height, path& p) {
    const key_type& key = key_of(tower);
    const auto before_key = [&](link* other) { return is_before(other, key); };
    return list_.insert(
        tower, height, p, target(key, before_key), [&](link* other) { return refuses(other, key); },
        &hint_of);
  }

  // Inserts a node of the caller, which keeps it if it is refused.
  std::pair<iterator, bool> insert_node(node* owned) {
    path p;
    link* const tower = owned->tower();
    const int height = owned->height();
    link* found = find_place(height, p, key_of(tower));
    if (!refuses(found, key_of(tower))) {
      struct restore {
        ~restore() {
          if (refused) owned->set_height(height);
        }
        node* owned;
        int height;
        bool refused;
      } at_end{owned, height, true};
      found = link_at(tower, height, p);
      if (found == nullptr) {
        at_end.refused = false;
        note_inserted(height);
        return {iterator(tower), true};
      }
    }
    return {iterator(found), false};
  }

  template <typename K, typename... Arguments>
  std::pair<iterator, bool> emplace_by(const K* key, Arguments&&... arguments) {
    return insert_value(*key, std::forward<Arguments>(arguments)...);
  }
  // The element must be made before its key is known.
  template <typename... Arguments>
  std::pair<iterator, bool> emplace_by(std::nullptr_t, Arguments&&... arguments) {
    const int height = list_.height_from(random_bits());
    owned_node owner{allocator_,
                     node::make(allocator_, height, std::forward<Arguments>(arguments)...), height};
    const std::pair<iterator, bool> result = insert_node(owner.owned);
    if (result.second) owner.owned = nullptr;
    return result;
  }

  // Appends the elements of a container that is sorted in the same way to this one, which is empty.
  template <typename Element, typename Source>
  void append(Source& source) {
    cursor at = list_.begin();
    for (link* from = skip_list::next(source.list_.head()); from != nullptr;
         from = skip_list::next(from)) {
      const int height = list_.height_from(random_bits());
      node* const made =
          node::make(allocator_, height, static_cast<Element>(node::of(from)->element));
      list_.place(at, made->tower(), height, hint_of(made->tower()));
    }
    if (hint::kExists) make_index();
  }

  // Called after each insertion: makes an index from time to time.
  void note_inserted(int height) {
    if (hint::kExists && CORBEL_UNLIKELY(height > skip_list::kIndexedHeight)) make_index();
  }
  CORBEL_NOINLINE void make_index() {
    constexpr int kLevel = skip_list::kIndexedHeight - 1;
    if (!list_.begin_index()) return;
    std::size_t count = 0;
    for (link* i = list_.head(); (i = skip_list::next(i, kLevel)) != nullptr;) ++count;
    index* const made = allocate_index(count);
    if (made != nullptr) {
      set_prefix(*made, count, is_text());
      link* i = list_.head();
      while ((i = skip_list::next(i, kLevel)) != nullptr && made->add(hint_in(*made, i), i)) {
      }
    }
    list_.end_index(made);
  }
  // The prefix of most of the keys: a few may come before or after those that have it.
  void set_prefix(index& of, std::size_t count, std::true_type) const {
    constexpr int kLevel = skip_list::kIndexedHeight - 1;
    if (count == 0) return;
    const std::size_t few = count / 8;
    link* i = list_.head();
    std::size_t number = 0;
    for (; number <= few; ++number) i = skip_list::next(i, kLevel);
    const key_type& first = key_of(i);
    for (; number < count - few; ++number) i = skip_list::next(i, kLevel);
    const std::size_t size = hint::common(first, key_of(i));
    if (size != 0) of.set_prefix(first.data(), size);
  }
  void set_prefix(index&, std::size_t, std::false_type) const {}
  // Returns nullptr if there is no memory: the container works without an index.
  index* allocate_index(std::size_t count) {
    typename node::unit* memory = nullptr;
    succeeds([&] { memory = node::allocate_units(allocator_, units_of_index(count)); });
    if (memory == nullptr) return nullptr;
    return ::new (static_cast<void*>(memory)) index(count, list_.size(), list_.newest_index());
  }
  static std::size_t units_of_index(std::size_t count) {
    return node::units_of(index::bytes_of(count));
  }

  // Takes a node out of the list, and returns its height.
  int remove(const cursor& at, link* tower) {
    constexpr int kLevel = skip_list::kIndexedHeight - 1;
    const int height = list_.remove(at, tower);
    index* const newest = list_.newest_index();
    if (newest == nullptr || height <= kLevel) return height;
    link* const before = at.before[kLevel];
    if (before == list_.head()) {
      newest->replace(hint_in(*newest, tower), tower, 0, nullptr);
    } else {
      newest->replace(hint_in(*newest, tower), tower, hint_in(*newest, before), before);
    }
    return height;
  }

  cursor position_of(link* tower) const {
    const key_type& key = key_of(tower);
    const auto is_before = [&](link* other) -> bool { return compare_(key_of(other), key); };
    return list_.position_of(tower, target(key, is_before));
  }
  // Removes and destroys the nodes from one tower up to another.
  void erase(link* first, link* last) {
    if (first == last) return;
    const cursor at = position_of(first);
    for (link* tower; (tower = skip_list::next(at.before[0])) != last;)
      node::destroy(allocator_, node::of(tower), remove(at, tower));
  }
  // Takes a node out of the list.
  node* extract(link* tower) {
    const int height = remove(position_of(tower), tower);
    node::of(tower)->set_height(height);
    return node::of(tower);
  }

  // Moves all nodes that are not refused from another list.
  template <typename Source>
  void merge_from(Source& source) {
    cursor at = source.list_.begin();
    while (link* const tower = skip_list::next(at.before[0])) {
      taken_node taken{source.list_, at, tower, Source::hint_of(tower), source.remove(at, tower)};
      node::of(tower)->set_height(taken.height);
      if (insert_node(node::of(tower)).second) taken.tower = nullptr;
    }
  }

  void exchange_contents(ordered_core& other, std::true_type) {
    using std::swap;
    swap(allocator_, other.allocator_);
    exchange_contents(other, std::false_type());
  }
  void exchange_contents(ordered_core& other, std::false_type) {
    using std::swap;
    swap(compare_, other.compare_);
    list_.swap(other.list_);
  }
  void move_allocator(ordered_core& other, std::true_type) {
    allocator_ = std::move(other.allocator_);
  }
  void move_allocator(ordered_core&, std::false_type) {}

  key_compare compare_;
  node_allocator allocator_;
  skip_list list_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ORDERED_CORE_HPP
