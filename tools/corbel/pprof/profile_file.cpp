// SPDX-License-Identifier: Apache-2.0
// Files in pprof's format: reads, compresses, writes.
#include "pprof/profile_file.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace corbel::cli {
namespace {

// More than any profile has; a bomb of a few KiB may unpack to more memory than there is.
constexpr std::size_t kMaxSize = std::size_t{1} << 32;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

[[noreturn]] void fail(const std::string& text) { throw std::runtime_error(text); }

std::string read_file(const std::string& path) {
  struct stat info{};
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file || fstat(fileno(file.get()), &info) != 0) {
    fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) fail(fmt::format("cannot read {}: it is a directory", path));
  std::string content;
  char buffer[1 << 16];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0;) {
    content.append(buffer, got);
    if (content.size() > kMaxSize) fail(fmt::format("{} is too large for a profile", path));
  }
  if (std::ferror(file.get())) fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return content;
}

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // A file may have several members, one after the other.
  std::string unpack(const std::string& packed, const std::string& path) {
    std::string result;
    char buffer[1 << 16];
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    std::size_t rest = packed.size();
    for (int state = Z_OK;;) {
      // avail_in has 32 bits.
      const auto given = static_cast<uInt>(std::min<std::size_t>(rest, 1u << 30));
      stream_.avail_in = given;
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof(buffer);
      state = inflate(&stream_, Z_NO_FLUSH);
      rest -= given - stream_.avail_in;
      const std::size_t made = sizeof(buffer) - stream_.avail_out;
      result.append(buffer, made);
      if (result.size() > kMaxSize) fail(fmt::format("{} is too large for a profile", path));
      if (state == Z_STREAM_END) {
        if (rest == 0) return result;
        inflateReset(&stream_);
      } else if (state == Z_BUF_ERROR || (state == Z_OK && rest == 0 && made == 0)) {
        fail(
            fmt::format("{} is truncated: it ends in the middle (profile the program again; if "
                        "the disk was full, with TMPDIR or file= on another one)",
                        path));
      } else if (state != Z_OK) {
        fail(
            fmt::format("{} is damaged: its gzip data is wrong (profile the program again)", path));
      }
    }
  }

 private:
  z_stream stream_{};
};

std::string pack(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string result;
  char buffer[1 << 16];
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  std::size_t rest = content.size();
  for (int state = Z_OK; state != Z_STREAM_END;) {
    const auto given = static_cast<uInt>(std::min<std::size_t>(rest, 1u << 30));
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof(buffer);
    state = deflate(&stream, given == rest ? Z_FINISH : Z_NO_FLUSH);
    rest -= given - stream.avail_in;
    result.append(buffer, sizeof(buffer) - stream.avail_out);
  }
  deflateEnd(&stream);
  return result;
}

}  // namespace

Profile read_profile(const std::string& path) { return parse_profile(read_file(path), path); }

Profile parse_profile(std::string content, const std::string& path) {
  if (content.empty()) {
    fail(
        fmt::format("{} is empty (did the program end by _exit or by a signal before it wrote "
                    "its profile?)",
                    path));
  }
  if (content.rfind("\x1f\x8b", 0) == 0) content = Inflater().unpack(content, path);
  try {
    Profile profile = decode_profile(content);
    if (!profile.types.empty()) return profile;
  } catch (const std::runtime_error&) {
  }
  fail(
      fmt::format("{} is not a profile: a file in pprof's format (profile.proto) is expected, such "
                  "as 'corbel profile heap' writes",
                  path));
}

void write_profile(const Profile& profile, const std::string& path) {
  write_file(path, pack(encode_profile(profile)));
}

}  // namespace corbel::cli
