// SPDX-License-Identifier: Apache-2.0
// A hash table to which many threads add elements without locks, and which grows while they do: a
// split-ordered list (see split_order.hpp). Not for programs to include.
#ifndef CORBEL_DETAIL_SPLIT_LIST_HPP
#define CORBEL_DETAIL_SPLIT_LIST_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <corbel/detail/config.hpp>
#include <corbel/detail/highest_bit.hpp>
#include <corbel/detail/split_order.hpp>
#include <corbel/detail/swap_atomics.hpp>

namespace corbel {
namespace detail {

// A link of the list: the slot of a bucket, or the base of an element's node.
template <template <typename> class Atomic>
struct split_link {
  explicit split_link(std::uintptr_t target) : next(target) {}
  Atomic<std::uintptr_t> next;
};

// One list has all elements, in their order, and the slots of the buckets: the slot of a bucket
// stands before the bucket's first element. In the paper a bucket has a pointer to a dummy node of
// the list. Here the slot is that node, which saves the memory and a cache miss for each operation.
//
// A link's value is the address of a node, or that of a slot with the bit kSlot, or kEnd. The value
// of a slot that is not yet in the list is 0, or has the bit kUnready. A thread that comes through
// the list ignores kUnready, and keeps it when it changes the link.
//
// Where the elements of a bucket end. A thread that starts at the slot of bucket `hash & mask` and
// meets another slot reads the mask again. Either it is unchanged: then the slot is not that of a
// bucket into which this one was split, since the thread that put such a slot into the list had
// read a greater mask, and (3) and (2) make its load happen before ours. So the slot ends the
// bucket. Or it has changed: then the number of the slot decides.
//
// Adding an element. A link only ever gets a target that lies between its owner and its old target,
// and nothing is removed. So a thread that has found the two neighbours of a new element, and whose
// compare-exchange (3) finds them still neighbours, keeps the order. An equal element would have
// been found: elements with one hash value are neighbours, a new one becomes the last of them, and
// any thread that adds one there in between changes the link which (3) compares. After a failure
// the thread continues at the link that it has, which is still before the place.
//
// Adding a slot. The thread whose compare-exchange (4) takes the slot from 0 to kUnready adds it,
// by the same walk from the slot of the bucket that was split (the number without its highest bit).
// Between (3) and (5) the slot is in the list, with kUnready: threads that come through the list
// may add elements after it, and (5) changes one bit only. A thread that looks for a bucket and
// finds its slot unready does not wait. It starts at the slot of the nearest bucket that was split
// on the way to this one and has a slot in the list, which takes longer and finds the same place.
// So no thread waits for another one, and no memory is needed to find an element.
//
// Growth. Slots lie in segments: the first has 8, and each of the others as many as all before it.
// A segment is published by (1) before the mask that makes threads use it.
//
// The constants are parameters so that a model can do with fewer segments.
//
// `Node` is derived from the link. A probe tells the list what is looked for:
//   std::size_t hash;                          spread hash value
//   std::size_t hash_of(const Node&) const;    of an element; may throw
//   bool matches(const Node&) const;           whether this is the element; may throw
template <typename Node, template <typename> class Atomic, int kLogOfFirst = 3,
          int kCountOfSegments = sizeof(void*) == 8 ? 36 : 26>
class basic_split_list {
 public:
  using link = split_link<Atomic>;

  // Where an element belongs: after `before`, which had the value `next`. `mask` tells whether the
  // walk started at the element's own bucket.
  struct place {
    link* before;
    std::uintptr_t next;
    std::size_t mask;
  };

  static constexpr int kFirstLog = kLogOfFirst;  // of the length of the first segment; at least 1
  static constexpr int kSegments = kCountOfSegments;
  static constexpr int kMaxLog = kFirstLog + kSegments - 1;

  // The number of slots in segment k, and the number of its first one.
  static std::size_t segment_size(int k) noexcept {
    return std::size_t{1} << (k == 0 ? kFirstLog : kFirstLog + k - 1);
  }
  static std::size_t segment_begin(int k) noexcept { return k == 0 ? 0 : segment_size(k); }

  basic_split_list() : mask_((std::size_t{1} << kFirstLog) - 1) {}

  std::size_t mask() const noexcept {
    return mask_.load(std::memory_order_relaxed);  // relaxed: a number
  }
  // The number of segments up to the mask.
  int segments() const noexcept { return highest_bit(mask()) - kFirstLog + 2; }

  // ---- segments: link objects that the caller has made with make_segment -----------------------

