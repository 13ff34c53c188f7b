// SPDX-License-Identifier: Apache-2.0
// Every operator new and delete of C++20 (ISO C++ [new.delete]): plain, array, nothrow, sized,
// aligned, and their combinations.
//
// The standard defines the nothrow and sized forms in terms of eight basic ones (new, delete, new[]
// and delete[], plain and aligned), and the basic array forms in terms of the other basic ones. A
// program may replace any of the eight; then all other forms must lead to the program's own. As
// long as it replaces none, they call the allocator directly.
#include <cstddef>
#include <new>

#include "alloc/allocator.hpp"
#include "alloc/heap/fast_path.hpp"
#include "proxy/linux/cxx_runtime.hpp"
#include "proxy/linux/proxy.hpp"

namespace proxy = corbel::proxy;
namespace alloc = corbel::alloc;
using alloc::Origin;
using alloc::ReleaseKind;
using std::align_val_t;
using std::nothrow_t;
using std::size_t;

namespace corbel::proxy {
namespace {

// Whether the eight basic forms that the process sees are ours. False until find_basic_forms() has
// run, which is slower but also correct. Written once, before the program's constructors run.
bool basic_forms_are_ours = false;

inline bool ours() { return __builtin_expect(basic_forms_are_ours, 1); }

// The definitions that the process sees. volatile, because a compiler that sees the definitions
// below assumes that there are no others.
const volatile BasicForms visible = {
    ::operator new,    ::operator new[],    ::operator new,    ::operator new[],
    ::operator delete, ::operator delete[], ::operator delete, ::operator delete[],
};

// What full checks are told. If the program has replaced a basic form, a form of ours may have been
// called in the place of another one.
inline Origin told(Origin origin) { return ours() ? origin : Origin::kNewAny; }
inline ReleaseKind told(ReleaseKind kind) { return ours() ? kind : ReleaseKind::kDeleteAny; }

// These two are not inlined, so that their callers end with a jump.
__attribute__((noinline)) void* small_slow(size_t size, Origin origin) {
  return alloc::allocate_slow(size, told(origin));
}
__attribute__((noinline)) void* aligned_slow(size_t size, size_t alignment, Origin origin) {
  return alloc::allocate_aligned(size, alignment, told(origin));
}

// `alignment` 0 selects that of the plain forms. pop_small() aligns blocks of up to eight bytes to
// eight, all others to 16.
inline void* try_allocate(size_t size, size_t alignment, Origin origin) {
  if (alignment <= sizeof(void*) || (alignment <= alloc::kMinAlignment && size > sizeof(void*))) {
    void* block = alloc::pop_small(size);
    return block != nullptr ? block : small_slow(size, origin);
  }
  return aligned_slow(size, alignment, origin);
}

constexpr bool is_valid(size_t alignment) { return (alignment & (alignment - 1)) == 0; }

// [new.delete.single]: calls the new-handler and tries again until that succeeds or there is none.
__attribute__((noinline, cold)) void* allocate_or_throw(size_t size, size_t alignment,
                                                        Origin origin) {
  if (!is_valid(alignment)) throw_bad_alloc();
  for (;;) {
    const NewHandler handler = current_new_handler();
    if (handler == nullptr) throw_bad_alloc();
    handler();
    void* block = try_allocate(size, alignment, origin);
    if (block != nullptr) return block;
  }
}

__attribute__((noinline, cold)) void* nothrow_slow(size_t size, size_t alignment,
                                                   bool array) noexcept {
  if (!is_valid(alignment)) return nullptr;
  if (ours() && current_new_handler() == nullptr) return nullptr;
  const BasicForms forms = {visible.new_one,        visible.new_array,
                            visible.new_aligned,    visible.new_aligned_array,
                            visible.delete_one,     visible.delete_array,
                            visible.delete_aligned, visible.delete_aligned_array};
  return new_or_null(forms, size, alignment, array);
}

// Not inlined, so that new_plain() ends with a jump and need not save `size` for the new-handler.
__attribute__((noinline)) void* new_slow(size_t size, Origin origin) {
  void* block = alloc::allocate_slow(size, told(origin));
  return __builtin_expect(block != nullptr, 1) ? block : allocate_or_throw(size, 0, origin);
}

inline void* new_plain(size_t size, Origin origin) {
  void* block = alloc::pop_small(size);
  return __builtin_expect(block != nullptr, 1) ? block : new_slow(size, origin);
}

inline void* new_aligned(size_t size, size_t alignment, Origin origin) {
  if (__builtin_expect(is_valid(alignment), 1)) {
    void* block = try_allocate(size, alignment, origin);
    if (__builtin_expect(block != nullptr, 1)) return block;
  }
  return allocate_or_throw(size, alignment, origin);
}

inline void* new_nothrow(size_t size, size_t alignment, bool array) noexcept {
  if (ours() && is_valid(alignment)) {
    const Origin origin = array ? Origin::kNewArray : Origin::kNew;
    void* block = try_allocate(size, alignment, origin);
    if (__builtin_expect(block != nullptr, 1)) return block;
  }
  return nothrow_slow(size, alignment, array);
}

// The page map in which the other forms of delete look a block up: one without leaves unless the
// basic forms are ours. There no block is found, so it suffices to ask ours() after a look-up that
// found none of this thread's blocks, and these forms cost no more than the basic ones. void*,
// because it must have its value before any constructor runs.
constinit void* map_of_other_forms = alloc::page_map.without_leaves();

constexpr auto kDelete = ReleaseKind::kDelete;
constexpr auto kDeleteArray = ReleaseKind::kDeleteArray;

// What a form of delete is told beside the block: nothing, the size, the alignment, or both.
constexpr size_t size_in() { return alloc::Release::kNoSize; }
constexpr size_t size_in(align_val_t) { return size_in(); }
constexpr size_t size_in(size_t size) { return size; }
constexpr size_t size_in(size_t size, align_val_t) { return size; }
constexpr size_t alignment_in() { return 0; }
constexpr size_t alignment_in(size_t) { return 0; }
constexpr size_t alignment_in(align_val_t alignment) { return static_cast<size_t>(alignment); }
constexpr size_t alignment_in(size_t, align_val_t alignment) { return alignment_in(alignment); }

template <class... Told>
void deallocate_slow(ReleaseKind kind, void* block, alloc::Span* slab, Told... is_told) {
  alloc::deallocate_slow(block, slab,
                         alloc::Release::by(kind, size_in(is_told...), alignment_in(is_told...)));
}

// The slow functions take their arguments in the order of the form's own, the slab last, so that
// the fast path need not save them.

void call_form(void (*form)(void*), void* block) { form(block); }
void call_form(void (*form)(void*), void* block, size_t) { form(block); }
void call_form(void (*form)(void*, align_val_t), void* block, align_val_t alignment) {
  form(block, alignment);
}
void call_form(void (*form)(void*, align_val_t), void* block, size_t, align_val_t alignment) {
  form(block, alignment);
}

template <auto kBasicForm, ReleaseKind kKind, class... Told>
struct OtherForm {
  __attribute__((noinline)) static void slow(void* block, Told... is_told, alloc::Span* slab) {
    if (ours()) return deallocate_slow(kKind, block, slab, is_told...);
    call_form(visible.*kBasicForm, block, is_told...);
  }
};

// Frees the block. If the program has replaced a basic form, leaves that to the form `kBasicForm`.
template <auto kBasicForm, ReleaseKind kKind, class... Told>
inline void delete_by_other_form(void* block, Told... is_told) {
  auto* const map = static_cast<alloc::PageMap*>(map_of_other_forms);
  alloc::Span* const slab = alloc::find_span(*map, block);
  if (!alloc::push_own(slab, block)) {
    OtherForm<kBasicForm, kKind, Told...>::slow(block, is_told..., slab);
  }
}

template <class... Told>
struct BasicDelete {
  __attribute__((noinline)) static void slow(void* block, Told... is_told, alloc::Span* slab) {
    deallocate_slow(told(kDelete), block, slab, is_told...);
  }
};

// The basic forms of delete for one object.
template <class... Told>
inline void basic_delete(void* block, Told... is_told) {
  alloc::Span* const slab = alloc::find_span(block);
  if (!alloc::push_own(slab, block)) BasicDelete<Told...>::slow(block, is_told..., slab);
}

}  // namespace
}  // namespace corbel::proxy

