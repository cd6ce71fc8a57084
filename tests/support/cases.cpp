// Data that is difficult for nearest-neighbour programs, and the backends that every test runs on.
#include "tests/support/cases.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <tuple>

#include "core/numbers/philox.h"
#include "core/points/composed_points.h"
#include "kernels/cpu/instructions/instructions.h"
#include "tests/support/skipped.h"

namespace kith::test {
namespace {

double uniform(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  return static_cast<double>(random_bits(seed, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)) >> 11) *
         0x1p-53;
}
double normal(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  double sum = -6.0;
  for (std::uint64_t part = 0; part < 12; ++part) sum += uniform(seed + part, i, j);
  return sum;
}
double rounded(double v) { return static_cast<double>(static_cast<float>(v)); }

template <class Value>
Matrix<double> fill(std::int64_t n, std::int64_t d, const Value& value) {
  Matrix<double> m(n, d);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < d; ++j) m(i, j) = value(i, j);
  }
  return m;
}

/// normal(seed, i, j) for n rows and d columns. Several kinds use the same numbers, which are kept for the next.
class Normals {
 public:
  Normals(std::uint64_t seed, std::int64_t n, std::int64_t d) {
    constexpr std::int64_t kMostKept = 1 << 22;
    static std::map<std::tuple<std::uint64_t, std::int64_t, std::int64_t>, std::shared_ptr<const Matrix<double>>> kept;
    static std::int64_t total = 0;
    std::shared_ptr<const Matrix<double>>& mine = kept[{seed, n, d}];
    if (mine == nullptr) {
      mine = std::make_shared<const Matrix<double>>(fill(n, d, [=](auto i, auto j) { return normal(seed, i, j); }));
      total += n * d;
    }
    values_ = mine;
    if (total <= kMostKept) return;
    kept.clear();
    total = 0;
  }
  double operator()(std::int64_t i, std::int64_t j) const { return (*values_)(i, j); }

 private:
  std::shared_ptr<const Matrix<double>> values_;
};

Matrix<double> blobs(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals centers(seed, 7, d), at(seed + 20, n, d);
  return fill(n, d, [&](auto i, auto j) { return rounded(10 * centers(i % 7, j) + at(i, j)); });
}
Matrix<double> uniforms(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  return fill(n, d, [=](auto i, auto j) { return rounded(uniform(seed, i, j)); });
}
/// Whole numbers 0 to 3: many distances are equal.
Matrix<double> integers(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  return fill(n, d, [=](auto i, auto j) { return std::floor(4 * uniform(seed, i, j)); });
}
Matrix<double> all_equal(std::int64_t n, std::int64_t d, std::uint64_t) {
  return fill(n, d, [](auto, auto j) { return rounded(0.1 * static_cast<double>(j + 1)); });
}
Matrix<double> duplicates(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals rows(seed, 5, d);
  return fill(n, d, [&](auto i, auto j) { return rounded(rows(i % 5, j)); });
}
/// Far from the origin: expanding |x - c|^2 in float32 loses all digits.
Matrix<double> offset(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals at(seed, n, d);
  return fill(n, d, [&](auto i, auto j) { return rounded(1e6 + at(i, j)); });
}
Matrix<double> one_wide_column(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals at(seed, n, d);
  return fill(n, d, [&](auto i, auto j) { return rounded(at(i, j) * (j == d / 2 ? 1e4 : 1.0)); });
}
/// Unit vectors that differ by 1e-4 or less.
Matrix<double> near_duplicate_units(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals centers(seed, 3, d), at(seed + 20, n, d);
  Matrix<double> m = fill(n, d, [&](auto i, auto j) { return centers(i % 3, j) + 1e-4 * at(i, j); });
  for (std::int64_t i = 0; i < n; ++i) {
    double length = 0;
    for (const double v : m.row(i)) length += v * v;
    for (double& v : m.row(i)) v = rounded(v / std::sqrt(length));
  }
  return m;
}
Matrix<double> subnormals(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  return fill(n, d, [=](auto i, auto j) { return std::floor(200 * uniform(seed, i, j)) * 0x1p-149; });
}
Matrix<double> near_float32_limit(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  return fill(n, d, [=](auto i, auto j) { return rounded(3.4e38 * (2 * uniform(seed, i, j) - 1)); });
}
/// A few huge values in a column of small ones: sums need two limbs.
Matrix<double> heavy_tails(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals at(seed, n, d);
  return fill(n, d, [&](auto i, auto j) { return rounded(at(i, j) * (i % 97 == 0 ? 1e12 : 1e-3)); });
}
/// One row in fifty holds a marker of missing values, which dominates the mean of its column.
Matrix<double> fill_values(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals at(seed, n, d);
  return fill(n, d, [&](auto i, auto j) {
    return rounded(i % 50 == 7 && j == 0 ? 1e20 : 10 * static_cast<double>(i % 3) + at(i, j));
  });
}
/// Rows 1e-7 apart, and one large column: sums of products with few bits lose the differences.
Matrix<double> near_ties(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals centers(seed, 3, d), at(seed + 20, n, d);
  return fill(n, d, [&](auto i, auto j) {
    return rounded((j == 0 ? 1000.0 * static_cast<double>(i % 2) : centers(i % 3, j)) + 1e-7 * at(i, j));
  });
}
/// Values that float32 cannot represent, which differ in the last bits of float64.
Matrix<double> fine_float64(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals at(seed, n, d);
  return fill(n, d, [&](auto i, auto j) { return 1.0 / 3 + 1e-13 * at(i, j); });
}
Matrix<double> wide_float64(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals at(seed, n, d);
  return fill(n, d, [&](auto i, auto j) { return at(i, j) * (i % 2 == 0 ? 1e150 : 1e140); });
}
Matrix<double> tiny_float64(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals at(seed, n, d);
  return fill(n, d, [&](auto i, auto j) { return at(i, j) * 1e-310; });
}
/// Blobs of whole numbers of eight bits, with ties and repeated rows.
Matrix<double> bytes(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  const Normals centers(seed, 7, d), at(seed + 20, 300, d);
  return fill(n, d, [&](auto i, auto j) {
    const double value = 128 + 60 * centers(i % 7, j) + 20 * at(i % 300, j);
    return std::clamp(std::nearbyint(value) + 0.0, 0.0, 255.0);  // no negative zero
  });
}
Matrix<double> signed_bytes(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  Matrix<double> m = bytes(n, d, seed);
  for (std::int64_t i = 0; i < m.size(); ++i) m.data()[i] -= 128;
  return m;
}

