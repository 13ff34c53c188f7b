// SPDX-License-Identifier: Apache-2.0
// The functions and lines of one ELF file.
#include "symbols/debug_file.hpp"

#include <cxxabi.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "symbols/dwarf_walk.hpp"

namespace corbel::cli {
namespace {

struct Symbol {
  std::uint64_t address = 0, size = 0;
  const char* name = nullptr;
  bool global = false;
};

std::string hex(const void* bytes, std::size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < size; ++i) {
    const unsigned byte = static_cast<const unsigned char*>(bytes)[i];
    result += kDigits[byte >> 4];
    result += kDigits[byte & 15];
  }
  return result;
}

// The build id of the file at `path`; false when it is not an ELF file.
bool read_build_id(const std::string& path, std::string& id) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(file, ELF_C_READ_MMAP, nullptr);
  const bool good = elf != nullptr && elf_kind(elf) == ELF_K_ELF;
  const void* bits = nullptr;
  if (good) {
    if (const ssize_t size = dwelf_elf_gnu_build_id(elf, &bits); size > 0) {
      id = hex(bits, static_cast<std::size_t>(size));
    }
  }
  elf_end(elf);
  close(file);
  return good;
}

std::string by_build_id(const std::string& id) {
  if (id.size() < 3) return {};
  const std::string path =
      "/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
  std::string found;
  return read_build_id(path, found) && found == id ? path : std::string();
}

}  // namespace

std::string readable(const std::string& name) {
  if (name.rfind("_Z", 0) != 0) return name;
  // The compiler's suffixes (.constprop.0) stay out of the way of the demangler.
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return name;
  std::string result = text;
  std::free(text);
  // Rust's older names end with a hash.
  if (const std::size_t hash = result.rfind("::h");
      hash != std::string::npos && result.size() - hash == 19 &&
      result.find_first_not_of("0123456789abcdef", hash + 3) == std::string::npos) {
    result.resize(hash);
  }
  return result;
}

struct DebugFile::Parts {
  Dwfl_Callbacks callbacks{};
  Dwfl* dwfl = nullptr;
  Dwfl_Module* module = nullptr;
  std::vector<Symbol> symbols;        // by address
  std::vector<std::uint64_t> starts;  // of functions
  bool only_debug = false;            // the file has the DWARF, but not the code

  ~Parts() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }

  void read_symbols() {
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; ++i) {
      GElf_Sym symbol;
      GElf_Addr address = 0;
      GElf_Word section = 0;
      const char* name =
          dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
      const unsigned type = GELF_ST_TYPE(symbol.st_info);
      if (name == nullptr || *name == '\0' || section == SHN_UNDEF || section == SHN_ABS) continue;
      if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
      if (type == STT_NOTYPE && (*name == '$' || *name == '.')) continue;  // marks of assemblers
      symbols.push_back({address, symbol.st_size, name, GELF_ST_BIND(symbol.st_info) != STB_LOCAL});
    }
    // Of several names for one address the last one is taken.
    std::sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) {
      if (a.address != b.address) return a.address < b.address;
      if ((a.size == 0) != (b.size == 0)) return a.size == 0;
      if (a.global != b.global) return b.global;
      return std::string_view(a.name) > b.name;
    });
  }

  // Stripping leaves the unwind tables. Their index (.eh_frame_hdr, see the Linux Standard Base)
  // has the beginning of each function.
  void read_starts() {
    GElf_Addr bias = 0;
    Elf* elf = dwfl_module_getelf(module, &bias);
    std::size_t count = 0;
    if (elf == nullptr || elf_getphdrnum(elf, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr ||
          header.p_type != PT_GNU_EH_FRAME) {
        continue;
      }
      const Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<std::int64_t>(header.p_offset),
                                                  header.p_filesz, ELF_T_BYTE);
      // Only the forms that linkers write: 32-bit offsets, from the index itself in its table.
      constexpr unsigned char kForm[] = {1, 0x1b, 0x03, 0x3b};
      if (data == nullptr || data->d_buf == nullptr || data->d_size < 12 ||
          std::memcmp(data->d_buf, kForm, sizeof(kForm)) != 0) {
        continue;
      }
      const char* bytes = static_cast<const char*>(data->d_buf);
      std::uint32_t entries = 0;
      std::memcpy(&entries, bytes + 8, 4);
      for (std::size_t at = 12; entries > 0 && at + 8 <= data->d_size; at += 8, --entries) {
        std::int32_t offset = 0;
        std::memcpy(&offset, bytes + at, 4);
        starts.push_back(header.p_vaddr + bias + static_cast<std::uint64_t>(offset));
      }
    }
    std::sort(starts.begin(), starts.end());
  }

  std::uint64_t start_of(std::uint64_t address) const {
    const auto next = std::upper_bound(starts.begin(), starts.end(), address);
    return next == starts.begin() ? 0 : *(next - 1);
  }

  const Symbol* symbol_at(std::uint64_t address) const {
    auto next = std::upper_bound(symbols.begin(), symbols.end(), address,
                                 [](std::uint64_t at, const Symbol& s) { return at < s.address; });
    // A label in the middle of a function has no size; the function is a few before it.
    for (int tries = 0; next != symbols.begin() && tries < 64; ++tries) {
      const Symbol& symbol = *--next;
      if (symbol.size != 0 && address - symbol.address < symbol.size) return &symbol;
    }
    return nullptr;
  }
};

