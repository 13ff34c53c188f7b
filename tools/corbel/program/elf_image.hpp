// SPDX-License-Identifier: Apache-2.0
// A small ELF reader: the type of a file, and the symbols that an object defines or calls, from the
// file or from the memory of a running process. It reads only the header of objects that are not
// 64-bit little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace corbel::cli {

// Bytes by virtual address.
class Memory {
 public:
  virtual ~Memory() = default;
  // Copies `size` bytes from `address`; false when any of them cannot be read.
  virtual bool read(std::uint64_t address, void* to, std::size_t size) const = 0;

  template <typename T>
  std::optional<T> get(std::uint64_t address) const {
    T value{};
    if (!read(address, &value, sizeof(value))) return std::nullopt;
    return value;
  }
  // The string at `address`, cut at 4096 bytes; empty when unreadable.
  std::string string_at(std::uint64_t address) const;
};

// The memory of a running process. Reading it requires the right to trace the process. Pages
// are kept, up to a limit, because symbol tables are walked in small steps.
class ProcessMemory final : public Memory {
 public:
  explicit ProcessMemory(int pid) : pid_(pid) {}
  bool read(std::uint64_t address, void* to, std::size_t size) const override;

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kMostPages = 16384;
  struct Page {
    char bytes[kPage];
  };
  bool read_now(std::uint64_t address, void* to, std::size_t size) const;
  const Page* page_at(std::uint64_t number) const;

  int pid_;
  mutable std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

// Facts from the header and the program headers of a file.
struct ElfFacts {
  int bits = 64;
  bool little_endian = true;
  std::uint16_t machine = 0;
  std::uint16_t type = 0;
  bool has_dynamic = false;
  std::string interpreter;  // PT_INTERP; empty in a static program
  bool is_truncated = false;
};

// The facts about `path`; nullopt when it is not an ELF file or cannot be read.
std::optional<ElfFacts> read_elf_facts(const std::string& path);

// A readable name of an ELF machine number, for example "x86-64".
std::string machine_name(std::uint16_t machine, int bits);

// A symbol that an object defines and exports.
struct ExportedSymbol {
  std::uint64_t value = 0;  // virtual address, load bias added
  std::string version;      // its version node; empty when it has none
};

// The dynamic section of one object.
class DynamicImage {
 public:
  static std::optional<DynamicImage> from_file(const std::string& path);
  // `bias` is the difference between addresses in memory and in the file.
  static std::optional<DynamicImage> from_memory(std::shared_ptr<const Memory> memory,
                                                 std::uint64_t bias, std::uint64_t dynamic);

  const std::string& soname() const { return soname_; }
  const std::vector<std::string>& needed() const { return needed_; }
  // The exported definition of `name`, if there is one.
  std::optional<ExportedSymbol> find(std::string_view name) const;
  // The text at a virtual address, as `find` returns it.
  std::string text_at(std::uint64_t address) const { return memory_->string_at(address); }
  // Calls `visit(name, address)` for every slot through which this object calls a function by name
  // or takes its address. The loader stores the target in the slot.
  void for_each_slot(
      const std::function<void(const std::string& name, std::uint64_t slot)>& visit) const;
  // Calls `visit(name)` for every reference to a symbol that another object must define, each time
  // that a relocation names it.
  void for_each_import(const std::function<void(const std::string& name)>& visit) const;

 private:
  void for_each_relocation(
      const std::function<void(std::uint32_t type, const std::string& name, std::uint64_t place,
                               bool import)>& visit) const;
  bool load(std::uint64_t dynamic);
  std::uint64_t address(std::uint64_t pointer) const;
  std::string version_of(std::uint32_t symbol_index) const;
  std::optional<std::uint32_t> find_gnu(std::string_view name) const;
  std::optional<std::uint32_t> find_sysv(std::string_view name) const;
  bool defines(std::uint32_t symbol_index, std::string_view name) const;

  std::shared_ptr<const Memory> memory_;
  std::uint64_t bias_ = 0;
  bool in_file_ = true;
  std::string soname_;
  std::vector<std::string> needed_;
  std::uint64_t symbols_ = 0, strings_ = 0, gnu_hash_ = 0, sysv_hash_ = 0;
  std::uint64_t versions_ = 0, version_definitions_ = 0;
  std::uint64_t plt_relocations_ = 0, plt_size_ = 0, relocations_ = 0, relocations_size_ = 0;
};

// Whether the full symbol table of the file defines `name` without exporting it. Calls inside the
// file then go to that definition, and no other object can take them over.
bool has_private_definition(const std::string& path, std::string_view name);

// Whether the bytes of `text` occur anywhere in the file.
bool file_contains(const std::string& path, std::string_view text);

// The string that follows the first `text` in the file, up to a null byte or the end of the
// line; empty when there is none.
std::string file_text_after(const std::string& path, std::string_view text);

}  // namespace corbel::cli
