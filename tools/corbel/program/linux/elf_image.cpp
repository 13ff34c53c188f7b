// SPDX-License-Identifier: Apache-2.0
// The ELF reader. The file may be damaged, so the Memory checks every offset that is read through
// it, and every walk is bounded.
#include "program/elf_image.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace corbel::cli {
namespace {

constexpr std::uint32_t kMaxWalk = 1u << 24;

// A whole file, mapped.
class FileBytes {
 public:
  explicit FileBytes(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info{};
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      void* map =
          mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (map != MAP_FAILED) {
        data_ = static_cast<const char*>(map);
        size_ = static_cast<std::size_t>(info.st_size);
      }
    }
    close(fd);
  }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }
  std::string_view bytes() const { return {data_, size_}; }

  template <typename T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > size_ || size_ - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, data_ + offset, sizeof(T));
    return value;
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

std::vector<Elf64_Phdr> program_headers(const FileBytes& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> list;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto entry = file.at<Elf64_Phdr>(header.e_phoff + std::uint64_t{i} * header.e_phentsize);
    if (!entry) break;
    list.push_back(*entry);
  }
  return list;
}

// A file, addressed through its loadable segments at bias 0.
class FileMemory final : public Memory {
 public:
  explicit FileMemory(const std::string& path) : file_(path) {
    const auto header = file_.at<Elf64_Ehdr>(0);
    if (!header) return;
    for (const Elf64_Phdr& segment : program_headers(file_, *header)) {
      if (segment.p_type == PT_LOAD) loads_.push_back(segment);
      if (segment.p_type == PT_DYNAMIC) dynamic_ = segment.p_vaddr;
    }
  }
  std::uint64_t dynamic() const { return dynamic_; }
  bool read(std::uint64_t address, void* to, std::size_t size) const override {
    for (const Elf64_Phdr& load : loads_) {
      if (address < load.p_vaddr || address - load.p_vaddr > load.p_filesz ||
          load.p_filesz - (address - load.p_vaddr) < size) {
        continue;
      }
      const std::uint64_t offset = load.p_offset + (address - load.p_vaddr);
      const std::string_view bytes = file_.bytes();
      if (offset > bytes.size() || bytes.size() - offset < size) return false;
      std::memcpy(to, bytes.data() + offset, size);
      return true;
    }
    return false;
  }

 private:
  FileBytes file_;
  std::vector<Elf64_Phdr> loads_;
  std::uint64_t dynamic_ = 0;
};

bool is_slot(std::uint32_t type) {
#if defined(__aarch64__)
  return type == R_AARCH64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT;
#else
  return type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT;
#endif
}

