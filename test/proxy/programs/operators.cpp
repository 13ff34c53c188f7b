// SPDX-License-Identifier: Apache-2.0
// All forms of operator new and delete, each with the new-handler, and what they throw. "operators"
// expects all forms to lead to Corbel; "operators peer" skips that check.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <new>

#if defined(LINKED_STATIC)
extern "C" size_t scalable_msize(void*);
static size_t corbel_size(void* p) { return scalable_msize(p); }
#else
#include <dlfcn.h>
static size_t corbel_size(void* p) {
  auto size = reinterpret_cast<size_t (*)(void*)>(dlsym(RTLD_DEFAULT, "scalable_msize"));
  return size != nullptr ? size(p) : 0;
}
#endif

static int failures = 0;
static bool peer = false;

#define CHECK(condition)                                                         \
  do {                                                                           \
    if (!(condition)) {                                                          \
      std::fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
      ++failures;                                                                \
    }                                                                            \
  } while (0)

static void check_block(void* p, std::size_t size, std::size_t alignment) {
  CHECK(p != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
  if (!peer) CHECK(corbel_size(p) >= size);
  std::memset(p, 0x5A, size);
}

static void check_forms() {
  const std::nothrow_t& no = std::nothrow;
  for (std::size_t n : {0, 1, 8, 16, 24, 100, 1000, 5000, 40000, 300000, 3000000}) {
    const std::size_t natural = n > 8 ? 16 : 8;
    const auto make = [&](int form, std::align_val_t a) -> void* {
      switch (form) {
        case 0:
          return ::operator new(n);
        case 1:
          return ::operator new[](n);
        case 2:
          return ::operator new(n, no);
        case 3:
          return ::operator new[](n, no);
        case 4:
          return ::operator new(n, a);
        case 5:
          return ::operator new[](n, a);
        case 6:
          return ::operator new(n, a, no);
        default:
          return ::operator new[](n, a, no);
      }
    };
    for (int form = 0; form < 4; ++form) {
      const std::align_val_t unused{};
      for (int end = 0; end < 3; ++end) {
        void* p = make(form, unused);
        check_block(p, n, natural);
        if (form % 2 == 0) {
          if (end == 0) ::operator delete(p);
          if (end == 1) ::operator delete(p, n);
          if (end == 2) ::operator delete(p, no);
        } else {
          if (end == 0) ::operator delete[](p);
          if (end == 1) ::operator delete[](p, n);
          if (end == 2) ::operator delete[](p, no);
        }
      }
    }
    for (std::size_t alignment = 1; alignment <= (std::size_t{1} << 22); alignment *= 4) {
      const std::align_val_t a{alignment};
      for (int form = 4; form < 8; ++form) {
        for (int end = 0; end < 3; ++end) {
          void* p = make(form, a);
          check_block(p, n, alignment);
          if (form % 2 == 0) {
            if (end == 0) ::operator delete(p, a);
            if (end == 1) ::operator delete(p, n, a);
            if (end == 2) ::operator delete(p, a, no);
          } else {
            if (end == 0) ::operator delete[](p, a);
            if (end == 1) ::operator delete[](p, n, a);
            if (end == 2) ::operator delete[](p, a, no);
          }
        }
      }
    }
  }
  ::operator delete(nullptr);
  ::operator delete[](nullptr);
  ::operator delete(nullptr, std::size_t{16});
  ::operator delete[](nullptr, std::size_t{16});
  ::operator delete(nullptr, std::align_val_t{64});
  ::operator delete(nullptr, std::nothrow);
}

struct alignas(128) Wide {
  char bytes[256];
  ~Wide() { bytes[0] = 0; }
};

static void check_expressions() {
  Wide* one = new Wide;
  check_block(one, sizeof(Wide), 128);
  delete one;
  Wide* many = new Wide[10];
  CHECK(reinterpret_cast<std::uintptr_t>(many) % 128 == 0);
  delete[] many;
  long* numbers = new (std::nothrow) long[1000];
  CHECK(numbers != nullptr);
  delete[] numbers;
}

static volatile std::size_t impossible = std::size_t{PTRDIFF_MAX} - 1000;
static int handler_calls = 0;
struct FromHandler {};

static void counting_handler() {
  if (++handler_calls == 3) std::set_new_handler(nullptr);
}
static void throwing_handler() {
  ++handler_calls;
  throw FromHandler{};
}

static const char* outcome_of(int form) {
  const std::size_t n = impossible;
  const std::align_val_t a{256};
  const std::nothrow_t& no = std::nothrow;
  void* p = nullptr;
  try {
    switch (form) {
      case 0:
        p = ::operator new(n);
        break;
      case 1:
        p = ::operator new[](n);
        break;
      case 2:
        p = ::operator new(n, a);
        break;
      case 3:
        p = ::operator new[](n, a);
        break;
      case 4:
        p = ::operator new(n, no);
        break;
      case 5:
        p = ::operator new[](n, no);
        break;
      case 6:
        p = ::operator new(n, a, no);
        break;
      default:
        p = ::operator new[](n, a, no);
        break;
    }
  } catch (const std::bad_alloc&) {
    return "bad_alloc";
  } catch (const FromHandler&) {
    return "from the handler";
  }
  return p == nullptr ? "null" : "a block";
}

static void check_exhaustion() {
  for (int form = 0; form < 8; ++form) {
    const bool throws = form < 4;
    std::set_new_handler(nullptr);
    CHECK(std::strcmp(outcome_of(form), throws ? "bad_alloc" : "null") == 0);

    handler_calls = 0;
    std::set_new_handler(counting_handler);
    CHECK(std::strcmp(outcome_of(form), throws ? "bad_alloc" : "null") == 0);
    CHECK(handler_calls == 3);

    handler_calls = 0;
    std::set_new_handler(throwing_handler);
    CHECK(std::strcmp(outcome_of(form), throws ? "from the handler" : "null") == 0);
    CHECK(handler_calls == 1);
    std::set_new_handler(nullptr);
  }
  bool refused = false;
  try {
    volatile std::size_t odd = 24;
    ::operator delete(::operator new(100, std::align_val_t{odd}));
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  if (!peer) CHECK(refused);  // libc++ does not refuse it
}

int main(int argc, char** argv) {
  peer = argc > 1 && std::strcmp(argv[1], "peer") == 0;
  check_forms();
  check_expressions();
  check_exhaustion();
  return failures != 0;
}
