// SPDX-License-Identifier: Apache-2.0
// What cgroups grant, read from file trees modelled on those of real systems.
#include "os/linux/container.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace corbel::os {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMib = std::size_t{1} << 20;

// A folder that stands in for "/". Limits are small, because they must be below the machine's
// memory.
class ContainerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corbel-container-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const fs::path file = root_ + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void set_process(const std::string& cgroup, const std::string& mounts) {
    write("/proc/self/cgroup", cgroup);
    write("/proc/self/mountinfo",
          "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
          "23 22 0:21 / /proc rw,nosuid - proc proc rw\n" +
              mounts);
  }
  MemoryGrant read() {
    const std::string process = root_ + "/proc/self";
    ContainerReader reader(process.c_str(), root_.c_str());
    const MemoryGrant grant = reader.read();
    limit_file_ = inside(reader.limit_file());
    stall_file_ = inside(reader.stall_file());
    return grant;
  }

  unsigned read_processors() {
    const std::string process = root_ + "/proc/self";
    return ContainerReader(process.c_str(), root_.c_str()).read_processors();
  }

  std::string root_;
  std::string limit_file_;
  std::string stall_file_;

 private:
  std::string inside(const std::string& file) const {
    return file.rfind(root_, 0) == 0 ? file.substr(root_.size()) : file;
  }
};

const char kV2Mount[] =
    "31 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const char kV1Mounts[] =
    "31 22 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:28 / /sys/fs/cgroup/memory rw,nosuid shared:3 - cgroup cgroup rw,memory\n"
    "34 31 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
const char kV1Paths[] = "9:pids:/a\n4:memory:/outer/inner\n1:name=systemd:/a\n";
const char kUnlimitedV1[] = "9223372036854771712\n";

TEST_F(ContainerTest, NoFilesNoLimit) {
  const MemoryGrant grant = read();
  EXPECT_EQ(grant.limit, SIZE_MAX);
  EXPECT_GT(grant.physical, 64 * kMib);
  EXPECT_FALSE(grant.knows_stalls);
  EXPECT_EQ(limit_file_, "");
  EXPECT_EQ(stall_file_, "");
}

TEST_F(ContainerTest, V2) {
  set_process("0::/app.slice/app.service\n", kV2Mount);
  write("/sys/fs/cgroup/app.slice/app.service/memory.max", "67108864\n");
  write("/sys/fs/cgroup/app.slice/app.service/memory.high", "max\n");
  write("/sys/fs/cgroup/app.slice/memory.max", "max\n");
  EXPECT_EQ(read().limit, 64 * kMib);
  EXPECT_EQ(limit_file_, "/sys/fs/cgroup/app.slice/app.service/memory.max");
}

TEST_F(ContainerTest, MaxEverywhereIsNoLimit) {
  set_process("0::/a\n", kV2Mount);
  write("/sys/fs/cgroup/a/memory.max", "max\n");
  write("/sys/fs/cgroup/a/memory.high", "max\n");
  EXPECT_EQ(read().limit, SIZE_MAX);
  EXPECT_EQ(limit_file_, "");
}

TEST_F(ContainerTest, MemoryHighCountsToo) {
  set_process("0::/a\n", kV2Mount);
  write("/sys/fs/cgroup/a/memory.max", "67108864\n");
  write("/sys/fs/cgroup/a/memory.high", "33554432\n");
  EXPECT_EQ(read().limit, 32 * kMib);
  EXPECT_EQ(limit_file_, "/sys/fs/cgroup/a/memory.high");
}

TEST_F(ContainerTest, TheSmallestLimitAmongTheAncestorsCounts) {
  set_process("0::/a/b/c\n", kV2Mount);
  write("/sys/fs/cgroup/a/b/c/memory.max", "67108864\n");
  write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  write("/sys/fs/cgroup/a/memory.max", "16777216\n");
  EXPECT_EQ(read().limit, 16 * kMib);
  EXPECT_EQ(limit_file_, "/sys/fs/cgroup/a/memory.max");
  write("/sys/fs/cgroup/a/b/memory.high", "8388608\n");
  EXPECT_EQ(read().limit, 8 * kMib);
  write("/sys/fs/cgroup/a/b/c/memory.max", "4194304\n");
  EXPECT_EQ(read().limit, 4 * kMib);
}

TEST_F(ContainerTest, InsideANamespaceThePathIsTheRoot) {
  set_process("0::/\n", kV2Mount);
  write("/sys/fs/cgroup/memory.max", "50331648\n");
  write("/memory.max", "1048576\n");  // above the mount: not our group
  write("/sys/fs/memory.max", "1048576\n");
  EXPECT_EQ(read().limit, 48 * kMib);
  EXPECT_EQ(limit_file_, "/sys/fs/cgroup/memory.max");
}

