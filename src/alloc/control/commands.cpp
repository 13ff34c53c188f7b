// SPDX-License-Identifier: Apache-2.0
#include "alloc/control/commands.hpp"

#include <atomic>

#include "alloc/control/leaks_command.hpp"
#include "alloc/control/profile_command.hpp"
#include "alloc/control/words.hpp"
#include "alloc/report/stats_json.hpp"
#include "base/config.hpp"
#include "base/task_figures.hpp"
#include "base/text.hpp"

namespace corbel::alloc {

namespace {

// relaxed both: the function is part of a loaded library, and nothing else is read because of it
constinit std::atomic<TaskFigures> task_figures{nullptr};

// At most one command runs at a time (answer.cpp).
constinit Stats stats_buffer{};
constinit char tasks_buffer[1024];

// On the request's own stack (os::take_requests()).
constexpr std::size_t kMaxAnswer = kMaxJson + 64;

void tell_version(const char*, Reply& reply) {
  char buffer[64];
  TextInto text(buffer, sizeof buffer);
  const std::size_t size = text.add(config::kVersion).finish();
  if (reply.add(buffer, size)) reply.finish();
}

void tell_stats(const char*, Reply& reply) {
  if (!stats_in_handler(&stats_buffer)) return reply.busy();
  char buffer[kMaxAnswer];
  TextInto text(buffer, sizeof buffer);
  add_json(text, stats_buffer);
  if (reply.add(buffer, text.finish())) reply.finish();
}

// Both, so that a view of the process needs one request a time.
void tell_state(const char*, Reply& reply) {
  if (!stats_in_handler(&stats_buffer)) return reply.busy();
  char buffer[kMaxAnswer];
  TextInto text(buffer, sizeof buffer);
  text.add("{\"heap\":");
  add_json(text, stats_buffer);
  const std::size_t heap = text.add(",\"tasks\":").finish();
  std::size_t tasks = 0;
  if (const TaskFigures figures = task_figures.load(std::memory_order_relaxed)) {
    tasks = figures(tasks_buffer, sizeof tasks_buffer);
    if (tasks == 0) return reply.busy();
  }
  constexpr char kNone[] = "null";
  const bool sent = reply.add(buffer, heap) &&
                    (tasks != 0 ? reply.add(tasks_buffer, tasks) : reply.add(kNone, 4)) &&
                    reply.add("}", 1);
  if (sent) reply.finish();
}

void tell_tasks(const char*, Reply& reply) {
  const TaskFigures figures = task_figures.load(std::memory_order_relaxed);
  if (figures == nullptr) return reply.fail("the process runs no tasks of Corbel");
  const std::size_t size = figures(tasks_buffer, sizeof tasks_buffer);
  if (size == 0) return reply.busy();
  if (reply.add(tasks_buffer, size)) reply.finish();
}

}  // namespace

const ControlCommand kControlCommands[] = {
    {"version", tell_version}, {"stats", tell_stats},        {"tasks", tell_tasks},
    {"state", tell_state},     {"profile", command_profile}, {"leaks", command_leaks},
    {nullptr, nullptr},
};

void run_command(const char* line, Reply& reply) {
  for (const ControlCommand* c = kControlCommands; c->name != nullptr; ++c) {
    if (const char* words = words_after(c->name, line)) return c->run(words, reply);
  }
  Text<256> why;
  why.add("the Corbel in the process, version ").add(config::kVersion);
  why.add(", does not know this request");
  reply.fail(why.c_str());
}

void provide_task_figures(TaskFigures figures) noexcept {
  task_figures.store(figures, std::memory_order_relaxed);
}

}  // namespace corbel::alloc