std::uint32_t gnu_hash_of(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

std::uint32_t sysv_hash_of(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf0000000u;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

}  // namespace

std::string Memory::string_at(std::uint64_t address) const {
  std::string text;
  while (text.size() < 4096) {
    const auto c = get<char>(address + text.size());
    if (!c || *c == '\0') break;
    text.push_back(*c);
  }
  return text;
}

const ProcessMemory::Page* ProcessMemory::page_at(std::uint64_t number) const {
  if (const auto found = pages_.find(number); found != pages_.end()) return found->second.get();
  auto page = std::make_unique<Page>();
  if (!read_now(number * kPage, page->bytes, kPage)) page = nullptr;
  if (pages_.size() >= kMostPages) pages_.clear();
  return (pages_[number] = std::move(page)).get();
}

bool ProcessMemory::read(std::uint64_t address, void* to, std::size_t size) const {
  if (size > kPage) return read_now(address, to, size);
  char* out = static_cast<char*>(to);
  while (size > 0) {
    const std::size_t within = address % kPage;
    const std::size_t part = std::min(size, kPage - within);
    const Page* page = page_at(address / kPage);
    if (page == nullptr) return false;
    std::memcpy(out, page->bytes + within, part);
    address += part;
    out += part;
    size -= part;
  }
  return true;
}

bool ProcessMemory::read_now(std::uint64_t address, void* to, std::size_t size) const {
  iovec local{to, size};
  iovec remote{reinterpret_cast<void*>(address), size};
  return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

std::optional<ElfFacts> read_elf_facts(const std::string& path) {
  const FileBytes file(path);
  const std::string_view bytes = file.bytes();
  if (bytes.size() < EI_NIDENT + 4 || bytes.substr(0, SELFMAG) != ELFMAG) return std::nullopt;
  ElfFacts facts;
  facts.bits = bytes[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  facts.little_endian = bytes[EI_DATA] == ELFDATA2LSB;
  // Type and machine have the same offsets in both classes, and the byte order of the file.
  const auto half = [&](std::size_t at) {
    const auto a = static_cast<unsigned char>(bytes[at]);
    const auto b = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<std::uint16_t>(facts.little_endian ? a | b << 8 : b | a << 8);
  };
  facts.type = half(16);
  facts.machine = half(18);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (facts.bits != 64 || !facts.little_endian || !header) return facts;
  const auto segments = program_headers(file, *header);
  facts.is_truncated = segments.size() < header->e_phnum;
  for (const Elf64_Phdr& segment : segments) {
    const bool is_whole =
        segment.p_offset <= bytes.size() && bytes.size() - segment.p_offset >= segment.p_filesz;
    if (segment.p_type == PT_LOAD && !is_whole) facts.is_truncated = true;
    if (segment.p_type == PT_DYNAMIC) facts.has_dynamic = true;
    if (segment.p_type == PT_INTERP && segment.p_offset < bytes.size()) {
      const std::string_view text = bytes.substr(segment.p_offset, segment.p_filesz);
      facts.interpreter = std::string(text.substr(0, text.find('\0')));
    }
  }
  return facts;
}

std::string machine_name(std::uint16_t machine, int bits) {
  switch (machine) {
    case EM_X86_64:
      return bits == 32 ? "x32" : "x86-64";
    case EM_386:
      return "i386 (32-bit)";
    case EM_AARCH64:
      return "aarch64";
    case EM_ARM:
      return "arm (32-bit)";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390";
    default:
      return "machine " + std::to_string(machine);
  }
}

std::optional<DynamicImage> DynamicImage::from_file(const std::string& path) {
  const auto facts = read_elf_facts(path);
  if (!facts || facts->bits != 64 || !facts->little_endian) return std::nullopt;
  auto memory = std::make_shared<FileMemory>(path);
  const std::uint64_t dynamic = memory->dynamic();
  if (dynamic == 0) return std::nullopt;
  DynamicImage image;
  image.memory_ = std::move(memory);
  if (!image.load(dynamic)) return std::nullopt;
  return image;
}

std::optional<DynamicImage> DynamicImage::from_memory(std::shared_ptr<const Memory> memory,
                                                      std::uint64_t bias, std::uint64_t dynamic) {
  DynamicImage image;
  image.memory_ = std::move(memory);
  image.bias_ = bias;
  image.in_file_ = false;
  if (!image.load(dynamic)) return std::nullopt;
  return image;
}

// glibc's loader makes the pointers of a writable dynamic section absolute and leaves those of a
// read-only one (the vdso's) relative. This accepts both forms.
std::uint64_t DynamicImage::address(std::uint64_t pointer) const {
  if (in_file_ || pointer == 0) return pointer;
  return pointer < bias_ ? pointer + bias_ : pointer;
}

bool DynamicImage::load(std::uint64_t dynamic) {
  std::vector<std::uint64_t> needed;
  std::uint64_t soname = 0;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    const auto entry = memory_->get<Elf64_Dyn>(dynamic + i * sizeof(Elf64_Dyn));
    if (!entry) return false;
    if (entry->d_tag == DT_NULL) break;
    const std::uint64_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
      case DT_NEEDED:
        needed.push_back(value);
        break;
      case DT_SONAME:
        soname = value;
        break;
      case DT_SYMTAB:
        symbols_ = address(value);
        break;
      case DT_STRTAB:
        strings_ = address(value);
        break;
      case DT_GNU_HASH:
        gnu_hash_ = address(value);
        break;
      case DT_HASH:
        sysv_hash_ = address(value);
        break;
      case DT_VERSYM:
        versions_ = address(value);
        break;
      case DT_VERDEF:
        version_definitions_ = address(value);
        break;
      case DT_JMPREL:
        plt_relocations_ = address(value);
        break;
      case DT_PLTRELSZ:
        plt_size_ = value;
        break;
      case DT_RELA:
        relocations_ = address(value);
        break;
      case DT_RELASZ:
        relocations_size_ = value;
        break;
      default:
        break;
    }
  }
  if (symbols_ == 0 || strings_ == 0) return false;
  for (const std::uint64_t offset : needed)
    needed_.push_back(memory_->string_at(strings_ + offset));
  if (soname != 0) soname_ = memory_->string_at(strings_ + soname);
  return true;
}

bool DynamicImage::defines(std::uint32_t index, std::string_view name) const {
  const auto symbol = memory_->get<Elf64_Sym>(symbols_ + std::uint64_t{index} * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF) return false;
  const unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
  const unsigned binding = ELF64_ST_BIND(symbol->st_info);
  if (visibility == STV_HIDDEN || visibility == STV_INTERNAL || binding == STB_LOCAL) return false;
  std::string text(name.size() + 1, '\0');
  return memory_->read(strings_ + symbol->st_name, text.data(), text.size()) &&
         text.back() == '\0' && std::string_view(text).substr(0, name.size()) == name;
}

std::optional<std::uint32_t> DynamicImage::find_gnu(std::string_view name) const {
  const auto buckets = memory_->get<std::uint32_t>(gnu_hash_);
  const auto first = memory_->get<std::uint32_t>(gnu_hash_ + 4);
  const auto bloom = memory_->get<std::uint32_t>(gnu_hash_ + 8);
  if (!buckets || !first || !bloom || *buckets == 0) return std::nullopt;
  const std::uint64_t bucket_table = gnu_hash_ + 16 + std::uint64_t{*bloom} * 8;
  const std::uint64_t chains = bucket_table + std::uint64_t{*buckets} * 4;
  const std::uint32_t hash = gnu_hash_of(name);
  const auto start = memory_->get<std::uint32_t>(bucket_table + std::uint64_t{hash % *buckets} * 4);
  if (!start || *start < *first) return std::nullopt;
  for (std::uint32_t index = *start; index - *start < kMaxWalk; ++index) {
    const auto chained = memory_->get<std::uint32_t>(chains + (std::uint64_t{index} - *first) * 4);
    if (!chained) return std::nullopt;
    if (((*chained ^ hash) >> 1) == 0 && defines(index, name)) return index;
    if ((*chained & 1) != 0) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> DynamicImage::find_sysv(std::string_view name) const {
  const auto buckets = memory_->get<std::uint32_t>(sysv_hash_);
  if (!buckets || *buckets == 0) return std::nullopt;
  const std::uint64_t table = sysv_hash_ + 8;
  const std::uint64_t chains = table + std::uint64_t{*buckets} * 4;
  auto index =
      memory_->get<std::uint32_t>(table + std::uint64_t{sysv_hash_of(name) % *buckets} * 4);
  for (std::uint32_t steps = 0; index && *index != 0 && steps < kMaxWalk; ++steps) {
    if (defines(*index, name)) return *index;
    index = memory_->get<std::uint32_t>(chains + std::uint64_t{*index} * 4);
  }
  return std::nullopt;
}

std::optional<ExportedSymbol> DynamicImage::find(std::string_view name) const {
  const auto index = gnu_hash_ != 0    ? find_gnu(name)
                     : sysv_hash_ != 0 ? find_sysv(name)
                                       : std::nullopt;
  if (!index) return std::nullopt;
  const auto symbol = memory_->get<Elf64_Sym>(symbols_ + std::uint64_t{*index} * sizeof(Elf64_Sym));
  if (!symbol) return std::nullopt;
  return ExportedSymbol{symbol->st_value + bias_, version_of(*index)};
}

std::string DynamicImage::version_of(std::uint32_t symbol_index) const {
  if (versions_ == 0 || version_definitions_ == 0) return {};
  const auto raw = memory_->get<std::uint16_t>(versions_ + std::uint64_t{symbol_index} * 2);
  if (!raw || (*raw & 0x7fff) <= VER_NDX_GLOBAL) return {};
  std::uint64_t at = version_definitions_;
  for (int i = 0; i < 4096; ++i) {
    const auto node = memory_->get<Elf64_Verdef>(at);
    if (!node) return {};
    if (node->vd_ndx == (*raw & 0x7fff)) {
      const auto text = memory_->get<Elf64_Verdaux>(at + node->vd_aux);
      return text ? memory_->string_at(strings_ + text->vda_name) : std::string();
    }
    if (node->vd_next == 0) return {};
    at += node->vd_next;
  }
  return {};
}

void DynamicImage::for_each_relocation(
    const std::function<void(std::uint32_t, const std::string&, std::uint64_t, bool)>& visit)
    const {
  const auto walk = [&](std::uint64_t table, std::uint64_t size) {
    size = std::min<std::uint64_t>(size, kMaxWalk * sizeof(Elf64_Rela));
    std::vector<Elf64_Rela> entries(size / sizeof(Elf64_Rela));
    if (entries.empty() ||
        !memory_->read(table, entries.data(), entries.size() * sizeof(Elf64_Rela))) {
      return;
    }
    for (const Elf64_Rela& entry : entries) {
      if (ELF64_R_SYM(entry.r_info) == 0) continue;
      const auto symbol =
          memory_->get<Elf64_Sym>(symbols_ + ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym));
      if (!symbol || symbol->st_name == 0) continue;
      visit(static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info)),
            memory_->string_at(strings_ + symbol->st_name), bias_ + entry.r_offset,
            symbol->st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL);
    }
  };
  walk(plt_relocations_, plt_size_);
  walk(relocations_, relocations_size_);
}

