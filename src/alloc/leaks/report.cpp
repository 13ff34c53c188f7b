// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/report.hpp"

#include <string.h>

#include <initializer_list>

#include "base/bits.hpp"
#include "base/text.hpp"

namespace corbel::alloc {

namespace {

using LeakKind = LeakPlace::Kind;
using LeakLine = Text<8192>;  // a path, and more

constexpr std::uint64_t kMaxListed = 20;

const char* word_of(LeakKind kind) {
  return kind == LeakKind::kDefinite   ? "definite"
         : kind == LeakKind::kPossible ? "possible"
                                       : "reachable";
}

const char* phrase_of(LeakKind kind) {
  return kind == LeakKind::kDefinite   ? "definitely leaked"
         : kind == LeakKind::kPossible ? "possibly leaked"
                                       : "still reachable";
}

template <class Builder>
void add_bytes(Builder& text, std::uint64_t bytes) {
  if (bytes < 1024) {
    text.add_decimal(bytes).add(bytes == 1 ? " byte" : " bytes");
  } else if (bytes < std::uint64_t(1) << 20) {
    const std::uint64_t tenths = (bytes * 10 + 512) >> 10;
    text.add_decimal(tenths / 10).add(".").add_decimal(tenths % 10).add(" KiB");
  } else {
    text.add_mebibytes(bytes);
  }
}

template <class Builder>
void add_count(Builder& text, std::uint64_t n, const char* noun) {
  text.add_decimal(n).add(" ").add(noun).add(n == 1 ? "" : "s");
}

template <class Builder>
void add_amount(Builder& text, const LeakTotal& total) {
  add_count(text, total.blocks, "block");
  text.add(", ");
  add_bytes(text, total.bytes);
}

// Why there was no scan, and what to do about it.
template <class Builder>
void add_failure(Builder& text, const LeakFindings& scan) {
  using Stop = os::StopOutcome::Kind;
  if (scan.result() == LeakFindings::Result::kNoMemory) {
    text.add("the system has no memory for the scan");
    return;
  }
  if (scan.result() == LeakFindings::Result::kNoMappings) {
    text.add("/proc/self/maps cannot be read (mount /proc)");
    return;
  }
  const std::uint32_t number = scan.stop_outcome().number;
  switch (scan.stop_outcome().kind) {
    case Stop::kDone:
      break;
    case Stop::kNoProcess:
      text.add("no process can be made for it (clone: error ").add_decimal(number);
      text.add("; raise the limit of processes, or allow clone in the sandbox)");
      break;
    case Stop::kNoList:
      text.add("/proc/self/task cannot be read or belongs to another PID namespace (mount /proc)");
      break;
    case Stop::kTraced:
      text.add("process ").add_decimal(number);
      text.add(" traces this one (end the debugger or strace)");
      break;
    case Stop::kForbidden:
      text.add("the system does not let it stop the threads (ptrace: error ").add_decimal(number);
      text.add("; allow ptrace, as with --cap-add=SYS_PTRACE in a container)");
      break;
    case Stop::kRestless:
      text.add("thread ").add_decimal(number).add(
          " does not stop (it waits in the kernel, or threads start others all the time)");
      break;
    case Stop::kCrashed:
      text.add("the scan was ended by signal ").add_decimal(number);
      break;
  }
}

// "PATH+0xOFFSET" of an address, where a file is mapped. The offset is from where the file's
// beginning is mapped, as the tools that read symbols want it.
class CodePlace {
 public:
  explicit CodePlace(std::uintptr_t address) : address_(address) {
    os::for_each_memory_area(
        [](void* to, const os::MemoryArea& mapping) { static_cast<CodePlace*>(to)->look(mapping); },
        this);
  }
  template <class Builder>
  void add_to(Builder& text) {
    if (!found_) {
      text.add_hex(address_);
    } else {
      text.add(path_.c_str()).add("+").add_hex(address_ - base_);
    }
  }

