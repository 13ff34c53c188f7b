// SPDX-License-Identifier: Apache-2.0
// Builds Delaunay triangulations and a mesh with CGAL, and prints what does not depend on the order
// in which threads insert points. The concurrency is the one that it is compiled for: PARALLEL=1
// needs TBB's headers and library, PARALLEL=0 does not.
#include <CGAL/Delaunay_triangulation_3.h>
#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Spatial_lock_grid_3.h>
#include <CGAL/Triangulation_data_structure_3.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#if MESH
#include <CGAL/Labeled_mesh_domain_3.h>
#include <CGAL/Mesh_complex_3_in_triangulation_3.h>
#include <CGAL/Mesh_criteria_3.h>
#include <CGAL/Mesh_triangulation_3.h>
#include <CGAL/make_mesh_3.h>
#endif

#if PARALLEL
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#endif

namespace {

using Kernel = CGAL::Exact_predicates_inexact_constructions_kernel;
using Point = Kernel::Point_3;
#if PARALLEL
using Tag = CGAL::Parallel_tag;
#else
using Tag = CGAL::Sequential_tag;
#endif

unsigned state = 12345;

double coordinate() { return (state = state * 1664525U + 1013904223U) / 4294967296.0; }

#if MESH

using Domain = CGAL::Labeled_mesh_domain_3<Kernel>;
using Mesh = CGAL::Mesh_triangulation_3<Domain, CGAL::Default, Tag>::type;
using Complex = CGAL::Mesh_complex_3_in_triangulation_3<Mesh>;
using Criteria = CGAL::Mesh_criteria_3<Mesh>;

Kernel::FT torus(const Point& p) {
  const double from_ring = std::sqrt(p.x() * p.x() + p.y() * p.y()) - 1;
  return from_ring * from_ring + p.z() * p.z() - 0.16;
}

// Threads refine a mesh in any order, so its size varies by a few per cent: the sizes go to
// standard error, and what every such mesh has to standard output.
void use() {
  namespace parameters = CGAL::parameters;
  const Domain domain =
      Domain::create_implicit_mesh_domain(torus, Kernel::Sphere_3(CGAL::ORIGIN, 4));
  const Criteria criteria(parameters::facet_angle = 25, parameters::facet_size = 0.06,
                          parameters::facet_distance = 0.01, parameters::cell_radius_edge_ratio = 3,
                          parameters::cell_size = 0.06);
  const Complex mesh = CGAL::make_mesh_3<Complex>(domain, criteria, parameters::no_perturb(),
                                                  parameters::no_exude());
  double volume = 0;
  for (auto cell = mesh.cells_in_complex_begin(); cell != mesh.cells_in_complex_end(); ++cell) {
    volume += mesh.triangulation().tetrahedron(cell).volume();
  }
  const auto is_near = [](double value, double expected) {
    return std::abs(value / expected - 1) < 0.05;
  };
  const auto vertices = mesh.triangulation().number_of_vertices();
  const auto facets = mesh.number_of_facets_in_complex();
  const auto cells = mesh.number_of_cells_in_complex();
  std::fprintf(stderr, "%zu vertices, %zu facets, %zu cells, volume %.4f\n", std::size_t(vertices),
               std::size_t(facets), std::size_t(cells), volume);
  // The sizes are those of the sequential algorithm; the volume is the torus's.
  std::printf("valid %d, size %d, volume %d\n", mesh.triangulation().is_valid(),
              is_near(vertices, 12500) && is_near(facets, 7200) && is_near(cells, 68000),
              is_near(volume, 3.158));
}

#else

using Base =
    CGAL::Triangulation_data_structure_3<CGAL::Triangulation_vertex_base_3<Kernel>,
                                         CGAL::Delaunay_triangulation_cell_base_3<Kernel>, Tag>;
using Delaunay = CGAL::Delaunay_triangulation_3<Kernel, Base>;

// The triangulation of random points is unique, whatever the order.
void show(const char* what, const Delaunay& mesh) {
  double longest = 0;
  for (const auto& edge : mesh.finite_edges()) {
    longest = std::max(longest, mesh.segment(edge).squared_length());
  }
  std::printf("%s: %d %zu %zu %zu %zu %.17g\n", what, mesh.is_valid(),
              std::size_t(mesh.number_of_vertices()), std::size_t(mesh.number_of_finite_edges()),
              std::size_t(mesh.number_of_finite_facets()),
              std::size_t(mesh.number_of_finite_cells()), longest);
}

void use() {
  std::vector<Point> points;
  for (int i = 0; i < 40000; ++i) {
    const double x = coordinate(), y = coordinate(), z = coordinate();
    points.emplace_back(x, y, z);
  }
#if PARALLEL
  const CGAL::Bbox_3 box(0, 0, 0, 1, 1, 1);
  Delaunay::Lock_data_structure locks(box, 50);
  Delaunay mesh(points.begin(), points.end(), &locks);
#else
  Delaunay mesh(points.begin(), points.end());
#endif
  show("inserted", mesh);
  std::vector<Delaunay::Vertex_handle> every_third;
  for (auto vertex : mesh.finite_vertex_handles()) {
    const Point& p = vertex->point();
    if (static_cast<int>(p.x() * 4096) % 3 == 0) every_third.push_back(vertex);
  }
  mesh.remove(every_third.begin(), every_third.end());
  show("removed", mesh);
}

#endif

}  // namespace

// cgal_client <number of threads>
int main(int, char** arguments) {
#if PARALLEL
  const int count = std::atoi(arguments[1]);
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, count);
  tbb::task_arena(count).execute(use);
#else
  static_cast<void>(arguments);
  use();
#endif
  return 0;
}
