// SPDX-License-Identifier: Apache-2.0
// A ray tracer: spheres, boxes and a chequered floor, two lamps with soft shadows, reflections. It
// uses only + - * / and square roots of doubles, which IEEE 754 rounds the same everywhere, so the
// picture does not depend on the compiler nor on the order in which its tiles are drawn.
// rayon.rs holds the same tracer in Rust: change both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// A fused multiply-add would change last bits. GCC does not have this pragma, but it only fuses for
// processors that are known to have the instruction; the baseline of x86-64 does not.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

namespace tacheon {

struct Vector {
  double x = 0, y = 0, z = 0;
};

inline Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vector operator*(Vector a, Vector b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
inline Vector operator*(Vector a, double s) { return {a.x * s, a.y * s, a.z * s}; }
inline double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vector cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline Vector unit(Vector a) { return a * (1.0 / std::sqrt(dot(a, a))); }
inline Vector mix(Vector a, Vector b, double t) { return a * (1.0 - t) + b * t; }

struct Ray {
  Ray(Vector start, Vector unit_way)
      : from(start), way(unit_way), inverse{1.0 / way.x, 1.0 / way.y, 1.0 / way.z} {}

  Vector from;
  Vector way;  // of length 1
  Vector inverse;
};

struct Material {
  Vector colour;
  double shine = 0;   // strength of the highlight
  double mirror = 0;  // share of the light that is reflected
};

struct Sphere {
  Vector centre;
  double radius = 1;
  Material material;
};

struct Box {
  Vector low;
  Vector high;
  Material material;
};

struct Lamp {
  Vector place;
  Vector colour;
};

struct Hit {
  double distance = 1e30;  // nothing was hit
  Vector normal;
  Material material;
};

constexpr double kNear = 1e-6;  // any nearer, a ray meets the surface it comes from
constexpr int kMaxDepth = 4;    // reflections of reflections

// Clips the part of the ray in the box to the part between two of its sides. Sets `axis` to
// `number` if the ray enters the box there. A ray in the plane of a side gives a NaN, for which
// both comparisons are false: that pair of sides then does not count.
inline void narrow(double low, double high, double from, double inverse, int number, double& begin,
                   double& end, int& axis) {
  double first = (low - from) * inverse;
  double second = (high - from) * inverse;
  if (first > second) std::swap(first, second);
  if (first > begin) {
    begin = first;
    axis = number;
  }
  if (second < end) end = second;
}

// The distance at which the ray enters the box, or a negative number.
inline double enter(const Vector& low, const Vector& high, const Ray& ray, int& axis) {
  double begin = -1e30;
  double end = 1e30;
  narrow(low.x, high.x, ray.from.x, ray.inverse.x, 0, begin, end, axis);
  narrow(low.y, high.y, ray.from.y, ray.inverse.y, 1, begin, end, axis);
  narrow(low.z, high.z, ray.from.z, ray.inverse.z, 2, begin, end, axis);
  return begin <= end ? begin : -1;
}

// The distance at which the ray meets the sphere from outside, or a negative number.
inline double meet(const Sphere& sphere, const Ray& ray) {
  const Vector to = sphere.centre - ray.from;
  const double along = dot(to, ray.way);
  const double inside = sphere.radius * sphere.radius - (dot(to, to) - along * along);
  return inside < 0 ? -1 : along - std::sqrt(inside);
}

struct Scene {
  std::vector<Sphere> spheres;
  std::vector<Box> boxes;
  Vector low;  // bounds of all boxes, so that most rays need not test each
  Vector high;
  Lamp lamps[2];

  Hit nearest(const Ray& ray) const {
    double nearest = 1e30;
    const Sphere* sphere_met = nullptr;
    for (const Sphere& sphere : spheres) {
      const double distance = meet(sphere, ray);
      if (distance <= kNear || distance >= nearest) continue;
      nearest = distance;
      sphere_met = &sphere;
    }
    const Box* box_met = nullptr;
    int axis_met = 0;
    if (near_boxes(ray)) {
      for (const Box& box : boxes) {
        int axis = 0;
        const double distance = enter(box.low, box.high, ray, axis);
        if (distance <= kNear || distance >= nearest) continue;
        nearest = distance;
        box_met = &box;
        axis_met = axis;
      }
    }
    const double floor = -ray.from.y * ray.inverse.y;
    if (floor > kNear && floor < nearest) {
      return {floor, {0, 1, 0}, floor_at(ray.from + ray.way * floor)};
    }
    if (box_met) {
      const Vector normal = {axis_met == 0 ? (ray.way.x > 0 ? -1.0 : 1.0) : 0.0,
                             axis_met == 1 ? (ray.way.y > 0 ? -1.0 : 1.0) : 0.0,
                             axis_met == 2 ? (ray.way.z > 0 ? -1.0 : 1.0) : 0.0};
      return {nearest, normal, box_met->material};
    }
    if (sphere_met) {
      const Vector out = ray.from + ray.way * nearest - sphere_met->centre;
      return {nearest, out * (1.0 / sphere_met->radius), sphere_met->material};
    }
    return {};
  }

  bool shadowed(const Ray& ray, double distance) const {
    for (const Sphere& sphere : spheres) {
      const double met = meet(sphere, ray);
      if (met > kNear && met < distance) return true;
    }
    if (!near_boxes(ray)) return false;
    int axis = 0;
    for (const Box& box : boxes) {
      const double met = enter(box.low, box.high, ray, axis);
      if (met > kNear && met < distance) return true;
    }
    return false;
  }

  // `jitter`, from 0 to 1 in each direction, moves the lamps: several samples make soft shadows.
  Vector colour(const Ray& ray, double jitter_x, double jitter_z, int depth) const {
    const Hit hit = nearest(ray);
    if (hit.distance >= 1e30) return sky(ray.way);
    const Vector place = ray.from + ray.way * hit.distance;
    const Vector start = place + hit.normal * 1e-4;
    Vector light = hit.material.colour * Vector{0.16, 0.18, 0.24};
    Vector highlight;
    for (const Lamp& lamp : lamps) {
      const Vector moved = {jitter_x - 0.5, 0, jitter_z - 0.5};
      const Vector to = lamp.place + moved - start;
      const double distance = std::sqrt(dot(to, to));
      const Vector way = to * (1.0 / distance);
      const double facing = dot(way, hit.normal);
      if (facing <= 0 || shadowed(Ray(start, way), distance)) continue;
      light = light + hit.material.colour * lamp.colour * facing;
      const double glance = dot(unit(way - ray.way), hit.normal);
      double power = glance;
      for (int i = 0; i < 6; ++i) power = power * power;
      highlight = highlight + lamp.colour * (power * hit.material.shine);
    }
    if (hit.material.mirror > 0 && depth < kMaxDepth) {
      const double facing = -dot(ray.way, hit.normal);
      const Vector way = unit(ray.way + hit.normal * (2.0 * facing));
      // Schlick's approximation: at a glancing angle everything mirrors.
      const double rest = 1.0 - std::max(0.0, facing);
      const double share =
          hit.material.mirror + (1.0 - hit.material.mirror) * (rest * rest * rest * rest * rest);
      light = mix(light, colour(Ray(start, way), jitter_x, jitter_z, depth + 1), share);
    }
    return mix(light + highlight, sky(ray.way), haze(hit.distance));
  }

 private:
  bool near_boxes(const Ray& ray) const {
    int axis = 0;
    const bool inside = ray.from.x >= low.x && ray.from.x <= high.x && ray.from.y >= low.y &&
                        ray.from.y <= high.y && ray.from.z >= low.z && ray.from.z <= high.z;
    return inside || enter(low, high, ray, axis) > kNear;
  }

  static Material floor_at(const Vector& place) {
    const auto column = static_cast<std::int64_t>(std::floor(place.x));
    const auto row = static_cast<std::int64_t>(std::floor(place.z));
    const bool dark = (column + row) & 1;
    return {dark ? Vector{0.16, 0.19, 0.26} : Vector{0.78, 0.74, 0.66}, 0.1, dark ? 0.16 : 0.06};
  }

  static Vector sky(const Vector& way) {
    const double up = std::max(0.0, way.y);
    const double rise = 1.0 - (1.0 - up) * (1.0 - up) * (1.0 - up);
    return mix({0.98, 0.72, 0.50}, {0.16, 0.33, 0.66}, rise);
  }

  static double haze(double distance) {
    const double far = distance * 0.03;
    return far * far / (1.0 + far * far);
  }
};

// A number from 0 to 1 for a stone: each has its own shade.
inline double shade(std::uint32_t stone) {
  const std::uint32_t mixed = (stone + 1) * 2654435761u;
  return static_cast<double>(mixed >> 16) / 65536.0;
}

// A corbel arch: every course of stones projects a little beyond the one below, until the two sides
// meet under a capstone. Spheres lie around it.
inline Scene corbel_arch() {
  Scene scene;
  constexpr int kCourses = 7;
  std::uint32_t stone = 0;
  const auto put = [&](Vector low, Vector high) {
    const double light = 0.80 + 0.28 * shade(stone++);
    scene.boxes.push_back({low, high, {Vector{0.82, 0.68, 0.52} * light, 0.05, 0}});
  };
  for (int i = 0; i < kCourses; ++i) {
    const double bottom = 0.5 * i;
    const double top = bottom + 0.48;  // the joints between the courses stay dark
    const double inner = 2.2 - 0.05 * i * i - 0.03 * i;
    for (int side = -1; side <= 1; side += 2) {
      for (int half = 0; half < 2; ++half) {
        const double middle = inner + (i % 2 == 0 ? 0.55 : 0.95);
        const double from = half == 0 ? inner : middle + 0.02;
        const double to = half == 0 ? middle : 3.6;
        put({side < 0 ? -to : from, bottom, -0.6}, {side < 0 ? -from : to, top, 0.6});
      }
    }
  }
  put({-1.6, 0.5 * kCourses, -0.6}, {1.6, 0.5 * kCourses + 0.42, 0.6});
  put({-3.6, 0.5 * kCourses, -0.6}, {-1.62, 0.5 * kCourses + 0.42, 0.6});
  put({1.62, 0.5 * kCourses, -0.6}, {3.6, 0.5 * kCourses + 0.42, 0.6});
  scene.low = {-3.6, 0, -0.6};
  scene.high = {3.6, 0.5 * kCourses + 0.42, 0.6};

  const auto ball = [&](double x, double z, double radius, Vector colour, double shine,
                        double mirror) {
    scene.spheres.push_back({{x, radius, z}, radius, {colour, shine, mirror}});
  };
  ball(0.0, 0.2, 1.05, {0.95, 0.95, 0.97}, 0.9, 0.85);  // the mirror under the arch
  ball(-2.6, -2.4, 0.62, {0.78, 0.10, 0.12}, 0.8, 0.15);
  ball(2.3, -2.9, 0.50, {0.08, 0.42, 0.46}, 0.8, 0.15);
  ball(1.35, -2.0, 0.30, {0.95, 0.70, 0.12}, 0.8, 0.10);
  ball(-1.2, -3.3, 0.34, {0.92, 0.92, 0.90}, 0.8, 0.40);
  ball(-3.9, -1.4, 0.40, {0.15, 0.30, 0.70}, 0.8, 0.15);
  ball(4.4, 0.8, 0.85, {0.45, 0.20, 0.55}, 0.8, 0.20);
  ball(-5.2, 2.6, 1.10, {0.20, 0.50, 0.25}, 0.6, 0.10);
  scene.spheres.push_back(
      {{0, 0.5 * kCourses + 0.42 + 0.45, 0}, 0.45, {{0.95, 0.76, 0.35}, 1.0, 0.45}});
  scene.lamps[0] = {{-5.5, 8.0, -7.5}, {0.86, 0.78, 0.66}};
  scene.lamps[1] = {{7.0, 5.5, -4.0}, {0.20, 0.24, 0.34}};
  return scene;
}

}  // namespace tacheon