template <class T>
Matrix<T> exactly(MatrixView<const double> values) {
  Matrix<T> m(values.rows, values.columns);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    m.data()[i] = static_cast<T>(values.data[i]);
    if (static_cast<double>(m.data()[i]) != values.data[i]) throw std::logic_error("test data not exact in their type");
  }
  return m;
}

}  // namespace

double centered_sum(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  double sum = -2.0;
  for (std::uint64_t part = 0; part < 4; ++part) sum += uniform(4 * seed + part, i, j);
  return sum;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table{{"blobs", true, blobs},
                                       {"uniform", true, uniforms},
                                       {"integers with ties", true, integers, true},
                                       {"all equal", true, all_equal},
                                       {"duplicates", true, duplicates},
                                       {"offset 1e6", true, offset},
                                       {"one column 1e4 times larger", true, one_wide_column},
                                       {"near-duplicate unit vectors", true, near_duplicate_units},
                                       {"subnormals", true, subnormals},
                                       {"near the float32 limit", true, near_float32_limit},
                                       {"heavy tails", true, heavy_tails},
                                       {"fill values", true, fill_values},
                                       {"near ties beside a large column", true, near_ties},
                                       {"fine float64", false, fine_float64},
                                       {"wide float64", false, wide_float64},
                                       {"tiny float64", false, tiny_float64},
                                       {"bytes", true, bytes, true},
                                       {"signed bytes", true, signed_bytes, true}};
  return table;
}

std::vector<Shape> shapes(std::int64_t work) {
  const std::vector<std::int64_t> ns{1, 2, 31, 32, 33, 255, 256, 257, 1021};
  const std::vector<std::int64_t> ds{1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 127, 128, 129, 384, 768, 1024, 1025, 4097};
  const std::vector<std::int64_t> ks{1, 2, 7, 64, 1000, -1};  // -1: k = n
  std::vector<Shape> chosen;
  std::set<std::pair<std::int64_t, std::int64_t>> seen_nd, seen_dk, seen_nk;
  // Every possible pair of values occurs at least once.
  for (const std::int64_t n : ns) {
    for (const std::int64_t d : ds) {
      for (std::int64_t k : ks) {
        k = k < 0 ? n : k;
        if (k > n || n * d * k > work) continue;
        const bool fresh = !seen_nd.count({n, d}) || !seen_dk.count({d, k}) || !seen_nk.count({n, k});
        if (!fresh) continue;
        seen_nd.insert({n, d});
        seen_dk.insert({d, k});
        seen_nk.insert({n, k});
        chosen.push_back({n, d, k});
      }
    }
  }
  return chosen;
}

Matrix<double> centroids_near(MatrixView<const double> points, std::int64_t k) {
  Matrix<double> centroids(k, points.columns);
  for (std::int64_t c = 0; c < k; ++c) {
    const auto a = points.row((c * 7 + 1) % points.rows), b = points.row((c * 13 + 5) % points.rows);
    for (std::int64_t j = 0; j < points.columns; ++j) centroids(c, j) = c % 2 == 0 ? a[j] : a[j] / 2 + b[j] / 2;
  }
  if (k > 2) std::copy(centroids.row(0).begin(), centroids.row(0).end(), centroids.row(k - 1).begin());
  return centroids;
}

