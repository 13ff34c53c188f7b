# SPDX-License-Identifier: Apache-2.0
"""Printers of ranges, locks, tasks and flow graphs."""

import gdb

from .values import (MAX_NODES, align, argument, function_name, number, object_at, plural, scalar,
                     unsigned)


class Text:
    """A value that one line describes."""

    def __init__(self, value, name):
        self.value = value
        self.name = name

    def to_string(self):
        raise NotImplementedError


class WithMembers(Text):
    """A value with some of its members, or what is made of them, as children."""

    def members(self):
        raise NotImplementedError

    def children(self):
        return iter(self.members())


# ---- ranges


def _is_number(value):
    return value.type.strip_typedefs().code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR,
                                                gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_PTR)


class Range(WithMembers):
    """blocked_range."""

    def to_string(self):
        begin, end = self.value["begin_"], self.value["end_"]
        if not _is_number(begin):
            return self.name
        grain = int(self.value["grainsize_"])
        return f"[{begin}, {end})" + (f" in grains of {grain}" if grain != 1 else "")

    def members(self):
        if _is_number(self.value["begin_"]):
            return []
        return [(name, self.value[name + "_"]) for name in ("begin", "end", "grainsize")]


class Ranges(WithMembers):
    """blocked_range2d, blocked_range3d, blocked_nd_range."""

    def to_string(self):
        return self.name

    def members(self):
        for name in ("pages", "rows", "cols"):
            try:
                yield name, self.value[name + "_"]
            except gdb.error:
                pass
        try:
            dims = self.value["dims_"]
        except gdb.error:
            return
        first, last = dims.type.range()
        for i in range(first, last + 1):
            yield f"dim {i}", dims[i]


# ---- locks


class Lock(Text):
    """The mutexes of one word."""

    def to_string(self):
        word = unsigned(self.value["algorithm_"])
        if "rw" in self.name:
            return f"{self.name}, {rw_state(word)}"
        return f"{self.name}, {('free', 'held', 'held, with threads asleep')[min(word, 2)]}"


def rw_state(word):
    writer, claimed, sleepers, readers = word & 1, word & 2, word & 4, word >> 3
    text = "free"
    if writer and readers:
        text = f"held by {plural(readers, 'reader')}, of which one is becoming the writer"
    elif writer:
        text = "held by a writer"
    elif readers:
        text = f"held by {plural(readers, 'reader')}"
    if claimed:
        text += ", a writer waits"
    if sleepers:
        text += ", threads are asleep"
    return text


class QueuingMutex(Text):
    def to_string(self):
        last = int(scalar(self.value["last_"]))
        return f"{self.name}, " + (f"held; the last in the queue is {last:#x}" if last else "free")


class QueuingRwMutex(Text):
    def to_string(self):
        readers = int(self.value["readers_"])
        if self.value["has_writer_"]:
            text = "held by a writer"
        else:
            text = f"held by {plural(readers, 'reader')}" if readers else "free"
        if int(self.value["upgrader_"]):
            text += ", one of which is becoming the writer"
        waiting, at = 0, self.value["first_"]
        while int(at) and waiting < MAX_NODES:
            waiting += 1
            at = at["next"]
        return f"{self.name}, {text}" + (f", {waiting} waiting" if waiting else "")


class RecursiveMutex(Text):
    def to_string(self):
        try:
            native = self.value["mutex_"]["_M_mutex"]["__data"]
            count, owner = int(native["__count"]), int(native["__owner"])
        except gdb.error:
            return self.name
        return f"{self.name}, " + (f"held {plural(count, 'time')} by LWP {owner}" if count else
                                   "free")


class NullMutex(Text):
    def to_string(self):
        return f"{self.name}, locks nothing"


class ScopedLock(Text):
    """The scoped_lock of a mutex."""

    def to_string(self):
        mutex = int(self.value["mutex_"])
        if not mutex:
            return "scoped_lock of no mutex"
        try:
            kind = " as a writer" if self.value["holder_"]["is_writer"] else " as a reader"
        except gdb.error:
            kind = ""
        return f"scoped_lock of the mutex {mutex:#x}{kind}"


# ---- tasks


def context_state(state):
    if state & 2:
        return "cancelled by an exception"
    return "cancelled" if state & 1 else ""


class Context(Text):
    """task_group_context."""

    def to_string(self):
        text = context_state(unsigned(self.value["state"])) or "not cancelled"
        return f"{self.name}, {text}"


class TaskGroup(Text):
    """task_group and isolated_task_group."""

    def to_string(self):
        count = self.value["outstanding_"]
        tasks = (unsigned(count["own_"]) + unsigned(count["foreign_"])) & 0xffffffff
        text = f"{self.name}, " + (f"{plural(tasks, 'task')} not ended" if tasks else
                                   "no task to wait for")
        cancelled = context_state(unsigned(self.value["context_"].dereference()["state"]))
        return text + (f", {cancelled}" if cancelled else "")


class TaskArena(Text):
    def to_string(self):
        arena = int(scalar(self.value["arena_"]))
        try:
            width = int(self.value["settings_"]["limits"]["max_concurrency"])
        except gdb.error:
            width = 0
        width = f"at most {plural(width, 'thread')}" if width > 0 else "as many threads as usual"
        return f"{self.name}, {width}, " + (f"arena {arena:#x}" if arena else "not initialized")


class TaskHandle(Text):
    def to_string(self):
        task = self.value["task_"]
        if not int(task):
            return f"{self.name}, empty"
        return f"{self.name} of {function_name(task['run'])}"