void DynamicImage::for_each_slot(
    const std::function<void(const std::string&, std::uint64_t)>& visit) const {
  for_each_relocation([&](std::uint32_t type, const std::string& name, std::uint64_t place, bool) {
    if (is_slot(type)) visit(name, place);
  });
}

void DynamicImage::for_each_import(const std::function<void(const std::string&)>& visit) const {
  for_each_relocation([&](std::uint32_t, const std::string& name, std::uint64_t, bool import) {
    if (import) visit(name);
  });
}

bool has_private_definition(const std::string& path, std::string_view name) {
  const FileBytes file(path);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || file.bytes().substr(0, SELFMAG) != ELFMAG ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return false;
  }
  const auto section = [&](std::uint64_t index) {
    return file.at<Elf64_Shdr>(header->e_shoff + index * header->e_shentsize);
  };
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto table = section(i);
    if (!table || table->sh_type != SHT_SYMTAB) continue;
    const auto strings = section(table->sh_link);
    if (!strings || strings->sh_offset > file.bytes().size()) return false;
    const std::string_view text = file.bytes().substr(strings->sh_offset, strings->sh_size);
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = file.at<Elf64_Sym>(table->sh_offset + at);
      if (!symbol) break;
      if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= text.size() ||
          ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) {
        continue;
      }
      const std::string_view rest = text.substr(symbol->st_name);
      if (rest.substr(0, rest.find('\0')) == name) return true;
    }
  }
  return false;
}

bool file_contains(const std::string& path, std::string_view text) {
  const FileBytes file(path);
  return !file.bytes().empty() &&
         memmem(file.bytes().data(), file.bytes().size(), text.data(), text.size()) != nullptr;
}

std::string file_text_after(const std::string& path, std::string_view text) {
  const FileBytes file(path);
  const std::size_t found = file.bytes().find(text);
  if (found == std::string_view::npos) return {};
  const std::string_view rest = file.bytes().substr(found + text.size(), 4096);
  return std::string(rest.substr(0, rest.find_first_of(std::string_view("\n\0", 2))));
}

}  // namespace corbel::cli
