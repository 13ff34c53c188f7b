// SPDX-License-Identifier: Apache-2.0
// The functions and lines of one ELF file, by address: from its DWARF, which may be in a file of
// its own, else from its symbol tables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace corbel::cli {

struct SourceFrame {
  std::string name;         // readable
  std::string system_name;  // as linked; empty when the file does not say it
  std::string file;         // of the code, not of the declaration; may be empty
  std::int64_t line = 0, start_line = 0;
};

// How well an address is known.
enum class Known { kNothing, kSymbol, kLines };

struct Resolved {
  std::vector<SourceFrame> frames;  // innermost first; all but the last are inlined
  Known known = Known::kNothing;
  // Where there are no frames: the offset in the file at which the function begins, from its unwind
  // table; 0 when that does not have it.
  std::uint64_t start = 0;
};

// Why a file has no names.
enum class Lack {
  kNone,
  kMissing,   // there is no such file
  kOther,     // the file is another build than the one that ran
  kNotElf,    // or cannot be read
  kStripped,  // it has no debug information, and no symbols or only those it exports
};

class DebugFile {
 public:
  // Opens `path` if its build id is `build_id`, else the file with that build id below
  // /usr/lib/debug, else what debuginfod has (only if DEBUGINFOD_URLS is set). An empty `build_id`
  // matches any file.
  DebugFile(const std::string& path, const std::string& build_id);
  ~DebugFile();
  DebugFile(const DebugFile&) = delete;
  DebugFile& operator=(const DebugFile&) = delete;

  Lack lack() const { return lack_; }

  // Resolves offsets in the file, which must be sorted and unique. The result has the same order.
  // `segment` is the offset at which the mapping begins that the offsets are in.
  std::vector<Resolved> resolve(const std::vector<std::uint64_t>& offsets, std::uint64_t segment);

 private:
  struct Parts;

  bool open(const std::string& path);
  std::vector<std::uint64_t> addresses_of(const std::vector<std::uint64_t>& offsets,
                                          std::uint64_t segment) const;

  std::unique_ptr<Parts> parts_;
  Lack lack_ = Lack::kNone;
};

// The readable form of a linked name.
std::string readable(const std::string& name);

}  // namespace corbel::cli