class CompletionHandle(Text):
    def to_string(self):
        order = int(self.value["order_"])
        return f"{self.name}, " + (f"of the task order {order:#x}" if order else "empty")


class OnceFlag(Text):
    """collaborative_once_flag."""

    def to_string(self):
        state = unsigned(self.value["state_"])
        text = {0: "not called", 1: "called"}.get(state, "a thread is calling the function")
        return f"{self.name}, {text}"


# ---- flow graphs


class Graph(Text):
    def to_string(self):
        count = self.value["tasks_"]
        tasks = (unsigned(count["own_"]) + unsigned(count["foreign_"])) & 0xffffffff
        nodes, at = 0, self.value["nodes_"]
        while int(at) and nodes < MAX_NODES:
            nodes += 1
            at = at["next_"]
        text = f"graph of {plural(nodes, 'node')}, " + \
            (f"{plural(tasks, 'task')} or reservations outstanding" if tasks else "idle")
        return text + (", cancelled" if unsigned(self.value["is_cancelled_"]) else "")


class Node(WithMembers):
    """A node; the classes below say more of some."""

    def details(self):
        return []

    def members(self):
        return []

    def to_string(self):
        graph = int(self.value["my_graph"])
        where = f"in the graph {graph:#x}" if graph else "its graph is gone"
        return ", ".join([f"{self.name}, {where}"] + self.details())


class FunctionNode(Node):
    """function_node, multifunction_node, async_node."""

    SERIAL, COUNTED, REJECTS = 1, 2, 3

    def details(self):
        limit, kind = int(self.value["limit_"]), int(self.value["kind_"]) & 3
        gate = self.value["gate_"]
        found = ["unlimited" if limit in (0, 0xffffffff) else f"at most {limit} at a time"]
        if kind == self.SERIAL:
            word = unsigned(gate["serial"]["word_"])
            found.append("idle" if word == 0 else "busy" if word == 1 else
                         "busy, messages are waiting")
        elif kind == self.COUNTED:
            inside = unsigned(gate["counted"]["number_"])
            found.append(f"{min(inside, limit)} busy, {max(0, inside - limit)} waiting")
        elif kind == self.REJECTS:
            found.append(f"{unsigned(gate['rejects']['word_']) >> 1} busy")
        return found


class BufferNode(Node):
    """buffer_node and queue_node: the messages are the children."""

    def display_hint(self):
        return "array"

    def _messages(self):
        chunks = self.value["buffer_"]["order_"]["messages_"]
        message = argument(chunks, 0)
        value = next(f for f in message.fields() if f.name == "value")
        at, last = chunks["first_"], chunks["last_"]
        begin, left = int(chunks["begin_"]), MAX_NODES
        while int(at) and left:
            end = int(chunks["end_"]) if int(at) == int(last) else int(at["capacity"])
            first = int(at) + align(at.type.strip_typedefs().target().sizeof, message.alignof)
            for i in range(begin, min(end, begin + left)):
                yield object_at(first + i * message.sizeof + value.bitpos // 8, value.type)
            if int(at) == int(last):
                return
            at, begin, left = at["next"], 0, left - 1

    def details(self):
        count = sum(1 for _ in self._messages())
        return [plural(count, "message")]

    def members(self):
        return ((f"[{i}]", m) for i, m in enumerate(self._messages()))


class PriorityNode(Node):
    def details(self):
        return [plural(int(self.value["buffer_"]["order_"]["size_"]), "message")]


class ValueNode(Node):
    """overwrite_node and write_once_node."""

    def details(self):
        return [] if int(self.value["message_"]) else ["no message yet"]

    def members(self):
        message = self.value["message_"]
        return [("message", message["value"])] if int(message) else []


class LimiterNode(Node):
    def details(self):
        limiter = self.value["limiter_"]
        return [f"{int(limiter['count_'])} of {int(limiter['threshold_'])}"]


LOCKS = ("mutex", "rw_mutex", "spin_mutex", "spin_rw_mutex", "speculative_spin_mutex",
         "speculative_spin_rw_mutex")
NODES = ("broadcast_node", "composite_node", "continue_node", "indexer_node", "input_node",
         "join_node", "sequencer_node", "split_node", "source_node", "resource_limited_node")

PRINTERS = {
    "blocked_range": Range,
    "blocked_range2d": Ranges,
    "blocked_range3d": Ranges,
    "blocked_nd_range": Ranges,
    "blocked_rangeNd": Ranges,
    **{name: Lock for name in LOCKS},
    "queuing_mutex": QueuingMutex,
    "queuing_rw_mutex": QueuingRwMutex,
    "recursive_mutex": RecursiveMutex,
    "null_mutex": NullMutex,
    "null_rw_mutex": NullMutex,
    "detail::unique_scoped_lock": ScopedLock,
    "detail::rw_scoped_lock": ScopedLock,
    "queuing_mutex::scoped_lock": ScopedLock,
    "task_group_context": Context,
    "task_group": TaskGroup,
    "isolated_task_group": TaskGroup,
    "task_arena": TaskArena,
    "task_handle": TaskHandle,
    "task_completion_handle": CompletionHandle,
    "collaborative_once_flag": OnceFlag,
    "flow::graph": Graph,
    **{"flow::" + name: Node for name in NODES},
    "flow::function_node": FunctionNode,
    "flow::multifunction_node": FunctionNode,
    "flow::async_node": FunctionNode,
    "flow::buffer_node": BufferNode,
    "flow::queue_node": BufferNode,
    "flow::priority_queue_node": PriorityNode,
    "flow::overwrite_node": ValueNode,
    "flow::write_once_node": ValueNode,
    "flow::limiter_node": LimiterNode,
}
