// SPDX-License-Identifier: Apache-2.0
// Finds the functions at many addresses in one walk over the DWARF of a file.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols/debug_file.hpp"

namespace corbel::cli {

// libdw's own look-ups take one address and walk over a compile unit for each. This visits each
// unit that has any of the addresses once.
class DwarfWalk {
 public:
  // `addresses` are sorted and as the DWARF has them. `result` has an element for each.
  DwarfWalk(const std::vector<std::uint64_t>& addresses, std::vector<Resolved>& result)
      : addresses_(addresses), result_(result), chains_(addresses.size()) {}

  void walk(Dwarf* dwarf);

 private:
  struct Name {
    std::string name, system_name, file;
    std::int64_t line = 0;
  };
  // One function of a chain: the outermost first, then what is inlined into it.
  struct Link {
    const Name* name;
    std::string call_file;
    std::int64_t call_line;
  };

  template <typename Visit>
  void each_address(Dwarf_Die* die, Visit&& visit) const;
  bool has_address(Dwarf_Die* die) const;
  void walk_unit(Dwarf_Die* lines, Dwarf_Die* tree);
  void visit(Dwarf_Die* die, bool in_function);
  void visit_children(Dwarf_Die* die, bool in_function);
  void finish(std::size_t index, Dwarf_Die* lines);
  const Name* name_of(Dwarf_Die* die);
  // "a::B::name", for a function whose linked name is not recorded, such as a lambda's.
  std::string qualified(Dwarf_Die* die, const std::string& name);

  const std::vector<std::uint64_t>& addresses_;
  std::vector<Resolved>& result_;
  std::vector<std::vector<Link>> chains_;
  std::unordered_map<const void*, Name> names_;  // by the place of the entry
  Dwarf_Files* files_ = nullptr;                 // of the unit
  std::size_t file_count_ = 0;
};

}  // namespace corbel::cli