PointsMatrix as_class(MatrixView<const double> values, ValueClass c) {
  return stored_as(values, c == ValueClass::f32 ? Stored::float32 : Stored::float64);
}

const char* name_of(Stored stored) {
  return stored == Stored::float32 ? "float32" : stored == Stored::float64 ? "float64" : "bytes";
}

std::vector<Stored> storages(const Kind& kind) {
  if (kind.bytes) return {Stored::float32, Stored::float64, Stored::bytes};
  if (kind.exact_in_float32) return {Stored::float32, Stored::float64};
  return {Stored::float64};
}

PointsMatrix stored_as(MatrixView<const double> values, Stored stored) {
  if (stored == Stored::float32) return exactly<float>(values);
  if (stored == Stored::float64) return exactly<double>(values);
  const bool negative = std::any_of(values.data, values.data + values.size(), [](double v) { return v < 0; });
  if (negative) return exactly<std::int8_t>(values);
  return exactly<std::uint8_t>(values);
}

std::vector<Tested> tested_backends(const BackendOptions& options, const ForcedPaths& forced) {
  const char* required = std::getenv("KITH_REQUIRE");
  std::vector<Tested> opened;
  for (const BackendEntry& entry : backends()) {
    const std::string reason = entry.missing(options);
    if (reason.empty()) {
      opened.push_back({entry.name, entry.open(options, forced)});
    } else if (required != nullptr && std::string(required).find(entry.name) != std::string::npos) {
      throw std::runtime_error("KITH_REQUIRE names " + std::string(entry.name) + ", but: " + reason);
    } else {
      static std::set<std::string> reported;
      if (reported.insert(entry.name).second) {
        testing::skipped(std::string("here and in other cases of this program, backend ") + entry.name + ": " + reason);
      }
    }
  }
  return opened;
}

std::vector<Tested> every_backend(const BackendOptions& options, const ForcedPaths& forced) {
  return every_screen(std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::max(), options,
                      forced);
}

std::vector<Tested> every_screen(std::int64_t d, std::int64_t others, const BackendOptions& options,
                                 const ForcedPaths& forced) {
  std::vector<Tested> opened;
  for (Tested& tested : tested_backends(options, forced)) {
    if (tested.name == "cpu") continue;
    for (const std::string& screen : tested.backend->device().screens) {
      BackendOptions chosen = options;
      chosen.screen = screen;
      for (Tested& again : tested_backends(chosen, forced)) {
        if (again.name == tested.name) opened.push_back({again.name + " " + screen, std::move(again.backend)});
      }
    }
  }
  std::set<int> widths;  // sets with fine screens of equal width have the same vectors
  for (const cpu::Instructions* set : cpu::instruction_sets()) {
    if (!set->supported()) {
      static std::set<std::string> reported;
      if (reported.insert(set->name).second) {
        testing::skipped(std::string("here and in other cases of this program, instruction set ") + set->name);
      }
      continue;
    }
    if (!widths.insert(set->float32.lanes).second && &set->screen_for(d, others) == &set->float32) continue;
    setenv("KITH_CPU", set->name, 1);
    for (Tested& tested : tested_backends(options, forced)) {
      if (tested.name == "cpu") opened.push_back({"cpu " + std::string(set->name), std::move(tested.backend)});
    }
    unsetenv("KITH_CPU");
  }
  return opened;
}

BackendOptions options_of_part(const BackendEntry& entry, int part) {
  int devices = 1;
  while (entry.has_gpus && entry.missing({.device = devices}).empty()) ++devices;
  return {.threads = 1, .device = part % devices};
}

std::vector<Tested> composed_backends() {
  std::vector<Tested> opened;
  for (const BackendEntry& entry : backends()) {
    if (!entry.has_gpus || !entry.missing({}).empty()) continue;
    for (const bool peers : {true, false}) {
      std::vector<std::unique_ptr<Backend>> parts;
      for (int p = 0; p < 3; ++p) parts.push_back(entry.open(options_of_part(entry, p), {.no_peers = !peers}));
      opened.push_back({std::string(entry.name) + (peers ? " in parts" : " in parts without peers"),
                        std::make_unique<ComposedBackend>(std::move(parts), 1)});
    }
  }
  return opened;
}

std::string shared_data() {
  const char* given = std::getenv("KITH_SHARED_DATA");
  const std::string folder = given != nullptr ? given : KITH_SOURCE_DIR "/../shared/data";
  if (std::filesystem::is_directory(folder)) return folder;
  testing::skipped("no shared data at " + folder + " (set KITH_SHARED_DATA)");
  return "";
}

}  // namespace kith::test