  // Makes the slots of a segment in memory for that many links.
  static link* make_segment(void* memory, int k) {
    link* const slots = static_cast<link*>(memory);
    for (std::size_t i = 0; i < segment_size(k); ++i) {
      ::new (static_cast<void*>(slots + i)) link(k == 0 && i == 0 ? kEnd : 0);
    }
    return slots;
  }

  // Whether there is a first segment. Without it nothing is found and nothing may be added.
  bool has_slots() const noexcept {
    return segments_[0].load(std::memory_order_acquire) != 0;  // (2) acquire: as in slot()
  }

  // Installs the first segment. Returns false if there is one.
  bool publish_first(link* slots) noexcept {
    std::uintptr_t none = 0;
    // (1) release: publishes the slots to (2). relaxed if it fails: the result is not used
    return segments_[0].compare_exchange_strong(none, reinterpret_cast<std::uintptr_t>(slots),
                                                std::memory_order_release,
                                                std::memory_order_relaxed);
  }

  // Doubles the number of buckets. Only one thread at a time may call it.
  void publish_next(link* slots) noexcept {
    const int k = segments();
    const std::uintptr_t biased =
        reinterpret_cast<std::uintptr_t>(slots) - segment_begin(k) * sizeof(link);
    segments_[k].store(biased, std::memory_order_relaxed);  // relaxed: the next store publishes it
    // (1) release: publishes the segment to (2)
    mask_.store((mask() << 1) + 1, std::memory_order_release);
  }

  // Returns the slots of segment k.
  link* segment(int k) const noexcept {
    // relaxed: the caller knows of the segment
    return reinterpret_cast<link*>(segments_[k].load(std::memory_order_relaxed) +
                                   segment_begin(k) * sizeof(link));
  }

  // ---- elements --------------------------------------------------------------------------------

  // Returns the first element that matches the probe, or nullptr.
  template <typename Probe>
  Node* find(const Probe& probe) const {
    // (2) acquire: sees the segments published by (1)
    const std::size_t mask = mask_.load(std::memory_order_acquire);
    const link* const first = slot(probe.hash & mask);
    if (first == nullptr) return nullptr;
    std::uintptr_t next = load(first);
    if (CORBEL_LIKELY(is_ready(next))) {
      for (; (next & kSlot) == 0; next = load(node_of(next))) {
        if (probe.matches(*node_of(next))) return node_of(next);
      }
      // relaxed: see the class
      if (CORBEL_LIKELY(mask_.load(std::memory_order_relaxed) == mask)) return nullptr;
    }
    place at;
    return find_place(probe, at);
  }

  // Returns the first element that matches the probe, and its predecessor; or nullptr, and the
  // place of such an element. There must be a first segment.
  template <typename Probe>
  Node* find_place(const Probe& probe, place& at) const {
    at.before = start(probe, at.mask);
    return walk(probe, at);
  }

  // Adds the node at the place. Returns false if the place has changed.
  bool add(Node* node, place& at) {
    node->next.store(at.next & ~kUnready, std::memory_order_relaxed);  // relaxed: (3) publishes it
    return change(at, reinterpret_cast<std::uintptr_t>(static_cast<link*>(node)));
  }

  // Reads the link of `at.before` again.
  static void reload(place& at) noexcept { at.next = load(at.before); }

  // Continues find_place from a place before the probe's.
  template <typename Probe>
  Node* walk(const Probe& probe, place& at) const {
    for (;; at.before = link_of(at.next)) {
      reload(at);
      if ((at.next & kSlot) != 0) {
        if (ends_bucket(probe.hash, at)) return nullptr;
      } else {
        Node& node = *node_of(at.next & ~kUnready);
        const std::size_t hash = probe.hash_of(node);
        if (hash == probe.hash) {
          if (probe.matches(node)) return &node;
        } else if (precedes(probe.hash, hash)) {
          return nullptr;
        }
      }
    }
  }

  // Makes sure that the bucket of the probe has a slot in the list if no other thread is about to
  // add it. Returns a slot before its elements. Sets `mask` to that of the bucket, or to kNoMask if
  // the slot is not the bucket's.
  template <typename Probe>
  link* start(const Probe& probe, std::size_t& mask) const {
    mask = mask_.load(std::memory_order_acquire);  // (2) acquire: sees the segments
    const std::size_t bucket = probe.hash & mask;
    link* at = slot(bucket);
    if (CORBEL_LIKELY(is_ready(load(at)))) return at;
    std::size_t number = bucket;
    do {
      number ^= std::size_t{1} << highest_bit(number);  // not 0: slot 0 is ready
      at = slot(number);
    } while (!is_ready(load(at)));
    while (number != bucket) {
      const std::size_t differ = number ^ bucket;
      number |= differ & (~differ + 1);
      if (!add_slot(number, at, probe)) {
        mask = kNoMask;
        break;
      }
      at = slot(number);
    }
    return at;
  }