TEST_F(ContainerTest, ControllersNeedNotReachTheLeaf) {
  set_process("0::/a/b/c\n", kV2Mount);
  write("/sys/fs/cgroup/a/memory.max", "33554432\n");
  EXPECT_EQ(read().limit, 32 * kMib);
}

TEST_F(ContainerTest, V1) {
  set_process(kV1Paths, kV1Mounts);
  write("/sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", "67108864\n");
  write("/sys/fs/cgroup/memory/outer/memory.limit_in_bytes", kUnlimitedV1);
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", kUnlimitedV1);
  write("/sys/fs/cgroup/memory/outer/inner/memory.soft_limit_in_bytes", "1048576\n");
  EXPECT_EQ(read().limit, 64 * kMib);
  EXPECT_EQ(limit_file_, "/sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes");
  write("/sys/fs/cgroup/memory/outer/memory.limit_in_bytes", "33554432\n");
  EXPECT_EQ(read().limit, 32 * kMib);
  // Before 5.11, Linux used the hierarchy only when asked to.
  write("/sys/fs/cgroup/memory/outer/memory.use_hierarchy", "0\n");
  EXPECT_EQ(read().limit, 64 * kMib);
  write("/sys/fs/cgroup/memory/outer/memory.use_hierarchy", "1\n");
  EXPECT_EQ(read().limit, 32 * kMib);
}

TEST_F(ContainerTest, UnlimitedV1IsNoLimit) {
  set_process(kV1Paths, kV1Mounts);
  write("/sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", kUnlimitedV1);
  EXPECT_EQ(read().limit, SIZE_MAX);
  write("/sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes",
        "18446744073710600192\n");  // 2^64 + 1 MiB
  EXPECT_EQ(read().limit, SIZE_MAX);
}

// Older containers mount their own folder where the whole hierarchy would be.
TEST_F(ContainerTest, V1WithItsOwnFolderMounted) {
  set_process("4:memory:/docker/0123abc\n",
              "33 31 0:28 /docker/0123abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n");
  write("/sys/fs/cgroup/memory/memory.stat",
        "cache 4096\nhierarchical_memory_limit 67108864\nhierarchical_memsw_limit 1\n");
  EXPECT_EQ(read().limit, 64 * kMib);
  // A group above, which is not visible inside the container.
  write("/sys/fs/cgroup/memory/memory.stat", "cache 4096\nhierarchical_memory_limit 33554432\n");
  EXPECT_EQ(read().limit, 32 * kMib);
  EXPECT_EQ(limit_file_, "/sys/fs/cgroup/memory/memory.stat");
  // A group below the container's own.
  set_process("4:memory:/docker/0123abc/sub\n",
              "33 31 0:28 /docker/0123abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/memory/sub/memory.limit_in_bytes", "16777216\n");
  EXPECT_EQ(read().limit, 16 * kMib);
}

TEST_F(ContainerTest, V1InANamespaceReadsTheHierarchicalLimit) {
  set_process("4:memory:/\n", kV1Mounts);
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", kUnlimitedV1);
  write("/sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 33554432\n");
  EXPECT_EQ(read().limit, 32 * kMib);
}

// systemd's hybrid: v1 controls memory, v2 is mounted beside it without controllers.
TEST_F(ContainerTest, Hybrid) {
  set_process("4:memory:/v1\n0::/v2\n",
              std::string(kV1Mounts) +
                  "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n");
  write("/sys/fs/cgroup/memory/v1/memory.limit_in_bytes", "67108864\n");
  write("/sys/fs/cgroup/unified/v2/cgroup.procs", "1\n");
  write("/sys/fs/cgroup/unified/v2/memory.pressure",
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=11\n"
        "some avg10=1.00 avg60=2.00 avg300=3.00 total=4711\n");
  const MemoryGrant grant = read();
  EXPECT_EQ(grant.limit, 64 * kMib);
  EXPECT_TRUE(grant.knows_stalls);
  EXPECT_EQ(grant.stalled_us, 4711U);
  EXPECT_EQ(stall_file_, "/sys/fs/cgroup/unified/v2/memory.pressure");
  // If both set a limit, the smaller one counts.
  write("/sys/fs/cgroup/unified/v2/memory.max", "33554432\n");
  EXPECT_EQ(read().limit, 32 * kMib);
}