// ---- the basic forms --------------------------------------------------------------------------

CORBEL_PROXY_CXX_API void* operator new(size_t size) {
  return proxy::new_plain(size, Origin::kNew);
}

CORBEL_PROXY_CXX_API void* operator new(size_t size, align_val_t alignment) {
  return proxy::new_aligned(size, static_cast<size_t>(alignment), Origin::kNew);
}

CORBEL_PROXY_CXX_API void* operator new[](size_t size) {
  return proxy::ours() ? proxy::new_plain(size, Origin::kNewArray) : proxy::visible.new_one(size);
}

CORBEL_PROXY_CXX_API void* operator new[](size_t size, align_val_t alignment) {
  return proxy::ours() ? proxy::new_aligned(size, static_cast<size_t>(alignment), Origin::kNewArray)
                       : proxy::visible.new_aligned(size, alignment);
}

CORBEL_PROXY_CXX_API void operator delete(void* block) noexcept { proxy::basic_delete(block); }

CORBEL_PROXY_CXX_API void operator delete(void* block, align_val_t alignment) noexcept {
  proxy::basic_delete(block, alignment);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_one, proxy::kDeleteArray>(block);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, align_val_t alignment) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned, proxy::kDeleteArray>(block,
                                                                                       alignment);
}

// ---- nothrow ----------------------------------------------------------------------------------

