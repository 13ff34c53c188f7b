// SPDX-License-Identifier: Apache-2.0
// The reader of executables, on files that are cut short or damaged: it returns promptly, and reads
// nothing but the file.
#include "program/windows/pe_image.hpp"

#include <gtest/gtest.h>
#ifndef NOMINMAX  // libstdc++ has done so
#define NOMINMAX
#endif
#include <windows.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace corbel::cli {
namespace {

constexpr std::size_t kPage = 4096;

// Bytes that end where memory cannot be read any more.
class Guarded {
 public:
  explicit Guarded(std::size_t most) : room_((most + kPage - 1) / kPage * kPage) {
    start_ = static_cast<char*>(
        VirtualAlloc(nullptr, room_ + kPage, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
    DWORD before;
    VirtualProtect(start_ + room_, kPage, PAGE_NOACCESS, &before);
  }
  ~Guarded() { VirtualFree(start_, 0, MEM_RELEASE); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::string_view hold(const char* bytes, std::size_t size) const {
    char* const at = start_ + room_ - size;
    std::memcpy(at, bytes, size);
    return {at, size};
  }

 private:
  std::size_t room_;
  char* start_;
};

std::string file(const char* name) {
  std::ifstream stream(std::string(std::getenv("CORBEL_BIN_DIR")) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// One that exports, and one that imports.
constexpr const char* kFiles[] = {"msvcr0_odd_free.dll", "odd_user_free.dll"};

IMAGE_NT_HEADERS64* header_of(std::string& bytes) {
  const auto* const dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(bytes.data());
  return reinterpret_cast<IMAGE_NT_HEADERS64*>(bytes.data() + dos->e_lfanew);
}

char* place_of(std::string& bytes, DWORD offset) {
  IMAGE_NT_HEADERS64* const header = header_of(bytes);
  IMAGE_SECTION_HEADER* section = IMAGE_FIRST_SECTION(header);
  while (offset - section->VirtualAddress >= section->SizeOfRawData) ++section;
  return bytes.data() + section->PointerToRawData + (offset - section->VirtualAddress);
}

TEST(PeImageTest, Whole) {
  const auto exporting = parse_pe_image(file(kFiles[0]));
  ASSERT_TRUE(exporting);
  EXPECT_TRUE(exporting->is_complete && exporting->is_dll && !exporting->is_managed);
  EXPECT_EQ(exporting->machine, kMachineX64);
  EXPECT_GE(exporting->exports.size(), 10U);
  const auto importing = parse_pe_image(file(kFiles[1]));
  ASSERT_TRUE(importing);
  ASSERT_EQ(importing->imports.size(), 1U);
  EXPECT_EQ(importing->imports[0].functions.size(), 4U);
}

TEST(PeImageTest, CutAtEachLength) {
  for (const char* name : kFiles) {
    const std::string bytes = file(name);
    std::string whole = bytes;
    std::size_t end = 0;  // of the last section
    const IMAGE_NT_HEADERS64* const header = header_of(whole);
    const IMAGE_SECTION_HEADER* const sections = IMAGE_FIRST_SECTION(header_of(whole));
    for (unsigned i = 0; i < header->FileHeader.NumberOfSections; ++i) {
      end = std::max<std::size_t>(end, sections[i].PointerToRawData + sections[i].SizeOfRawData);
    }
    const Guarded guarded(bytes.size());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto image = parse_pe_image(guarded.hold(bytes.data(), size));
      EXPECT_TRUE(!image || image->is_complete == (size >= end)) << name << " " << size;
    }
  }
}

TEST(PeImageTest, DamagedAtRandom) {
  std::mt19937 random(1);
  for (const char* name : kFiles) {
    const std::string bytes = file(name);
    const Guarded guarded(bytes.size());
    for (int round = 0; round < 20000; ++round) {
      std::string damaged = bytes;
      const unsigned changes = 1 + random() % 8;
      // Mostly in the headers.
      const std::size_t most = random() % 4 != 0 ? 1024 : damaged.size();
      for (unsigned i = 0; i < changes; ++i) {
        damaged[random() % most] = random() % 2 != 0 ? char(random()) : char(0xff);
      }
      const std::size_t size = random() % 2 != 0 ? damaged.size() : random() % damaged.size();
      parse_pe_image(guarded.hold(damaged.data(), size));
    }
  }
}

// A table of imports of 400,000 DLLs, each of which has a million functions, since all use the
// table itself as their lists.
TEST(PeImageTest, TablesThatOverlap) {
  std::string bytes = file(kFiles[1]);
  IMAGE_NT_HEADERS64* const header = header_of(bytes);
  IMAGE_SECTION_HEADER* const section = IMAGE_FIRST_SECTION(header);
  header->FileHeader.NumberOfSections = 1;
  const DWORD start = section->VirtualAddress;
  header->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT] = {start, 20};
  std::vector<DWORD> words(std::size_t{2} << 20, start);
  section->PointerToRawData = DWORD(bytes.size());
  section->SizeOfRawData = section->Misc.VirtualSize = DWORD(words.size() * sizeof words[0]);
  bytes.append(reinterpret_cast<const char*>(words.data()), section->SizeOfRawData);
  const auto image = parse_pe_image(bytes);
  ASSERT_TRUE(image);
  std::size_t functions = 0;
  for (const PeImport& import : image->imports) functions += import.functions.size();
  EXPECT_LT(functions, words.size());
}

TEST(PeImageTest, ProgramsForDotNet) {
  for (const bool is_only : {true, false}) {
    std::string bytes = file(kFiles[0]);
    const DWORD offset =
        header_of(bytes)->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT].VirtualAddress;
    IMAGE_COR20_HEADER managed{};
    managed.cb = sizeof managed;
    managed.Flags = is_only ? COMIMAGE_FLAGS_ILONLY : 0;
    std::memcpy(place_of(bytes, offset), &managed, sizeof managed);
    auto& directories = header_of(bytes)->OptionalHeader.DataDirectory;
    directories[IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR] = {offset, sizeof managed};
    const auto image = parse_pe_image(bytes);
    ASSERT_TRUE(image);
    EXPECT_TRUE(image->is_managed);
    EXPECT_EQ(image->is_only_managed, is_only);
  }
}

}  // namespace
}  // namespace corbel::cli
