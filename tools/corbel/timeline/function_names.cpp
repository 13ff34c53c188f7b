// SPDX-License-Identifier: Apache-2.0
#include "timeline/function_names.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace corbel::cli::timeline {
namespace {

// A file in memory, which may be cut off or be no ELF file: every access is checked.
class File {
 public:
  explicit File(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
      void* const mapped =
          mmap(nullptr, std::size_t(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (mapped != MAP_FAILED) {
        data_ = static_cast<const char*>(mapped);
        size_ = std::size_t(status.st_size);
      }
    }
    close(fd);
  }
  ~File() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  template <typename T>
  bool get(std::uint64_t offset, T* value) const {
    if (offset > size_ || size_ - offset < sizeof(T)) return false;
    std::memcpy(value, data_ + offset, sizeof(T));
    return true;
  }
  std::string_view text(std::uint64_t offset) const {
    if (offset >= size_) return {};
    return {data_ + offset, strnlen(data_ + offset, size_ - offset)};
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

// Sets the mangled names of functions of one file.
void look_up(const std::string& path, const std::vector<Function*>& wanted) {
  const File file(path);
  Elf64_Ehdr header;
  if (!file.get(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return;
  }
  const auto section = [&](std::uint64_t i, Elf64_Shdr* found) {
    return i < header.e_shnum && file.get(header.e_shoff + i * sizeof *found, found);
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr symbols, names;
    if (!section(i, &symbols) || !section(symbols.sh_link, &names)) continue;
    if (symbols.sh_type != SHT_SYMTAB && symbols.sh_type != SHT_DYNSYM) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!file.get(symbols.sh_offset + at, &symbol)) break;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      for (Function* const f : wanted) {
        // The task's function is where the symbol begins.
        if (f->full_name.empty() && symbol.st_value == f->offset) {
          f->full_name = file.text(names.sh_offset + symbol.st_name);
        }
      }
    }
  }
}

std::string demangle(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

bool starts_with(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

void replace_all(std::string* text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += by.size()) {
    text->replace(at, what.size(), by);
  }
}

// Without what is between brackets: "count(Board const&)::{lambda(int)#1}" becomes
// "count::{lambda#1}".
std::string without_brackets(std::string_view text) {
  std::string result;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_arrow = c == '>' && i > 0 && text[i - 1] == '-';
    if (c == '<' || c == '(') {
      ++open;
    } else if ((c == '>' && !is_arrow) || c == ')') {
      --open;
    } else if (open == 0) {
      result += c;
    }
  }
  return result;
}

// The template arguments of the class that `text` begins with.
std::vector<std::string_view> template_arguments(std::string_view text) {
  std::vector<std::string_view> found;
  const std::size_t first = text.find('<');
  int open = 0;
  std::size_t begin = first + 1;
  for (std::size_t i = first; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '{') ++open;
    if (c == '>' || c == ')' || c == '}') --open;
    if (open == 0 || (open == 1 && c == ',')) {
      found.push_back(text.substr(begin, i - begin));
      begin = i + 1;
      while (begin < text.size() && text[begin] == ' ') ++begin;
      if (open == 0) break;
    }
  }
  return found;
}

// A class of Corbel's or of the standard library, a number, or a built-in type.
bool is_no_body(std::string_view name) {
  if (name.empty()) return true;
  for (const char* const begin :
       {"corbel::", "tbb::", "std::", "__gnu_cxx::", "unsigned ", "long ", "signed "}) {
    if (starts_with(name, begin)) return true;
  }
  for (const char* const whole :
       {"true", "false", "bool", "char", "short", "int", "long", "float", "double", "void"}) {
    if (name == whole) return true;
  }
  const bool is_function_type = name.back() == ')' && name.find("{lambda") == name.npos;
  return is_function_type || name.find_first_not_of("0123456789ul()") == name.npos;
}

// The function object of the program among the template arguments, also of those of Corbel's: a
// lambda expression if there is one.
std::string_view body_in(std::string_view text, int depth = 0) {
  if (depth > 6 || text.find('<') == text.npos) return {};
  const std::vector<std::string_view> arguments = template_arguments(text);
  std::string_view found;
  for (const std::string_view argument : arguments) {
    if (is_no_body(argument)) continue;
    if (argument.find("{lambda") != argument.npos) return argument;
    if (found.empty()) found = argument;
  }
  for (const std::string_view argument : arguments) {
    if (!is_no_body(argument)) continue;
    const std::string_view body = body_in(argument, depth + 1);
    if (body.find("{lambda") != body.npos || (found.empty() && !body.empty())) return body;
  }
  return found;
}

// "main::{lambda#1}::operator const::{lambda#2}" becomes "main, lambda 1, lambda 2".
std::string for_people(std::string_view function) {
  std::string text(function);
  replace_all(&text, "(anonymous namespace)::", "");
  text = without_brackets(text);
  replace_all(&text, "::operator const", "");
  replace_all(&text, "::operator", "");
  replace_all(&text, "::{lambda#", ", lambda ");
  replace_all(&text, "{lambda#", "lambda ");
  replace_all(&text, "{unnamed type#", "type ");
  replace_all(&text, "}", "");
  replace_all(&text, " const", "");
  while (!text.empty() && (text.back() == '&' || text.back() == ' ' || text.back() == '*')) {
    text.pop_back();
  }
  return text;
}

// What programs call the algorithm whose task has this class.
std::string algorithm_of(std::string_view full) {
  static constexpr std::pair<std::string_view, const char*> kClasses[] = {
      {"parallel_reduce", "parallel_reduce"}, {"reduc", "parallel_reduce"},
      {"parallel_scan", "parallel_scan"},     {"scan_", "parallel_scan"},
      {"quick_sort", "parallel_sort"},        {"sort_call", "parallel_sort"},
      {"for_each", "parallel_for_each"},      {"pipeline", "parallel_pipeline"},
      {"chunk_loop", "parallel_for"},         {"range_loop", "parallel_for"},
      {"loop_task", "parallel_for"},          {"fork", "parallel_invoke"},
      {"function_task", "task_group"},        {"enqueued_task", "enqueue"},
      {"body_task", "function_node"},         {"pull_task", "function_node"},
      {"graph_task", "flow graph"},           {"classic", "task"}};
  if (const std::size_t node = full.find("_node<"); node != full.npos) {
    std::size_t begin = node;
    while (begin > 0 &&
           (std::isalnum(static_cast<unsigned char>(full[begin - 1])) || full[begin - 1] == '_')) {
      --begin;
    }
    return std::string(full.substr(begin, node + 5 - begin));
  }
  const std::string_view head = full.substr(0, 160);
  if (head.find("tbb12::") != head.npos) return "oneTBB task";
  if (full.find("detail::split_body") != full.npos) return "parallel_reduce";
  for (const auto& [part, name] : kClasses) {
    if (head.find(part) != head.npos) return name;
  }
  return "task";
}

}  // namespace

std::string short_name(const std::string& full) {
  if (!starts_with(full, "corbel::") && !starts_with(full, "tbb::")) return for_people(full);
  const std::string algorithm = algorithm_of(full);
  const std::string body = for_people(body_in(full));
  return body.empty() ? algorithm : fmt::format("{} ({})", body, algorithm);
}

void name_functions(Trace* trace) {
  std::map<std::string, std::vector<Function*>> by_file;
  for (Function& f : trace->functions) {
    if (!f.file.empty() && f.full_name.empty()) by_file[f.file].push_back(&f);
  }
  for (const auto& [file, wanted] : by_file) look_up(file, wanted);
  for (Function& f : trace->functions) {
    if (!f.name.empty()) continue;
    f.full_name = f.full_name.empty() ? std::string() : demangle(f.full_name);
    if (!f.full_name.empty()) {
      f.name = short_name(f.full_name);
    } else if (f.file.empty()) {
      f.name = f.key;
    } else {
      f.name = fmt::format("{}+{:#x}", f.file.substr(f.file.rfind('/') + 1), f.offset);
    }
  }
}

}  // namespace corbel::cli::timeline