 private:
  void look(const os::MemoryArea& mapping) {
    if (found_ || !mapping.has_file) return;
    if (mapping.offset == 0) {
      base_ = mapping.start;
      path_ = {};
      path_.add(mapping.name);
    }
    found_ = address_ >= mapping.start && address_ < mapping.end &&
             strcmp(path_.c_str(), mapping.name) == 0;
  }

  std::uintptr_t address_;
  std::uintptr_t base_ = 0;
  bool found_ = false;
  Text<4096> path_;
};

void write(const LeakLine& line) { os::write_error(line.data(), line.size()); }

// "12 bytes in 1 block definitely leaked, and 40 bytes in 2 blocks through them".
void write_place(const LeakPlace& place) {
  LeakLine line;
  line.add(place.samples != 0 ? "corbel: about " : "corbel: ");
  add_bytes(line, place.bytes);
  line.add(" in ");
  add_count(line, place.blocks, "block");
  if (place.samples != 0) {
    line.add(" (");
    add_count(line, place.samples, "sample");
    line.add(")");
  }
  line.add(" ").add(phrase_of(place.kind));
  if (place.indirect_blocks != 0) {
    line.add(", and with them ");
    add_bytes(line, place.indirect_bytes);
    line.add(" in ");
    add_count(line, place.indirect_blocks, "block");
  }
  write(line.add(", allocated at\n"));
  const Stack stack = stack_of(place.stack);
  for (unsigned i = 0; i < stack.count; ++i) {
    LeakLine frame;
    frame.add("    ");
    // A return address belongs to the call before it.
    CodePlace(address_of(stack.frames[i]) - 1).add_to(frame);
    write(frame.add("\n"));
  }
}

void write_sampled_summary(const LeakFindings& scan) {
  const LeakTotal& lost = scan.total(LeakKind::kDefinite);
  const LeakTotal& others = scan.total(LeakKind::kReachable);
  LeakLine line;
  line.add("corbel: ");
  if (lost.samples == 0) {
    line.add("no definite leaks");
  } else {
    line.add("about ");
    add_amount(line, lost);
    line.add(" definitely leaked at ");
    add_count(line, lost.places, "place");
  }
  line.add(", by ");
  add_count(line, lost.samples + others.samples, "sampled block");
  write(line.add("\n"));
}

void write_summary(const LeakFindings& scan) {
  if (scan.is_sampled()) return write_sampled_summary(scan);
  LeakLine line;
  line.add("corbel: ");
  const LeakTotal& definite = scan.total(LeakKind::kDefinite);
  if (definite.blocks == 0) {
    line.add("no definite leaks");
  } else {
    add_amount(line, definite);
    line.add(" definitely leaked at ");
    add_count(line, definite.places, "place");
  }
  for (const LeakKind kind : {LeakKind::kPossible, LeakKind::kReachable}) {
    if (scan.total(kind).blocks == 0) continue;
    line.add("; ");
    add_amount(line, scan.total(kind));
    line.add(" ").add(phrase_of(kind));
  }
  write(line.add("\n"));
}

// The path with the number of the process in the place of %p.
void expand(const char* pattern, Text<kMaxLeakPath>* path) {
  for (; *pattern != '\0'; ++pattern) {
    if (pattern[0] == '%' && pattern[1] == 'p') {
      path->add_decimal(os::process_id());
      ++pattern;
      continue;
    }
    const char one[] = {*pattern, '\0'};
    path->add(one);
  }
}

// A line, or a part of one. Not on the stack, which may be small. One thread writes at a time.
constinit char report_buffer[8192];

class ReportPart : public TextInto {
 public:
  explicit ReportPart(const LeakSink& sink)
      : TextInto(report_buffer, sizeof report_buffer), sink_(sink) {}
  void write() {
    const std::size_t size = finish();
    sink_.put(sink_.place, report_buffer,
              size < sizeof report_buffer ? size : sizeof report_buffer - 1);
  }