  // Returns the element that follows the link, or nullptr.
  static Node* element_after(const link* from) noexcept { return element_from(load(from)); }

  // Returns the first element in the bucket that is the probe's hash value, or after it; or
  // nullptr. There must be a first segment.
  template <typename Probe>
  Node* first_from(const Probe& probe) const {
    place at;
    at.before = start(probe, at.mask);
    if (at.mask != kNoMask) return element_after(at.before);
    walk(slot_probe<Probe>{probe.hash, probe}, at);
    return element_from(at.next);
  }

  // The first element, or nullptr.
  Node* first() const noexcept { return has_slots() ? element_after(slot(0)) : nullptr; }

  // ---- no other function may run at the same time ----------------------------------------------

  // Adds the node, whose predecessor in the order is `last`, at the end of the list. Returns the
  // node.
  link* append(Node* node, link* last, std::size_t hash) noexcept {
    link* const own = slot(hash & mask());
    if (!is_ready(load(own))) {
      // relaxed, all: no other thread uses the list
      last->next.store(reinterpret_cast<std::uintptr_t>(own) | kSlot, std::memory_order_relaxed);
      last = own;
    }
    node->next.store(kEnd, std::memory_order_relaxed);
    last->next.store(reinterpret_cast<std::uintptr_t>(static_cast<link*>(node)),
                     std::memory_order_relaxed);
    return node;
  }

  // Returns the link whose target is the node. The probe has the node's hash value.
  template <typename Probe>
  link* predecessor(const Node* node, const Probe& probe) const {
    std::size_t mask;
    link* at = start(probe, mask);
    for (;;) {
      const std::uintptr_t next = load(at);
      if (next == reinterpret_cast<std::uintptr_t>(static_cast<const link*>(node))) return at;
      at = link_of(next);
    }
  }

  // Takes the target of the link, a node, out of the list.
  static Node* remove_after(link* before) noexcept {
    Node* const node = node_of(load(before));
    before->next.store(load(node), std::memory_order_relaxed);  // relaxed: no other thread
    return node;
  }
  // Puts the node back.
  static void restore_after(link* before, Node* node) noexcept {
    // relaxed, both: no other thread uses the list
    node->next.store(load(before), std::memory_order_relaxed);
    before->next.store(reinterpret_cast<std::uintptr_t>(static_cast<link*>(node)),
                       std::memory_order_relaxed);
  }

  // Returns the link after `from`, a slot or a node; nullptr at the end. Sets `is_node`.
  static link* link_after(const link* from, bool& is_node) noexcept {
    const std::uintptr_t next = load(from);
    is_node = (next & kSlot) == 0;
    return link_of(next);  // nullptr is that of kEnd
  }

  // Forgets all elements. Keeps the segments.
  void clear() noexcept {
    if (!has_slots()) return;
    for (int k = 0; k < segments(); ++k) {
      link* const slots = segment(k);
      for (std::size_t i = 0; i < segment_size(k); ++i) {
        slots[i].next.store(0, std::memory_order_relaxed);  // relaxed: no other thread
      }
    }
    slot(0)->next.store(kEnd, std::memory_order_relaxed);  // relaxed: no other thread
  }

  void swap(basic_split_list& other) noexcept {
    swap_atomics(mask_, other.mask_);
    for (int k = 0; k < kSegments; ++k) swap_atomics(segments_[k], other.segments_[k]);
  }

 private:
  static constexpr std::uintptr_t kSlot = 1;
  static constexpr std::uintptr_t kUnready = 2;
  static constexpr std::uintptr_t kEnd = kSlot;
  static constexpr std::size_t kNoMask = ~std::size_t{0};

  static bool is_ready(std::uintptr_t next) noexcept { return next != 0 && (next & kUnready) == 0; }
  static link* link_of(std::uintptr_t next) noexcept {
    return reinterpret_cast<link*>(next & ~(kSlot | kUnready));
  }
  static Node* node_of(std::uintptr_t next) noexcept {
    return static_cast<Node*>(reinterpret_cast<link*>(next));
  }
  static std::uintptr_t load(const link* from) noexcept {
    // (2) acquire: sees the node or slot that (3) or (5) published, and what (1) published to it
    return from->next.load(std::memory_order_acquire);
  }