TEST_F(ContainerTest, AMountElsewhereWithSpacesInItsName) {
  set_process("0::/my group\n", "31 22 0:26 / /my\\040mount\\134x rw - cgroup2 none rw\n");
  write("/my mount\\x/my group/memory.max", "67108864\n");
  EXPECT_EQ(read().limit, 64 * kMib);
}

TEST_F(ContainerTest, TheMountThatShowsOurFolderIsUsed) {
  const std::string other = "30 22 0:26 /other /mnt/other rw - cgroup2 cgroup2 rw\n";
  write("/mnt/other/memory.max", "1048576\n");
  write("/sys/fs/cgroup/mine/memory.max", "67108864\n");
  set_process("0::/mine\n", other + kV2Mount);
  EXPECT_EQ(read().limit, 64 * kMib);
  set_process("0::/mine\n", kV2Mount + other);
  EXPECT_EQ(read().limit, 64 * kMib);
  // "/other" is not an ancestor of "/other2".
  write("/sys/fs/cgroup/other2/memory.max", "33554432\n");
  set_process("0::/other2\n", other + kV2Mount);
  EXPECT_EQ(read().limit, 32 * kMib);
}

// The host's files in a container with a cgroup namespace: our own folder has no name there, but
// the limits of the mount's root apply to us.
TEST_F(ContainerTest, AMountAboveTheNamespace) {
  set_process("0::/\n", "31 22 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/memory.max", "67108864\n");
  EXPECT_EQ(read().limit, 64 * kMib);
}

TEST_F(ContainerTest, AProcessOutsideOfItsNamespace) {
  set_process("0::/../neighbour\n", kV2Mount);
  write("/sys/fs/cgroup/memory.max", "67108864\n");
  EXPECT_EQ(read().limit, SIZE_MAX);
}

TEST_F(ContainerTest, MalformedFilesAreNoLimit) {
  for (const char* cgroup : {"", "\n", ":", "::", "0::\n", "0:\n", "4:memory\n", "0::relative\n"}) {
    set_process(cgroup, kV2Mount);
    write("/sys/fs/cgroup/memory.max", "67108864\n");
    EXPECT_EQ(read().limit, SIZE_MAX) << cgroup;
  }
  for (const char* mounts : {"", " - cgroup2", "31 - cgroup2 cgroup2 rw\n", "\n - cgroup - memory",
                             "a b c d e f - cgroup2 x y\n"}) {
    set_process("0::/\n4:memory:/\n", mounts);
    EXPECT_EQ(read().limit, SIZE_MAX) << mounts;
  }
  set_process("0::/\n", kV2Mount);
  for (const char* text : {"", "\n", "max", "-1\n", "lots\n", " 5\n"}) {
    write("/sys/fs/cgroup/memory.max", text);
    EXPECT_EQ(read().limit, SIZE_MAX) << text;
  }
}

TEST_F(ContainerTest, LongLinesAndPaths) {
  std::string path;
  for (int i = 0; i < 6; ++i) path += "/" + std::string(200, char('a' + i));
  write("/sys/fs/cgroup" + path + "/memory.max", "67108864\n");
  // The options of overlay file systems take many KiB.
  const std::string overlay =
      "50 22 0:50 / /merged rw - overlay overlay rw,lowerdir=" + std::string(20000, 'x') + "\n";
  set_process("0::" + path + "\n", overlay + kV2Mount);
  EXPECT_EQ(read().limit, 64 * kMib);
  // A path that exceeds the buffers means no limit, and does no harm.
  for (int i = 0; i < 20; ++i) path += "/" + std::string(200, 'z');
  set_process("0::" + path + "\n", kV2Mount);
  EXPECT_EQ(read().limit, SIZE_MAX);
}

TEST_F(ContainerTest, ChangedLimitsAreSeen) {
  set_process("0::/a\n", kV2Mount);
  write("/sys/fs/cgroup/a/memory.max", "67108864\n");
  const std::string process = root_ + "/proc/self";
  ContainerReader reader(process.c_str(), root_.c_str());
  EXPECT_EQ(reader.read().limit, 64 * kMib);
  write("/sys/fs/cgroup/a/memory.max", "33554432\n");
  EXPECT_EQ(reader.read().limit, 32 * kMib);
  // The process is moved to another group.
  write("/sys/fs/cgroup/b/memory.max", "16777216\n");
  set_process("0::/b\n", kV2Mount);
  EXPECT_EQ(reader.read().limit, 16 * kMib);
  fs::remove_all(root_ + "/sys");
  EXPECT_EQ(reader.read().limit, SIZE_MAX);
  EXPECT_STREQ(reader.limit_file(), "");
}