 private:
  const LeakSink& sink_;
};

void write_head(const LeakFindings& findings, const LeakSink& sink) {
  ReportPart head(sink);
  head.add("corbel-leaks 1\nprocess ").add_decimal(os::process_id()).add("\ncommand ");
  head.write();
  os::read_command(report_buffer, sizeof report_buffer);
  for (char* c = report_buffer; *c != '\0'; ++c) {
    if (*c == '\n') *c = ' ';
  }
  sink.put(sink.place, report_buffer, strlen(report_buffer));
  ReportPart rest(sink);
  rest.add("\n");
  if (findings.result() != LeakFindings::Result::kDone) {
    rest.add("failed ");
    add_failure(rest, findings);
    rest.add("\n");
  } else if (findings.is_sampled()) {
    rest.add("sampled ").add_decimal(heap_profile_distance()).add(" ");
    rest.add_decimal(findings.total(LeakKind::kReachable).samples).add("\n");
  }
  rest.write();
}

void write_maps(const LeakSink& sink) {
  os::for_each_memory_area(
      [](void* to, const os::MemoryArea& mapping) {
        if (!mapping.has_file) return;
        ReportPart line(*static_cast<const LeakSink*>(to));
        line.add("map ").add_hex(mapping.start).add(" ").add_hex(mapping.end).add(" ");
        line.add_hex(mapping.offset).add(" ").add(mapping.name).add("\n");
        line.write();
      },
      const_cast<LeakSink*>(&sink));
}

}  // namespace

void report_leaks_as_text(const LeakFindings& scan, const LeakOptions& options) {
  if (scan.result() != LeakFindings::Result::kDone) {
    LeakLine line;
    line.add("corbel: no leak report: ");
    add_failure(line, scan);
    return write(line.add("\n"));
  }
  std::uint64_t listed = 0, left_out = 0;
  for (const LeakPlace& place : scan) {
    if (place.kind == LeakKind::kPossible && !options.possible) continue;
    if (place.kind == LeakKind::kReachable && !options.reachable) continue;
    listed < kMaxListed ? write_place(place) : void(++left_out);
    ++listed;
  }
  if (left_out != 0) {
    LeakLine line;
    line.add("corbel: and at ");
    add_count(line, left_out, "place");
    write(line.add(" more (corbel leaks lists all)\n"));
  }
  write_summary(scan);
}

void write_leaks(const LeakFindings& findings, const LeakSink& sink) {
  write_head(findings, sink);
  write_maps(sink);
  for (const LeakPlace& place : findings) {
    ReportPart line(sink);
    if (findings.is_sampled()) {
      line.add("sample ").add_decimal(place.samples).add(" ").add_decimal(place.blocks);
      line.add(" ").add_decimal(place.bytes);
    } else {
      line.add("place ").add(word_of(place.kind));
      for (const std::uint64_t n :
           {place.blocks, place.bytes, place.indirect_blocks, place.indirect_bytes}) {
        line.add(" ").add_decimal(n);
      }
    }
    const Stack stack = stack_of(place.stack);
    for (unsigned i = 0; i < stack.count; ++i) {
      line.add(" ").add_hex(address_of(stack.frames[i]));
    }
    line.add("\n");
    line.write();
  }
  sink.put(sink.place, "end\n", 4);
}

void report_leaks_to_file(const LeakFindings& findings, const LeakOptions& options) {
  Text<kMaxLeakPath> path;
  expand(options.file, &path);
  os::NewFile file(path.c_str());
  write_leaks(findings, {&file, [](void* place, const void* data, std::size_t size) {
                           return static_cast<os::NewFile*>(place)->write(data, size);
                         }});
  if (file.finish()) return;
  LeakLine line;
  line.add("corbel: cannot write the leak report to ").add(path.c_str()).add(": error ");
  line.add_decimal(std::uint64_t(file.error())).add(" (set CORBEL_LEAKS=1,file=PATH)\n");
  write(line);
}

}  // namespace corbel::alloc
