// SPDX-License-Identifier: Apache-2.0
// Builds level sets with OpenVDB, filters, joins and measures them, makes surfaces of them, and
// prints what came out. Its grids have a tree of their own shape: then nothing that depends on TBB
// comes from OpenVDB's library, which was compiled against oneTBB.
#include <openvdb/version.h>
#undef OPENVDB_USE_EXPLICIT_INSTANTIATION

#include <openvdb/Grid.h>
#include <openvdb/tools/Composite.h>
#include <openvdb/tools/LevelSetFilter.h>
#include <openvdb/tools/LevelSetMeasure.h>
#include <openvdb/tools/LevelSetSphere.h>
#include <openvdb/tools/VolumeToMesh.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#if CONVERT  // takes half as long again to compile
#include <openvdb/tools/GridOperators.h>
#include <openvdb/tools/MeshToVolume.h>
#endif

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using openvdb::Vec3s;
using Tree = openvdb::tree::Tree4<float, 4, 3, 4>::Type;
using Grid = openvdb::Grid<Tree>;

// Sums that do not depend on the order in which threads add.
void show(const char* what, const Grid& grid) {
  long long inside = 0, values = 0;
  for (auto value = grid.cbeginValueOn(); value; ++value) {
    const auto at = value.getCoord();
    inside += *value < 0;
    values += std::llround(*value * 1e4) * (1 + (at.x() * 7 + at.y() * 13 + at.z() * 29) % 101);
  }
  std::printf("%s: %llu voxels, %lld inside, values %lld\n", what,
              static_cast<unsigned long long>(grid.activeVoxelCount()), inside, values);
}

void show_surface(const char* what, const Grid& grid, double adaptivity) {
  std::vector<Vec3s> points;
  std::vector<openvdb::Vec3I> triangles;
  std::vector<openvdb::Vec4I> quads;
  openvdb::tools::volumeToMesh(grid, points, triangles, quads, 0, adaptivity);
  double sum = 0;
  for (const Vec3s& point : points) sum += std::abs(point.x()) + point.y() * point.y();
  std::printf("%s: %zu points, %zu triangles, %zu quads, %.2f\n", what, points.size(),
              triangles.size(), quads.size(), sum);
}

Grid::Ptr ball(float radius, float x) {
  return openvdb::tools::createLevelSetSphere<Grid>(radius, Vec3s(x, 0, 0), 0.5F, 3.0F);
}

void filter() {
  const Grid::Ptr grid = ball(20, 0);
  show("ball", *grid);
  openvdb::tools::csgUnion(*grid, *ball(15, 18));
  openvdb::tools::csgDifference(*grid, *ball(10, -14));
  show("joined", *grid);
  openvdb::tools::LevelSetFilter<Grid> filter(*grid);
  filter.gaussian(1);
  show("gaussian", *grid);
  filter.mean(1);
  show("mean", *grid);
  filter.median(1);
  show("median", *grid);
  filter.laplacian();
  show("laplacian", *grid);
  filter.meanCurvature();
  show("curvature", *grid);
  filter.offset(-1);
  show("offset", *grid);
  std::printf("area %.1f, volume %.1f\n", openvdb::tools::levelSetArea(*grid),
              openvdb::tools::levelSetVolume(*grid));
  show_surface("surface", *grid, 0);
  show_surface("adaptive surface", *grid, 0.5);
}

#if CONVERT

// A surface becomes a level set again.
void convert() {
  const Grid::Ptr grid = ball(12, 3);
  std::vector<Vec3s> points;
  std::vector<openvdb::Vec4I> quads;
  openvdb::tools::volumeToMesh(*grid, points, quads);
  const Grid::Ptr again =
      openvdb::tools::meshToLevelSet<Grid>(grid->transform(), points, quads, 3.0F);
  show("converted", *again);
  const auto gradient = openvdb::tools::gradient(*again);
  long long sum = 0;
  for (auto value = gradient->cbeginValueOn(); value; ++value) {
    sum += std::llround(value->length() * 1e3);
  }
  std::printf("gradient: %llu voxels, %lld\n",
              static_cast<unsigned long long>(gradient->activeVoxelCount()), sum);
}

#endif

}  // namespace

// openvdb_client <number of threads>
int main(int, char** arguments) {
  const int count = std::atoi(arguments[1]);
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, count);
  tbb::task_arena(count).execute([] {
    filter();
#if CONVERT
    convert();
#endif
  });
  return 0;
}
