// SPDX-License-Identifier: Apache-2.0
// For test_open3d.py: what Open3D's algorithms, old and tensor interface, make of points on a
// surface. Argument: the number of points.
#include <open3d/Open3D.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace open3d;

static geometry::PointCloud points_on_ring(unsigned seed, int count) {
  std::mt19937 random(seed);
  const auto angle = [&] { return 6.283 * (random() * 0x1p-32); };
  geometry::PointCloud cloud;
  for (int i = 0; i < count; ++i) {
    const double u = angle();
    const double v = angle();
    cloud.points_.push_back({(3 + std::cos(v)) * std::cos(u), (3 + std::cos(v)) * std::sin(u),
                             std::sin(v) + 0.2 * std::sin(5 * u)});
  }
  return cloud;
}

static void show(const char* what, const geometry::PointCloud& cloud) {
  Eigen::Vector3d points = Eigen::Vector3d::Zero();
  Eigen::Vector3d normals = Eigen::Vector3d::Zero();
  for (const auto& p : cloud.points_) points += p;
  for (const auto& n : cloud.normals_) normals += n.cwiseAbs();
  std::printf("result %s: %zu, %.9f %.9f %.9f, %.9f %.9f %.9f\n", what, cloud.points_.size(),
              points[0], points[1], points[2], normals[0], normals[1], normals[2]);
}

static void neighbors(const geometry::PointCloud& cloud) {
  const core::Tensor points = core::eigen_converter::EigenVector3dVectorToTensor(
      cloud.points_, core::Float32, core::Device("CPU:0"));
  core::nns::NearestNeighborSearch search(points);
  search.KnnIndex();
  const auto [indices, distances] = search.KnnSearch(points, 8);
  std::printf("result nearest: %lld, %.6f\n",
              static_cast<long long>(indices.To(core::Int64).Sum({0, 1}).Item<int64_t>()),
              distances.To(core::Float64).Sum({0, 1}).Item<double>());
  search.FixedRadiusIndex(0.1);
  const auto found = search.FixedRadiusSearch(points, 0.1);
  std::printf("result in radius: %lld\n", static_cast<long long>(std::get<0>(found).GetLength()));
  t::geometry::PointCloud tensor_cloud(points);
  tensor_cloud.EstimateNormals(20);
  const auto voxels = tensor_cloud.VoxelDownSample(0.1);
  std::printf("result voxels of tensors: %lld\n",
              static_cast<long long>(voxels.GetPointPositions().GetLength()));
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 8000;
  auto cloud = points_on_ring(1, count);
  cloud.EstimateNormals(geometry::KDTreeSearchParamKNN(20));
  cloud.OrientNormalsTowardsCameraLocation({0, 0, 10});
  show("normals", cloud);
  const auto voxels = cloud.VoxelDownSample(0.2);
  show("voxels", *voxels);
  show("without outliers", *std::get<0>(cloud.RemoveStatisticalOutliers(10, 1.0)));
  show("dense", *std::get<0>(cloud.RemoveRadiusOutliers(10, 0.2)));
  const auto clusters = voxels->ClusterDBSCAN(0.25, 5);
  std::printf("result clusters: %d\n", 1 + *std::max_element(clusters.begin(), clusters.end()));
  auto moved = points_on_ring(2, count / 2);
  Eigen::Matrix4d shift = Eigen::Matrix4d::Identity();
  shift(0, 3) = 0.05;
  shift(1, 3) = -0.03;
  moved.Transform(shift);
  namespace registration = pipelines::registration;
  const auto icp =
      registration::RegistrationICP(moved, cloud, 0.3, Eigen::Matrix4d::Identity(),
                                    registration::TransformationEstimationPointToPlane());
  std::printf("result registration: %zu, %.6f, %.6f\n", icp.correspondence_set_.size(),
              icp.fitness_, icp.inlier_rmse_);
  const auto features =
      registration::ComputeFPFHFeature(*voxels, geometry::KDTreeSearchParamHybrid(0.3, 50));
  std::printf("result features: %.6f\n", features->data_.sum());
  neighbors(cloud);
  std::puts("result end");
}
