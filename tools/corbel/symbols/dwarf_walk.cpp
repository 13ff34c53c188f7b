// SPDX-License-Identifier: Apache-2.0
// Finds the functions at many addresses in one walk over the DWARF of a file.
#include "symbols/dwarf_walk.hpp"

#include <dwarf.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace corbel::cli {
namespace {

std::string tidy(const char* path) {
  return path == nullptr ? std::string() : std::filesystem::path(path).lexically_normal().string();
}

const char* text_of(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

std::uint64_t number_of(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return 0;
  return value;
}

// The entry that has the scopes around it: an inlined or an out-of-line instance refers to the
// abstract one, and that to its declaration in the class.
Dwarf_Die declaration_of(Dwarf_Die die) {
  for (int depth = 0; depth < 8; ++depth) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (dwarf_formref_die(dwarf_attr(&die, DW_AT_abstract_origin, &attribute), &next) == nullptr &&
        dwarf_formref_die(dwarf_attr(&die, DW_AT_specification, &attribute), &next) == nullptr) {
      break;
    }
    die = next;
  }
  return die;
}

}  // namespace

template <typename Visit>
void DwarfWalk::each_address(Dwarf_Die* die, Visit&& visit) const {
  Dwarf_Addr base = 0, low = 0, high = 0;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
    auto found = std::lower_bound(addresses_.begin(), addresses_.end(), low);
    for (; found != addresses_.end() && *found < high; ++found) {
      visit(static_cast<std::size_t>(found - addresses_.begin()));
    }
  }
}

bool DwarfWalk::has_address(Dwarf_Die* die) const {
  bool any = false;
  each_address(die, [&](std::size_t) { any = true; });
  return any;
}

void DwarfWalk::walk(Dwarf* dwarf) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die, split;
  std::uint8_t type = 0;
  Dwarf_Half version = 0;
  while (dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, &split) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    if (!has_address(&die)) continue;
    walk_unit(&die, type == DW_UT_skeleton && split.addr != nullptr ? &split : &die);
  }
}

void DwarfWalk::walk_unit(Dwarf_Die* lines, Dwarf_Die* tree) {
  files_ = nullptr;
  if (dwarf_getsrcfiles(tree, &files_, &file_count_) != 0) files_ = nullptr;
  visit_children(tree, false);
  each_address(lines, [&](std::size_t index) { finish(index, lines); });
}

void DwarfWalk::visit_children(Dwarf_Die* die, bool in_function) {
  Dwarf_Die child;
  if (dwarf_child(die, &child) != 0) return;
  do {
    visit(&child, in_function);
  } while (dwarf_siblingof(&child, &child) == 0);
}

void DwarfWalk::visit(Dwarf_Die* die, bool in_function) {
  switch (dwarf_tag(die)) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      if (dwarf_haschildren(die) == 1) visit_children(die, false);
      return;
    case DW_TAG_lexical_block:
      visit_children(die, in_function);
      return;
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
      break;
    default:
      return;
  }
  const bool inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
  if (inlined && !in_function) return;
  bool any = false;
  each_address(die, [&](std::size_t index) {
    any = true;
    Link link{name_of(die), {}, 0};
    if (inlined) {
      link.call_line = static_cast<std::int64_t>(number_of(die, DW_AT_call_line));
      const std::uint64_t file = number_of(die, DW_AT_call_file);
      if (files_ != nullptr && file < file_count_) {
        link.call_file = tidy(dwarf_filesrc(files_, file, nullptr, nullptr));
      }
    } else {
      // Another function that has the address, such as one that the linker folded, was before.
      chains_[index].clear();
    }
    chains_[index].push_back(std::move(link));
  });
  // An abstract function may have classes with functions in it.
  if (any || !inlined) visit_children(die, any);
}

std::string DwarfWalk::qualified(Dwarf_Die* die, const std::string& name) {
  Dwarf_Die declaration = declaration_of(*die);
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &scopes);
  std::string result = name;
  for (int i = 1; i < count; ++i) {
    const char* scope = dwarf_diename(&scopes[i]);
    const int tag = dwarf_tag(&scopes[i]);
    if (tag == DW_TAG_subprogram) {
      // Its name has the scopes around it.
      result = name_of(&scopes[i])->name + "::" + result;
      break;
    }
    if (tag == DW_TAG_namespace) {
      result = std::string(scope != nullptr ? scope : "(anonymous namespace)") + "::" + result;
    } else if (tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
               tag == DW_TAG_union_type) {
      // GCC gives the class of a lambda no name, or "<lambda(int)>".
      const bool lambda = name == "operator()" && i == 1 && (scope == nullptr || *scope == '<');
      result = std::string(lambda             ? "{lambda}"
                           : scope != nullptr ? scope
                                              : "(anonymous class)") +
               "::" + result;
    }
  }
  std::free(scopes);
  return result;
}

const DwarfWalk::Name* DwarfWalk::name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Die origin;
  const bool refers =
      dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attribute), &origin) != nullptr;
  const auto [place, added] = names_.try_emplace(refers ? origin.addr : die->addr);
  Name& name = place->second;
  if (!added) return &name;
  const char* linked = text_of(die, DW_AT_linkage_name);
  if (linked == nullptr) linked = text_of(die, DW_AT_MIPS_linkage_name);
  const char* plain = dwarf_diename(die);
  if (linked != nullptr) {
    name.system_name = linked;
    name.name = readable(linked);
  } else if (plain != nullptr) {
    name.name = qualified(die, plain);
  }
  name.file = tidy(dwarf_decl_file(die));
  int line = 0;
  if (dwarf_decl_line(die, &line) == 0) name.line = line;
  return &name;
}

void DwarfWalk::finish(std::size_t index, Dwarf_Die* lines) {
  std::vector<Link>& chain = chains_[index];
  Resolved& result = result_[index];
  if (chain.empty() || result.known == Known::kLines) return;
  std::string file;
  int line = 0;
  if (Dwarf_Line* found = dwarf_getsrc_die(lines, addresses_[index]); found != nullptr) {
    file = tidy(dwarf_linesrc(found, nullptr, nullptr));
    dwarf_lineno(found, &line);
  }
  std::int64_t number = line;
  for (std::size_t i = chain.size(); i-- > 0;) {
    const Name& name = *chain[i].name;
    result.frames.push_back(
        {name.name, name.system_name, file.empty() ? name.file : file, number, name.line});
    file = chain[i].call_file;
    number = chain[i].call_line;
  }
  result.known = Known::kLines;
}

}  // namespace corbel::cli
