// SPDX-License-Identifier: Apache-2.0
// A small reader of executables and DLLs: what a file is, imports and exports. It knows the format
// itself ("PE Format" in Microsoft's documentation) and believes no offset of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corbel::cli {

struct PeImport {
  struct Function {
    std::string name;
    std::uint32_t slot = 0;  // where in the image the loader puts its address
  };
  std::string dll;                  // as the file spells it
  std::vector<Function> functions;  // without those that are imported by number
  bool delayed = false;             // loaded at the first call
};

struct PeExport {
  std::string name;
  std::uint32_t offset = 0;  // from the start of the image
  std::string forwarder;     // "dll.name" where another DLL has the function; else empty
};

struct PeImage {
  std::uint16_t machine = 0;
  bool is_dll = false;
  bool is_managed = false;       // it has code for .NET
  bool is_only_managed = false;  // and no other
  bool has_corbel = false;       // it contains Corbel's replacement of malloc
  bool is_complete = true;       // all that its header refers to is in the file
  std::uint32_t entry = 0;       // offset of the first instruction; 0: none
  std::uint32_t ordinal = 0;  // the lowest number by which a function is exported; 0: there is none
  std::vector<PeImport> imports;
  std::vector<PeExport> exports;

  bool exports_name(std::string_view name) const;
};

inline constexpr std::uint16_t kMachineX64 = 0x8664;

// nullopt when it is no executable. Of others than 64-bit x86 it tells no imports and exports.
std::optional<PeImage> parse_pe_image(std::string_view bytes);
// Of a file; nullopt, too, when there is none.
std::optional<PeImage> read_pe_image(const std::string& path);

// "64-bit x86", "32-bit x86", …
std::string machine_name(std::uint16_t machine);

}  // namespace corbel::cli
