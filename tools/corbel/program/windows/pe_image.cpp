// SPDX-License-Identifier: Apache-2.0
#include "program/windows/pe_image.hpp"

#include <windows.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace {

// A file in memory, unmapped at the end.
class Content {
 public:
  explicit Content(const std::string& path) {
    const HANDLE file = CreateFileW(wide(path).c_str(), GENERIC_READ,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, 0, nullptr);
    if (file == INVALID_HANDLE_VALUE) return;
    LARGE_INTEGER size{};
    if (GetFileSizeEx(file, &size) != 0 && size.QuadPart > 0) {
      if (const HANDLE map = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr)) {
        view_ = static_cast<const char*>(MapViewOfFile(map, FILE_MAP_READ, 0, 0, 0));
        if (view_ != nullptr) size_ = static_cast<std::size_t>(size.QuadPart);
        CloseHandle(map);
      }
    }
    CloseHandle(file);
  }
  ~Content() {
    if (view_ != nullptr) UnmapViewOfFile(view_);
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  std::string_view bytes() const { return {view_, size_}; }

 private:
  const char* view_ = nullptr;
  std::size_t size_ = 0;
};

template <typename T>
std::optional<T> value_at(std::string_view bytes, std::uint64_t at) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::optional<PeImage> read() {
    const auto dos = value_at<IMAGE_DOS_HEADER>(bytes_, 0);
    if (!dos || dos->e_magic != IMAGE_DOS_SIGNATURE || dos->e_lfanew < 0) return std::nullopt;
    const auto at = static_cast<std::uint64_t>(dos->e_lfanew);
    if (value_at<DWORD>(bytes_, at) != DWORD{IMAGE_NT_SIGNATURE}) return std::nullopt;
    const auto file = value_at<IMAGE_FILE_HEADER>(bytes_, at + 4);
    if (!file) return std::nullopt;
    image_.machine = file->Machine;
    image_.is_dll = (file->Characteristics & IMAGE_FILE_DLL) != 0;
    const std::uint64_t optional_at = at + 4 + sizeof *file;
    read_sections(optional_at + file->SizeOfOptionalHeader, file->NumberOfSections);
    const auto magic = value_at<WORD>(bytes_, optional_at);
    if (magic == WORD{IMAGE_NT_OPTIONAL_HDR64_MAGIC}) {
      if (const auto header = header_at<IMAGE_OPTIONAL_HEADER64>(optional_at)) {
        image_.entry = header->AddressOfEntryPoint;
        read_managed(directory(*header, IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR));
        read_imports(directory(*header, IMAGE_DIRECTORY_ENTRY_IMPORT).VirtualAddress);
        read_delayed(directory(*header, IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT).VirtualAddress);
        read_exports(directory(*header, IMAGE_DIRECTORY_ENTRY_EXPORT));
      }
    } else if (magic == WORD{IMAGE_NT_OPTIONAL_HDR32_MAGIC}) {
      // Programs for .NET alone have this header, too, if they run on any processor.
      if (const auto header = header_at<IMAGE_OPTIONAL_HEADER32>(optional_at)) {
        read_managed(directory(*header, IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR));
      }
    } else {
      image_.is_complete = false;
    }
    return image_;
  }

 private:
  // No file has more; a damaged one may have tables without an end, and texts that overlap.
  static constexpr std::uint32_t kMost = 200000;  // entries of all tables
  static constexpr std::size_t kMostText = 64 << 20;
  static constexpr unsigned kMostSections = 96;  // for which Windows has room

  // The rest of a table is left out when there are too many entries.
  bool may_go_on() { return entries_++ < kMost; }

  void read_sections(std::uint64_t at, unsigned count) {
    for (unsigned i = 0; i < std::min(count, kMostSections); ++i, at += sizeof sections_[0]) {
      const auto section = value_at<IMAGE_SECTION_HEADER>(bytes_, at);
      if (!section) {
        image_.is_complete = false;
        return;
      }
      const std::uint64_t start = section->PointerToRawData;
      if (start != 0 && start + section->SizeOfRawData > bytes_.size()) image_.is_complete = false;
      constexpr char kMark[IMAGE_SIZEOF_SHORT_NAME] = ".corbel";
      if (std::memcmp(section->Name, kMark, sizeof kMark) == 0) image_.has_corbel = true;
      sections_.push_back(*section);
    }
  }

  template <typename Header>
  std::optional<Header> header_at(std::uint64_t at) {
    const auto header = value_at<Header>(bytes_, at);
    if (!header) image_.is_complete = false;
    return header;
  }

  template <typename Header>
  static IMAGE_DATA_DIRECTORY directory(const Header& header, unsigned number) {
    return number < header.NumberOfRvaAndSizes ? header.DataDirectory[number]
                                               : IMAGE_DATA_DIRECTORY{};
  }

  void read_managed(const IMAGE_DATA_DIRECTORY& directory) {
    image_.is_managed = directory.VirtualAddress != 0;
    if (!image_.is_managed) return;
    const auto header = get<IMAGE_COR20_HEADER>(directory.VirtualAddress);
    image_.is_only_managed = header && (header->Flags & COMIMAGE_FLAGS_ILONLY) != 0;
  }

  // Where the byte at `offset` of the image is in the file; past its end when it is not there.
  std::uint64_t place_of(std::uint64_t offset) const {
    for (const IMAGE_SECTION_HEADER& each : sections_) {
      if (offset >= each.VirtualAddress && offset - each.VirtualAddress < each.SizeOfRawData) {
        return offset - each.VirtualAddress + each.PointerToRawData;
      }
    }
    return bytes_.size();
  }

  template <typename T>
  std::optional<T> get(std::uint64_t offset) const {
    return value_at<T>(bytes_, place_of(offset));
  }

  std::string text(std::uint64_t offset) {
    const std::uint64_t place = place_of(offset);
    if (place >= bytes_.size() || text_size_ > kMostText) return {};
    const std::string_view rest = bytes_.substr(place).substr(0, 4096);
    const std::string_view found = rest.substr(0, rest.find('\0'));
    text_size_ += found.size();
    return std::string(found);
  }

  void read_functions(PeImport& import, std::uint32_t names, std::uint32_t slots) {
    for (std::uint32_t i = 0; may_go_on(); ++i) {
      const auto entry = get<std::uint64_t>(names + std::uint64_t{i} * 8);
      if (!entry || *entry == 0) return;
      if ((*entry & IMAGE_ORDINAL_FLAG64) != 0) continue;
      import.functions.push_back({text(*entry + 2), slots + i * 8});
    }
  }

  void read_imports(std::uint64_t offset) {
    if (offset == 0) return;
    for (; may_go_on(); offset += sizeof(IMAGE_IMPORT_DESCRIPTOR)) {
      const auto each = get<IMAGE_IMPORT_DESCRIPTOR>(offset);
      if (!each || each->Name == 0) return;
      PeImport import;
      import.dll = text(each->Name);
      read_functions(import,
                     each->OriginalFirstThunk != 0 ? each->OriginalFirstThunk : each->FirstThunk,
                     each->FirstThunk);
      image_.imports.push_back(std::move(import));
    }
  }

  void read_delayed(std::uint64_t offset) {
    if (offset == 0) return;
    for (; may_go_on(); offset += sizeof(IMAGE_DELAYLOAD_DESCRIPTOR)) {
      const auto each = get<IMAGE_DELAYLOAD_DESCRIPTOR>(offset);
      if (!each || each->DllNameRVA == 0) return;
      PeImport import;
      import.dll = text(each->DllNameRVA);
      import.delayed = true;
      read_functions(import, each->ImportNameTableRVA, each->ImportAddressTableRVA);
      image_.imports.push_back(std::move(import));
    }
  }

  void read_exports(const IMAGE_DATA_DIRECTORY& directory) {
    if (directory.VirtualAddress == 0) return;
    const auto table = get<IMAGE_EXPORT_DIRECTORY>(directory.VirtualAddress);
    if (!table) return;
    for (std::uint32_t i = 0; i < table->NumberOfFunctions && may_go_on(); ++i) {
      const auto offset = get<DWORD>(std::uint64_t{table->AddressOfFunctions} + 4 * i);
      if (!offset || *offset == 0) continue;
      image_.ordinal = table->Base + i;
      break;
    }
    for (std::uint32_t i = 0; i < table->NumberOfNames && may_go_on(); ++i) {
      const auto name = get<DWORD>(std::uint64_t{table->AddressOfNames} + 4 * i);
      const auto number = get<WORD>(std::uint64_t{table->AddressOfNameOrdinals} + 2 * i);
      if (!name || !number) return;
      const auto offset = get<DWORD>(std::uint64_t{table->AddressOfFunctions} + 4 * *number);
      if (!offset) return;
      PeExport made{text(*name), *offset, {}};
      // A function "in" the table itself is a text that says where the function really is.
      if (*offset >= directory.VirtualAddress &&
          *offset - directory.VirtualAddress < directory.Size) {
        made.forwarder = text(*offset);
      }
      image_.exports.push_back(std::move(made));
    }
  }

  std::string_view bytes_;
  std::uint32_t entries_ = 0;
  std::size_t text_size_ = 0;
  std::vector<IMAGE_SECTION_HEADER> sections_;
  PeImage image_;
};

}  // namespace

bool PeImage::exports_name(std::string_view name) const {
  return std::any_of(exports.begin(), exports.end(),
                     [&](const PeExport& each) { return each.name == name; });
}

std::optional<PeImage> parse_pe_image(std::string_view bytes) { return Reader(bytes).read(); }

std::optional<PeImage> read_pe_image(const std::string& path) {
  const Content content(path);
  return parse_pe_image(content.bytes());
}

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case kMachineX64:
      return "64-bit x86";
    case 0x14c:
      return "32-bit x86";
    case 0xaa64:
      return "64-bit ARM";
    default:
      return "machine " + std::to_string(machine);
  }
}

}  // namespace corbel::cli