DebugFile::DebugFile(const std::string& path, const std::string& build_id)
    : parts_(std::make_unique<Parts>()) {
  std::string id;
  std::error_code error;
  std::string chosen = path;
  if (!std::filesystem::exists(path, error)) {
    lack_ = Lack::kMissing;
  } else if (!read_build_id(path, id)) {
    lack_ = Lack::kNotElf;
  } else if (!build_id.empty() && id != build_id) {
    lack_ = Lack::kOther;
  }
  if (lack_ != Lack::kNone) {
    chosen = by_build_id(build_id);
    if (chosen.empty()) return;
    parts_->only_debug = true;
  }
  const Lack lack = lack_;
  lack_ = Lack::kNone;
  if (!open(chosen)) lack_ = lack == Lack::kNone ? Lack::kNotElf : lack;
}

DebugFile::~DebugFile() = default;

bool DebugFile::open(const std::string& path) {
  Parts& parts = *parts_;
  parts.callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  parts.callbacks.section_address = dwfl_offline_section_address;
  parts.dwfl = dwfl_begin(&parts.callbacks);
  if (parts.dwfl == nullptr) return false;
  dwfl_report_begin(parts.dwfl);
  parts.module = dwfl_report_elf(parts.dwfl, path.c_str(), path.c_str(), -1, 0, true);
  dwfl_report_end(parts.dwfl, nullptr, nullptr);
  if (parts.module == nullptr) return false;
  parts.read_symbols();
  parts.read_starts();
  Dwarf_Addr bias = 0;
  if (dwfl_module_getdwarf(parts.module, &bias) != nullptr) return true;
  GElf_Addr elf_bias = 0;
  Elf* elf = dwfl_module_getelf(parts.module, &elf_bias);
  bool has_symbols = false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_SYMTAB) {
      has_symbols = true;
    }
  }
  if (!has_symbols) lack_ = Lack::kStripped;
  return true;
}

std::vector<std::uint64_t> DebugFile::addresses_of(const std::vector<std::uint64_t>& offsets,
                                                   std::uint64_t segment) const {
  struct Part {
    std::uint64_t offset, size, address;
  };
  std::vector<Part> parts;
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(parts_->module, &bias);
  std::size_t count = 0;
  if (elf == nullptr || elf_getphdrnum(elf, &count) != 0) count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) {
      continue;
    }
    if (parts_->only_debug) {
      // A file of debug information has the addresses of the code, but offsets of its own.
      if ((header.p_flags & PF_X) == 0) continue;
      const std::uint64_t inside = header.p_vaddr & (header.p_align - 1);
      parts.push_back({segment, header.p_memsz + inside, header.p_vaddr - inside});
    } else {
      parts.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
    }
  }
  std::vector<std::uint64_t> result;
  for (const std::uint64_t offset : offsets) {
    std::uint64_t address = ~std::uint64_t{0};
    for (const Part& part : parts) {
      if (offset >= part.offset && offset - part.offset < part.size) {
        address = offset - part.offset + part.address + bias;
      }
    }
    result.push_back(address);
  }
  return result;
}

std::vector<Resolved> DebugFile::resolve(const std::vector<std::uint64_t>& offsets,
                                         std::uint64_t segment) {
  std::vector<Resolved> result(offsets.size());
  if (parts_->module == nullptr) return result;
  // In the order of addresses, which need not be that of the offsets.
  const std::vector<std::uint64_t> unordered = addresses_of(offsets, segment);
  std::vector<std::size_t> order(offsets.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return unordered[a] < unordered[b]; });
  std::vector<std::uint64_t> addresses;
  for (const std::size_t i : order) addresses.push_back(unordered[i]);
  std::vector<Resolved> found(offsets.size());

  Dwarf_Addr bias = 0;
  if (Dwarf* dwarf = dwfl_module_getdwarf(parts_->module, &bias); dwarf != nullptr) {
    std::vector<std::uint64_t> in_dwarf;
    for (const std::uint64_t address : addresses) in_dwarf.push_back(address - bias);
    DwarfWalk(in_dwarf, found).walk(dwarf);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    Resolved& each = found[i];
    const bool nameless = each.frames.empty() || each.frames.back().system_name.empty();
    if (const Symbol* symbol = nameless ? parts_->symbol_at(addresses[i]) : nullptr) {
      if (each.frames.empty()) {
        each.frames.emplace_back();
        each.known = Known::kSymbol;
      }
      SourceFrame& frame = each.frames.back();
      frame.system_name = symbol->name;
      // A symbol of C says no more than the DWARF, but may have a suffix (.constprop.0).
      if (frame.name.empty() || frame.system_name.rfind("_Z", 0) == 0) {
        frame.name = readable(symbol->name);
      }
    }
    if (each.frames.empty()) {
      if (const std::uint64_t start = parts_->start_of(addresses[i]); start != 0) {
        const std::uint64_t inside = addresses[i] - start, offset = offsets[order[i]];
        each.start = inside < offset ? offset - inside : 0;
      }
    }
    result[order[i]] = std::move(each);
  }
  return result;
}

}  // namespace corbel::cli
