// SPDX-License-Identifier: Apache-2.0
// What follows from the system's answers on processors, for machines that are not at hand.
#include "os/windows/topology.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

using corbel::os::processors_of_rate;
using corbel::os::ProcessorSet;
using corbel::os::Relation;
using corbel::os::Topology;

struct Machine {
  Machine& add(Relation r) {
    r.size = sizeof r;
    r.group_count = 1;
    relations.push_back(r);
    return *this;
  }
  Machine& core(std::uint16_t group, std::uint64_t processors, std::uint8_t efficiency = 0) {
    Relation r{};
    r.kind = Relation::kCore;
    r.core.efficiency = efficiency;
    r.groups[0] = {processors, group, {}};
    return add(r);
  }
  Machine& node(std::uint32_t number, std::uint16_t group, std::uint64_t processors) {
    Relation r{};
    r.kind = Relation::kNode;
    r.node = number;
    r.groups[0] = {processors, group, {}};
    return add(r);
  }
  Topology topology() const { return {relations.data(), relations.size() * sizeof(Relation)}; }

  std::vector<Relation> relations;
};

ProcessorSet set_of(std::uint64_t first_group, std::uint64_t second_group = 0) {
  ProcessorSet set{};
  set.words[0] = first_group;
  set.words[1] = second_group;
  return set;
}

TEST(Topology, NodesLieInGroups) {
  Machine m;
  m.node(0, 0, 0xff).node(1, 1, 0xf).node(7, 1, 0);
  int nodes[8] = {};
  EXPECT_EQ(m.topology().nodes(nodes, 8), 2U);  // the third one has memory only
  EXPECT_EQ(nodes[1], 1);
  EXPECT_EQ(m.topology().nodes(nodes, 1), 1U);
  ProcessorSet set = set_of(0xff, 0xff);
  m.topology().keep(&set, 1, -1, -1);
  EXPECT_EQ(set.words[0], 0U);
  EXPECT_EQ(set.words[1], 0xfU);
  EXPECT_TRUE(set.has(64));
  set = set_of(0xff);
  m.topology().keep(&set, 5, -1, -1);  // there is none: no restriction
  EXPECT_EQ(set.count(), 8U);
}

TEST(Topology, AnOldAnswerHasOneGroup) {
  Machine m;
  m.node(0, 0, 3);
  m.relations[0].group_count = 0;
  ProcessorSet set = set_of(0xff);
  m.topology().keep(&set, 0, -1, -1);
  EXPECT_EQ(set.words[0], 3U);
}

TEST(Topology, KindsOfCoresFromTheSlowest) {
  Machine m;
  m.core(0, 0x3, 2).core(0, 0xc, 2).core(0, 0x10, 0).core(0, 0x20, 0).core(0, 0x40, 1);
  EXPECT_EQ(m.topology().core_types(), 3U);
  const std::uint64_t expected[] = {0x30, 0x40, 0x0f};
  for (int type = 0; type < 3; ++type) {
    ProcessorSet set = set_of(0x7f);
    m.topology().keep(&set, -1, type, -1);
    EXPECT_EQ(set.words[0], expected[type]) << type;
  }
  Machine alike;
  alike.core(0, 1, 5).core(0, 2, 5);
  EXPECT_EQ(alike.topology().core_types(), 0U);
}

TEST(Topology, ThreadsOfACore) {
  Machine m;
  m.core(0, 0x3).core(0, 0xc).core(1, 0x3);
  ProcessorSet set = set_of(0xe, 0x3);  // one thread of the first core is not in the set
  m.topology().keep(&set, -1, -1, 1);
  EXPECT_EQ(set.words[0], 0x6U);
  EXPECT_EQ(set.words[1], 0x1U);
  set = set_of(0xf);
  m.topology().keep(&set, -1, -1, 2);
  EXPECT_EQ(set.words[0], 0xfU);
}

TEST(Topology, RateOfAJob) {
  EXPECT_EQ(processors_of_rate(10000, 8), 8U);
  EXPECT_EQ(processors_of_rate(5000, 8), 4U);
  EXPECT_EQ(processors_of_rate(5001, 8), 5U);
  EXPECT_EQ(processors_of_rate(1, 8), 1U);
  EXPECT_EQ(processors_of_rate(0, 8), 1U);
  EXPECT_EQ(processors_of_rate(10000, 1), 1U);
  EXPECT_EQ(processors_of_rate(20000, 4), 4U);
  EXPECT_EQ(processors_of_rate(10000, 8192), 8192U);
}

TEST(Topology, TheSystemAnswers) {
  ProcessorSet set{};
  ASSERT_TRUE(corbel::os::get_processors(&set));
  const unsigned all = set.count();
  EXPECT_GE(all, 1U);
  int nodes[8];
  ASSERT_GE(corbel::os::read_memory_nodes(nodes, 8), 1U);
  ProcessorSet of_node = set;
  corbel::os::keep_processors(&of_node, nodes[0], -1, 1);
  EXPECT_GE(of_node.count(), 1U);
  EXPECT_LE(of_node.count(), all);
  corbel::os::set_processors(of_node);
  ProcessorSet now{};
  corbel::os::get_processors(&now);
  EXPECT_EQ(now.words[0], of_node.words[0]);
  corbel::os::set_processors(set);
}

}  // namespace