CORBEL_PROXY_CXX_API void* operator new(size_t size, const nothrow_t&) noexcept {
  return proxy::new_nothrow(size, 0, false);
}

CORBEL_PROXY_CXX_API void* operator new[](size_t size, const nothrow_t&) noexcept {
  return proxy::new_nothrow(size, 0, true);
}

CORBEL_PROXY_CXX_API void* operator new(size_t size, align_val_t alignment,
                                        const nothrow_t&) noexcept {
  return proxy::new_nothrow(size, static_cast<size_t>(alignment), false);
}

CORBEL_PROXY_CXX_API void* operator new[](size_t size, align_val_t alignment,
                                          const nothrow_t&) noexcept {
  return proxy::new_nothrow(size, static_cast<size_t>(alignment), true);
}

CORBEL_PROXY_CXX_API void operator delete(void* block, const nothrow_t&) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_one, proxy::kDelete>(block);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, const nothrow_t&) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_array, proxy::kDeleteArray>(block);
}

CORBEL_PROXY_CXX_API void operator delete(void* block, align_val_t alignment,
                                          const nothrow_t&) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned, proxy::kDelete>(block, alignment);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, align_val_t alignment,
                                            const nothrow_t&) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned_array, proxy::kDeleteArray>(
      block, alignment);
}

// ---- sized ------------------------------------------------------------------------------------

// Only slow paths look at the size (decision 0015).

CORBEL_PROXY_CXX_API void operator delete(void* block, size_t size) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_one, proxy::kDelete>(block, size);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, size_t size) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_array, proxy::kDeleteArray>(block, size);
}

CORBEL_PROXY_CXX_API void operator delete(void* block, size_t size,
                                          align_val_t alignment) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned, proxy::kDelete>(block, size,
                                                                                  alignment);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, size_t size,
                                            align_val_t alignment) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned_array, proxy::kDeleteArray>(
      block, size, alignment);
}

// ---- the addresses of our own definitions -----------------------------------------------------