TEST_F(ContainerTest, StallsOfTheSystemCountWhereTheGroupHasNone) {
  set_process("0::/a\n", kV2Mount);
  write("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
  MemoryGrant grant = read();
  EXPECT_TRUE(grant.knows_stalls);
  EXPECT_EQ(grant.stalled_us, 99U);
  EXPECT_EQ(stall_file_, "/proc/pressure/memory");
  write("/sys/fs/cgroup/a/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
  grant = read();
  EXPECT_EQ(grant.stalled_us, 5U);
  EXPECT_EQ(stall_file_, "/sys/fs/cgroup/a/memory.pressure");
}

TEST_F(ContainerTest, LimitEventsCountWhereStallsAreNotCounted) {
  set_process("0::/a\n", kV2Mount);
  write("/sys/fs/cgroup/a/memory.events", "low 1\nhigh 20\nmax 300\noom 4000\noom_kill 50000\n");
  MemoryGrant grant = read();
  EXPECT_FALSE(grant.knows_stalls);
  EXPECT_EQ(grant.collisions, 4320U);
  EXPECT_EQ(stall_file_, "/sys/fs/cgroup/a/memory.events");
  set_process(kV1Paths, kV1Mounts);
  write("/sys/fs/cgroup/memory/outer/inner/memory.failcnt", "17\n");
  grant = read();
  EXPECT_FALSE(grant.knows_stalls);
  EXPECT_EQ(grant.collisions, 17U);
}

// ---- processors ---------------------------------------------------------------------------------

TEST_F(ContainerTest, NoQuota) {
  EXPECT_EQ(read_processors(), 0U);
  set_process("0::/a\n", kV2Mount);
  EXPECT_EQ(read_processors(), 0U);
  write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(read_processors(), 0U);
  write("/sys/fs/cgroup/a/cpu.max", "nonsense\n");
  EXPECT_EQ(read_processors(), 0U);
}

TEST_F(ContainerTest, QuotaIsRoundedUp) {
  set_process("0::/a\n", kV2Mount);
  for (const auto& [text, processors] : {std::pair("200000 100000", 2U),
                                         {"200001 100000", 3U},
                                         {"1000 100000", 1U},
                                         {"0 100000", 1U},
                                         {"50000 10000", 5U},
                                         {"99999999999999 1", 4294967295U}}) {
    write("/sys/fs/cgroup/a/cpu.max", std::string(text) + "\n");
    EXPECT_EQ(read_processors(), processors) << text;
  }
}

TEST_F(ContainerTest, TheSmallestQuotaAmongTheAncestorsCounts) {
  set_process("0::/a/b/c\n", kV2Mount);
  write("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  write("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  EXPECT_EQ(read_processors(), 3U);
  write("/sys/fs/cgroup/a/b/c/cpu.max", "150000 100000\n");
  EXPECT_EQ(read_processors(), 2U);
}

TEST_F(ContainerTest, QuotaOfV1) {
  set_process("9:pids:/a\n4:cpu,cpuacct:/outer/inner\n", kV1Mounts);
  write("/sys/fs/cgroup/cpu,cpuacct/outer/inner/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/outer/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_processors(), 0U);
  write("/sys/fs/cgroup/cpu,cpuacct/outer/cpu.cfs_quota_us", "250000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/outer/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_processors(), 3U);
  write("/sys/fs/cgroup/cpu,cpuacct/outer/inner/cpu.cfs_quota_us", "10000\n");
  EXPECT_EQ(read_processors(), 1U);
}

TEST(ContainerOfThisProcess, IsReadWithoutTouchingErrno) {
  errno = 4711;
  const MemoryGrant grant = read_memory_grant();
  EXPECT_EQ(errno, 4711);
  EXPECT_GT(grant.physical, 64 * kMib);
  EXPECT_GT(grant.limit, 0U);
}

// On any system, the counts never fall.
TEST(ContainerOfThisProcess, StallsAreCountedWhereTheKernelDoes) {
  const MemoryGrant before = read_memory_grant();
  std::string line;
  if (std::getline(std::ifstream("/proc/pressure/memory"), line)) {
    EXPECT_TRUE(before.knows_stalls);
  } else {
    std::puts("this kernel does not count stalls");
  }
  const MemoryGrant after = read_memory_grant();
  EXPECT_EQ(before.knows_stalls, after.knows_stalls);
  EXPECT_GE(after.stalled_us, before.stalled_us);
}

}  // namespace
}  // namespace corbel::os
