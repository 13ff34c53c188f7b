// SPDX-License-Identifier: Apache-2.0
// A library or program as the loader has mapped it (Microsoft PE/COFF specification). Reads memory
// alone and calls nothing: a thread may be loading it, or be inside the loader.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::proxy {

class Image {
 public:
  explicit Image(const void* base) : base_(static_cast<const unsigned char*>(base)) {}

  const unsigned char* base() const { return base_; }
  std::size_t size() const;  // of the mapping in bytes; 0 if there is no image for this processor
  bool contains(const void* address) const {
    return std::size_t(static_cast<const unsigned char*>(address) - base_) < size();
  }

  // The word that tells where an exported function lies, by its distance from the base; nullptr if
  // there is no function of the name, or it is another library's that this one passes on.
  std::uint32_t* find_export(const char* name) const;
  const unsigned char* find_function(const char* name) const {
    const std::uint32_t* const word = find_export(name);
    return word == nullptr ? nullptr : base_ + *word;
  }

  // From a function's first byte to where the next one begins, or the code ends; at most `limit`.
  std::size_t bytes_of(const unsigned char* function, std::size_t limit) const;

  // Calls `each(word)` for each address that the loader has filled in for an imported function.
  template <class Each>
  void for_each_import(Each each) const {
    const Part imports = part(1);
    for (std::uint32_t at = 0; at + kImportSize <= imports.size; at += kImportSize) {
      const std::uint32_t words = u32(imports.start + at + 16);
      if (words == 0) return;
      for (std::uint32_t i = words; std::size_t(i) + 8 <= size(); i += 8) {
        auto* const word = reinterpret_cast<const void**>(const_cast<unsigned char*>(base_ + i));
        if (*word == nullptr) break;
        each(word);
      }
    }
  }

 private:
  static constexpr std::uint32_t kImportSize = 20;

  struct Part {
    std::uint32_t start = 0;
    std::uint32_t size = 0;
  };

  std::uint32_t u32(std::uint32_t at) const {
    return *reinterpret_cast<const std::uint32_t*>(base_ + at);
  }
  std::uint32_t header() const { return u32(60); }
  Part part(unsigned number) const;  // of the data directories: exports, imports, ...
  std::uint32_t end_of_section(std::uint32_t at) const;

  const unsigned char* base_;
};

}  // namespace corbel::proxy