#define CORBEL_PROXY_OPERATORS(each)                                                              \
  each(_Znwm, "operator new(size_t)") each(_Znam, "operator new[](size_t)")                       \
      each(_ZnwmSt11align_val_t, "operator new(size_t, align_val_t)") each(                       \
          _ZnamSt11align_val_t, "operator new[](size_t, align_val_t)")                            \
          each(_ZdlPv, "operator delete(void*)") each(_ZdaPv, "operator delete[](void*)") each(   \
              _ZdlPvSt11align_val_t, "operator delete(void*, align_val_t)")                       \
              each(_ZdaPvSt11align_val_t, "operator delete[](void*, align_val_t)") each(          \
                  _ZnwmRKSt9nothrow_t, "operator new(size_t, nothrow_t)")                         \
                  each(_ZnamRKSt9nothrow_t, "operator new[](size_t, nothrow_t)") each(            \
                      _ZnwmSt11align_val_tRKSt9nothrow_t,                                         \
                      "operator new(size_t, align_val_t, nothrow_t)")                             \
                      each(_ZnamSt11align_val_tRKSt9nothrow_t,                                    \
                           "operator new[](size_t, align_val_t, nothrow_t)")                      \
                          each(_ZdlPvRKSt9nothrow_t, "operator delete(void*, nothrow_t)") each(   \
                              _ZdaPvRKSt9nothrow_t, "operator delete[](void*, nothrow_t)")        \
                              each(_ZdlPvSt11align_val_tRKSt9nothrow_t,                           \
                                   "operator delete(void*, align_val_t, nothrow_t)")              \
                                  each(_ZdaPvSt11align_val_tRKSt9nothrow_t,                       \
                                       "operator delete[](void*, align_val_t, nothrow_t)")        \
                                      each(_ZdlPvm, "operator delete(void*, size_t)")             \
                                          each(_ZdaPvm, "operator delete[](void*, size_t)") each( \
                                              _ZdlPvmSt11align_val_t,                             \
                                              "operator delete(void*, size_t, align_val_t)")      \
                                              each(                                               \
                                                  _ZdaPvmSt11align_val_t,                         \
                                                  "operator delete[](void*, size_t, align_val_t)")

#define CORBEL_PROXY_DECLARE_OPERATOR(symbol, label) CORBEL_PROXY_DECLARE_SELF(symbol)
#define CORBEL_PROXY_DEFINE_OPERATOR(symbol, label) CORBEL_PROXY_DEFINE_SELF(symbol)
extern "C" {
CORBEL_PROXY_OPERATORS(CORBEL_PROXY_DECLARE_OPERATOR)
}
CORBEL_PROXY_OPERATORS(CORBEL_PROXY_DEFINE_OPERATOR)

namespace corbel::proxy {

#define CORBEL_PROXY_TABLE_ENTRY(symbol, label) \
  {#symbol, label, reinterpret_cast<const void*>(&CORBEL_PROXY_SELF(symbol))},
const Symbol kOperators[] = {
    CORBEL_PROXY_OPERATORS(CORBEL_PROXY_TABLE_ENTRY){nullptr, nullptr, nullptr}};

namespace {

// In the static library, a program that takes operator new takes malloc and free too.
__attribute__((used)) const Symbol* const kCPart = kFunctions;

template <typename Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

// Runs after the relocations and before the program's constructors. In an executable that is not
// position-independent, the addresses in `visible` may be entries of the executable's own that jump
// to our functions. Then the comparison fails, and the forms call each other through `visible`.
__attribute__((constructor(101))) void find_basic_forms() {
  basic_forms_are_ours = address_of(visible.new_one) == kOperators[0].self &&
                         address_of(visible.new_array) == kOperators[1].self &&
                         address_of(visible.new_aligned) == kOperators[2].self &&
                         address_of(visible.new_aligned_array) == kOperators[3].self &&
                         address_of(visible.delete_one) == kOperators[4].self &&
                         address_of(visible.delete_array) == kOperators[5].self &&
                         address_of(visible.delete_aligned) == kOperators[6].self &&
                         address_of(visible.delete_aligned_array) == kOperators[7].self;
  if (basic_forms_are_ours) map_of_other_forms = &alloc::page_map;
}

}  // namespace
}  // namespace corbel::proxy