  // Returns the first node at or after the target, or nullptr.
  static Node* element_from(std::uintptr_t next) noexcept {
    while ((next & kSlot) != 0) {
      if (link_of(next) == nullptr) return nullptr;  // kEnd, maybe with kUnready
      next = load(link_of(next));
    }
    return node_of(next & ~kUnready);
  }

  // Returns the slot of the bucket; nullptr if there is no first segment.
  link* slot(std::size_t bucket) const noexcept {
    constexpr std::size_t kFirstMask = (std::size_t{1} << kFirstLog) - 1;
    const int k = highest_bit(bucket | kFirstMask) - (kFirstLog - 1);
    // (2) acquire: sees the first segment's slots, published by (1)
    const std::uintptr_t biased = segments_[k].load(std::memory_order_acquire);
    if (biased == 0) return nullptr;
    return reinterpret_cast<link*>(biased + bucket * sizeof(link));
  }

  // Returns the number of a slot that was found in the list.
  std::size_t number_of(const link* slot) const noexcept {
    for (int k = segments() - 1;; --k) {
      const std::uintptr_t offset =
          reinterpret_cast<std::uintptr_t>(slot) - reinterpret_cast<std::uintptr_t>(segment(k));
      if (offset < segment_size(k) * sizeof(link)) return segment_begin(k) + offset / sizeof(link);
    }
  }

  // Whether the slot, or the end, that is the target at this place comes after elements with the
  // hash value.
  bool ends_bucket(std::size_t hash, const place& at) const noexcept {
    if (link_of(at.next) == nullptr) return true;
    // relaxed: see the class
    if (mask_.load(std::memory_order_relaxed) == at.mask) return true;
    return precedes(hash, number_of(link_of(at.next)));
  }

  // Gives the link at the place a new target, which leads to the old one. Returns false if another
  // thread has changed the link.
  static bool change(place& at, std::uintptr_t target) noexcept {
    std::uintptr_t expected = at.next;
    // (3) release: publishes the node or slot to (2). relaxed if it fails: the caller loads again
    return at.before->next.compare_exchange_strong(expected, target | (at.next & kUnready),
                                                   std::memory_order_release,
                                                   std::memory_order_relaxed);
  }

  // Looks for the place of a slot: before the elements whose hash value is its number.
  template <typename Probe>
  struct slot_probe {
    std::size_t hash;
    const Probe& probe;
    std::size_t hash_of(const Node& node) const { return probe.hash_of(node); }
    bool matches(const Node&) const { return true; }
  };

  // Gives a slot back that was not added because hash_of threw.
  struct slot_claim {
    ~slot_claim() {
      if (slot != nullptr)
        slot->next.store(0, std::memory_order_relaxed);  // relaxed: holds nothing
    }
    link* slot;
  };

  // Adds the slot of the bucket to the list, unless it is there; `from` comes before it. Returns
  // false if another thread is about to do so.
  template <typename Probe>
  bool add_slot(std::size_t number, link* from, const Probe& probe) const {
    link* const added = slot(number);
    std::uintptr_t value = 0;
    // (4) relaxed: only chooses the thread. If it fails, acquire: as in load()
    if (!added->next.compare_exchange_strong(value, kUnready, std::memory_order_acquire,
                                             std::memory_order_acquire)) {
      return is_ready(value);
    }
    slot_claim claim{added};
    const slot_probe<Probe> wanted{number, probe};
    place at{from, 0, kNoMask};
    do {
      walk(wanted, at);
      // relaxed: (3) publishes it
      added->next.store(at.next | kUnready, std::memory_order_relaxed);
    } while (!change(at, reinterpret_cast<std::uintptr_t>(added) | kSlot));
    claim.slot = nullptr;
    // (5) release: publishes that the slot is in the list, and the target, to (2)
    added->next.fetch_and(~kUnready, std::memory_order_release);
    return true;
  }

  Atomic<std::size_t> mask_;  // the number of buckets - 1
  // Where slot 0 would be if each segment began there; 0 if there is no segment.
  Atomic<std::uintptr_t> segments_[kSegments] = {};
};

template <typename Node, template <typename> class Atomic, int kFirst, int kCount>
constexpr int basic_split_list<Node, Atomic, kFirst, kCount>::kFirstLog;
template <typename Node, template <typename> class Atomic, int kFirst, int kCount>
constexpr int basic_split_list<Node, Atomic, kFirst, kCount>::kSegments;
template <typename Node, template <typename> class Atomic, int kFirst, int kCount>
constexpr int basic_split_list<Node, Atomic, kFirst, kCount>::kMaxLog;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SPLIT_LIST_HPP
