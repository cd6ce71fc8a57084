// Data that breaks nearest-neighbour programs, and the backends that every test runs on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/backend.h"

namespace kith::test {

struct Shape {
  std::int64_t n, d, k;
};

/// A kind of data. make(n, d, seed) gives values that are exact in float32 when `exact_in_float32`, and whole numbers
/// of eight bits when `bytes`.
struct Kind {
  const char* name;
  bool exact_in_float32;
  Matrix<double> (*make)(std::int64_t n, std::int64_t d, std::uint64_t seed);
  bool bytes = false;
};
const std::vector<Kind>& kinds();

/// Every n, d and k of the test plan, in combinations whose definition takes at most `work` multiply-adds.
std::vector<Shape> shapes(std::int64_t work);

/// Centroids for a shape: half of them rows of the points, the rest means of two rows, the last repeating the first.
Matrix<double> centroids_near(MatrixView<const double> points, std::int64_t k);

/// The same values as points of a class. f32 needs values that are exact in float32.
PointsMatrix as_class(MatrixView<const double> values, ValueClass c);

/// What points are stored as: bytes are uint8, or int8 where some value is negative.
enum class Stored { float32, float64, bytes };
const char* name_of(Stored stored);
/// All that hold the values of a kind exactly.
std::vector<Stored> storages(const Kind& kind);
PointsMatrix stored_as(MatrixView<const double> values, Stored stored);

/// A backend to test, opened; what it is called in messages.
struct Tested {
  std::string name;
  std::unique_ptr<Backend> backend;
};

/// Every backend of the table that this machine can open with these options. KITH_REQUIRE=cuda (or a comma-separated
/// list) makes a missing one a failure; otherwise a missing one is told on stderr once.
std::vector<Tested> tested_backends(const BackendOptions& options = {}, const ForcedPaths& forced = {});

/// The same, with the CPU backend once for each instruction set that this processor has, and a card's once for each of
/// the screens that it has and once with none named.
std::vector<Tested> every_backend(const BackendOptions& options = {}, const ForcedPaths& forced = {});

/// The same for rows of d columns that are multiplied by `others` rows: of the instruction sets that differ in their
/// coarse screens alone the best one where these are not used.
std::vector<Tested> every_screen(std::int64_t d, std::int64_t others, const BackendOptions& options = {},
                                 const ForcedPaths& forced = {});

/// A folder of the shared test data, empty (with a message) where it is absent.
std::string shared_data();

}  // namespace kith::test
