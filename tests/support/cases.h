// Data that is difficult for nearest-neighbour programs, and the backends that every test runs on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/points/backend.h"

namespace kith::test {

/// The sum of four uniform random numbers, which the arguments determine, minus 2: almost normal.
double centered_sum(std::uint64_t seed, std::int64_t i, std::int64_t j);

struct Shape {
  std::int64_t n, d, k;
};

/// A kind of data. The values of make(n, d, seed) are exact in float32 if `exact_in_float32`, and whole numbers of
/// eight bits if `bytes`.
struct Kind {
  const char* name;
  bool exact_in_float32;
  Matrix<double> (*make)(std::int64_t n, std::int64_t d, std::uint64_t seed);
  bool bytes = false;
};
const std::vector<Kind>& kinds();

/// Combinations of n, d and k in which the definition takes at most `work` multiply-adds.
std::vector<Shape> shapes(std::int64_t work);

/// Centroids for a shape: half of them rows of the points, the rest means of two rows, the last repeating the first.
Matrix<double> centroids_near(MatrixView<const double> points, std::int64_t k);

/// The same values as points of a class. f32 needs values that are exact in float32.
PointsMatrix as_class(MatrixView<const double> values, ValueClass c);

/// Storage types of points: bytes are uint8, or int8 if a value is negative.
enum class Stored { float32, float64, bytes };
const char* name_of(Stored stored);
/// The storage types that hold the values of a kind exactly.
std::vector<Stored> storages(const Kind& kind);
PointsMatrix stored_as(MatrixView<const double> values, Stored stored);

/// An open backend to test, with its name for messages.
struct Tested {
  std::string name;
  std::unique_ptr<Backend> backend;
};

/// Every backend of the table that this machine can open with these options. KITH_REQUIRE=cuda (or a comma-separated
/// list) makes a missing one a failure; otherwise a missing one is reported on stderr once.
std::vector<Tested> tested_backends(const BackendOptions& options = {}, const ForcedPaths& forced = {});

/// The same, with the CPU backend once for each instruction set of this processor, and a GPU backend once for each of
/// its screens and once with the default screen.
std::vector<Tested> every_backend(const BackendOptions& options = {}, const ForcedPaths& forced = {});

/// The same for rows of d columns that are multiplied by `others` rows. If the coarse screens are not used, only the
/// best of the instruction sets that differ in nothing else.
std::vector<Tested> every_screen(std::int64_t d, std::int64_t others, const BackendOptions& options = {},
                                 const ForcedPaths& forced = {});

/// Options for part p of several: each takes the next of the GPUs that there are.
BackendOptions options_of_part(const BackendEntry& entry, int part);
/// Rows divided among three GPUs, or parts of fewer, in the ways in which they exchange sums. No CPU: it iterates one
/// operation at a time, as composed_points_test does.
std::vector<Tested> composed_backends();

/// A folder of the shared test data; empty, with a message, if it is absent.
std::string shared_data();

}  // namespace kith::test
