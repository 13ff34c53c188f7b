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
#include "proxy/cxx_runtime.hpp"
#include "proxy/proxy.hpp"

namespace proxy = corbel::proxy;
namespace alloc = corbel::alloc;
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

// `alignment` 0 selects that of the plain forms. allocate_fast() aligns blocks of up to eight bytes
// to eight, all others to 16.
inline void* try_allocate(size_t size, size_t alignment) {
  if (alignment <= sizeof(void*) || (alignment <= alloc::kMinAlignment && size > sizeof(void*))) {
    return alloc::allocate_fast(size);
  }
  return alloc::allocate_aligned(size, alignment);
}

constexpr bool is_valid(size_t alignment) { return (alignment & (alignment - 1)) == 0; }

// [new.delete.single]: calls the new-handler and tries again until that succeeds or there is none.
__attribute__((noinline, cold)) void* allocate_or_throw(size_t size, size_t alignment) {
  if (!is_valid(alignment)) throw_bad_alloc();
  for (;;) {
    const NewHandler handler = current_new_handler();
    if (handler == nullptr) throw_bad_alloc();
    handler();
    void* block = try_allocate(size, alignment);
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
__attribute__((noinline)) void* new_slow(size_t size) {
  void* block = alloc::allocate_slow(size);
  return __builtin_expect(block != nullptr, 1) ? block : allocate_or_throw(size, 0);
}

inline void* new_plain(size_t size) {
  void* block = alloc::pop_small(size);
  return __builtin_expect(block != nullptr, 1) ? block : new_slow(size);
}

inline void* new_aligned(size_t size, size_t alignment) {
  if (__builtin_expect(is_valid(alignment), 1)) {
    void* block = try_allocate(size, alignment);
    if (__builtin_expect(block != nullptr, 1)) return block;
  }
  return allocate_or_throw(size, alignment);
}

inline void* new_nothrow(size_t size, size_t alignment, bool array) noexcept {
  if (ours() && is_valid(alignment)) {
    void* block = try_allocate(size, alignment);
    if (__builtin_expect(block != nullptr, 1)) return block;
  }
  return nothrow_slow(size, alignment, array);
}

// The page map in which the other forms of delete look a block up: one without leaves unless the
// basic forms are ours. There no block is found, so it suffices to ask ours() after a look-up that
// found none of this thread's blocks, and these forms cost no more than the basic ones. void*,
// because it must have its value before any constructor runs.
constinit void* map_of_other_forms = alloc::page_map.without_leaves();

template <auto kBasicForm, class... Alignment>
__attribute__((noinline)) void delete_slow(void* block, alloc::Span* slab, Alignment... alignment) {
  if (ours()) return alloc::deallocate_slow(block, slab);
  (visible.*kBasicForm)(block, alignment...);
}

// Frees the block. If the program has replaced a basic form, leaves that to the form `kBasicForm`.
template <auto kBasicForm, class... Alignment>
inline void delete_by_other_form(void* block, Alignment... alignment) {
  auto* const map = static_cast<alloc::PageMap*>(map_of_other_forms);
  alloc::Span* const slab = alloc::find_span(*map, block);
  if (!alloc::push_own(slab, block)) delete_slow<kBasicForm>(block, slab, alignment...);
}

}  // namespace
}  // namespace corbel::proxy

// ---- the basic forms --------------------------------------------------------------------------

CORBEL_PROXY_CXX_API void* operator new(size_t size) { return proxy::new_plain(size); }

CORBEL_PROXY_CXX_API void* operator new(size_t size, align_val_t alignment) {
  return proxy::new_aligned(size, static_cast<size_t>(alignment));
}

CORBEL_PROXY_CXX_API void* operator new[](size_t size) {
  return proxy::ours() ? proxy::new_plain(size) : proxy::visible.new_one(size);
}

CORBEL_PROXY_CXX_API void* operator new[](size_t size, align_val_t alignment) {
  return proxy::ours() ? proxy::new_aligned(size, static_cast<size_t>(alignment))
                       : proxy::visible.new_aligned(size, alignment);
}

CORBEL_PROXY_CXX_API void operator delete(void* block) noexcept { alloc::deallocate_fast(block); }

CORBEL_PROXY_CXX_API void operator delete(void* block, align_val_t) noexcept {
  alloc::deallocate_fast(block);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_one>(block);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, align_val_t alignment) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned>(block, alignment);
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
  proxy::delete_by_other_form<&proxy::BasicForms::delete_one>(block);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, const nothrow_t&) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_array>(block);
}

CORBEL_PROXY_CXX_API void operator delete(void* block, align_val_t alignment,
                                          const nothrow_t&) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned>(block, alignment);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, align_val_t alignment,
                                            const nothrow_t&) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned_array>(block, alignment);
}

// ---- sized ------------------------------------------------------------------------------------

// The size is ignored (decision 0015).

CORBEL_PROXY_CXX_API void operator delete(void* block, size_t) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_one>(block);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, size_t) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_array>(block);
}

CORBEL_PROXY_CXX_API void operator delete(void* block, size_t, align_val_t alignment) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned>(block, alignment);
}

CORBEL_PROXY_CXX_API void operator delete[](void* block, size_t, align_val_t alignment) noexcept {
  proxy::delete_by_other_form<&proxy::BasicForms::delete_aligned_array>(block, alignment);
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
