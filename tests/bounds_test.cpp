// Gaps that core/bounds.h keeps from one assignment to the next, against the definition: none may vouch for a wrong
// label.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/bounds.h"
#include "core/philox.h"
#include "tests/cases.h"
#include "tests/catch.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The definition's distance from a row to every centroid.
std::vector<double> distances_to(std::span<const double> row, const Matrix<double>& centroids) {
  std::vector<double> all;
  for (std::int64_t c = 0; c < centroids.rows(); ++c) {
    all.push_back(squared_distance(row.data(), centroids.row(c).data(), centroids.columns()));
  }
  return all;
}

std::int64_t nearest_of(const std::vector<double>& all) {
  return std::min_element(all.begin(), all.end()) - all.begin();
}

/// The gap of a row from distances that are off by a little, as those of a screen are.
float gap_from(const std::vector<double>& all, std::int64_t label) {
  double other = kInfinity;
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (static_cast<std::int64_t>(c) != label) other = std::min(other, all[c]);
  }
  const double error = 1e-6 * all[label] + 1e-9 * other;
  return gap_of(static_cast<float>((all[label] + error) * (1 + 1e-6)),
                static_cast<float>(std::max(0.0, (other - all[label]) * (1 - 1e-6) - 2 * error)));
}

/// Moves every centroid by about `way` of its length, or not at all.
void move(Matrix<double>& centroids, double way, std::uint64_t turn) {
  for (std::int64_t c = 0; c < centroids.rows(); ++c) {
    if ((c + static_cast<std::int64_t>(turn)) % 4 == 0) continue;
    for (std::int64_t j = 0; j < centroids.columns(); ++j) {
      const double random =
          static_cast<double>(random_bits(turn, static_cast<std::uint64_t>(c), static_cast<std::uint64_t>(j)) >> 11) *
          0x1p-53;
      centroids(c, j) += way * (random - 0.5) * std::abs(centroids(c, j));
    }
  }
}

}  // namespace

TEST_CASE("a row whose gap is above the guard keeps the label of the definition", "[bounds]") {
  std::int64_t kept = 0, looked = 0, changed = 0;
  for (const int kind : {0, 1, 2, 5, 6, 12}) {
    for (const double way : {1e-7, 1e-3, 0.05, 0.3}) {
      INFO(kinds()[kind].name << ", way " << way);
      const Matrix<double> rows = kinds()[kind].make(300, 19, 5);
      Matrix<double> centroids = centroids_near(rows.view(), 9);
      std::vector<std::int64_t> label(300);
      std::vector<float> gap(300, 0.0F);
      for (std::uint64_t turn = 0; turn < 12; ++turn) {
        const Matrix<double> before = [&] {
          Matrix<double> copy(centroids.rows(), centroids.columns());
          std::copy_n(centroids.data(), centroids.size(), copy.data());
          return copy;
        }();
        if (turn > 0) move(centroids, way, turn);
        std::vector<float> moved;
        for (std::int64_t c = 0; c < centroids.rows(); ++c) {
          moved.push_back(move_of(squared_distance(before.row(c).data(), centroids.row(c).data(), 19), 19, 1.0));
        }
        for (std::int64_t i = 0; i < rows.rows(); ++i) {
          const std::vector<double> all = distances_to(rows.row(i), centroids);
          float others = 0.0F;
          for (std::int64_t c = 0; c < centroids.rows(); ++c) {
            if (c != label[i]) others = std::max(others, moved[c]);
          }
          gap[i] = lowered_gap(gap[i], moved[label[i]], others);
          const double farthest = std::sqrt(*std::max_element(all.begin(), all.end()));
          const std::int64_t nearest = nearest_of(all);
          if (gap[i] > gap_guard(farthest, 19)) {
            ++kept;
            CHECK(label[i] == nearest);
            continue;
          }
          ++looked;
          changed += turn > 0 && label[i] != nearest ? 1 : 0;
          label[i] = nearest;
          gap[i] = gap_from(all, nearest);
        }
      }
    }
  }
  // All three happen, so that the check above means something.
  CHECK(kept > 10000);
  CHECK(looked > 10000);
  CHECK(changed > 1000);
}

TEST_CASE("gaps and moves round outwards", "[bounds]") {
  for (const double a : {1e-12, 0.3, 7.0, 1e9}) {
    for (const double more : {1e-6, 1e-3, 1.0, 1e6}) {
      const double b = a * (1 + more);
      const float own = std::nextafter(static_cast<float>(a * a), std::numeric_limits<float>::infinity());
      const float difference = std::nextafter(static_cast<float>(b * b - a * a), 0.0F);
      const float gap = gap_of(own, difference);
      CHECK(static_cast<double>(gap) <= b - a);
      CHECK(static_cast<double>(gap) >= (b - a) * 0.999);
      const float moved = move_of(b * b, 100, 0x1p8);
      CHECK(static_cast<double>(moved) >= b * 0x1p8);
      CHECK(static_cast<double>(moved) <= b * 0x1p8 * 1.00001);
      const float left = lowered_gap(static_cast<float>(b), 0.0F, static_cast<float>(a));
      CHECK(static_cast<double>(left) <=
            static_cast<double>(static_cast<float>(b)) - static_cast<double>(static_cast<float>(a)));
    }
  }
}

TEST_CASE("what is not a finite number vouches for no label", "[bounds]") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto vouches = [](float gap, double largest) { return gap > gap_guard(largest, 10); };
  CHECK(vouches(1.0F, 100.0));
  CHECK(!vouches(gap_of(infinity, 1.0F), 1.0));
  CHECK(!vouches(gap_of(infinity, infinity), 1.0));
  CHECK(!vouches(gap_of(0.0F, 0.0F), 1.0));
  CHECK(!vouches(gap_of(nan, 1.0F), 1.0));
  CHECK(!vouches(gap_of(1.0F, nan), 1.0));
  CHECK(!vouches(gap_of(-1.0F, 1.0F), 1.0));
  CHECK(!vouches(lowered_gap(1.0F, infinity, 0.0F), 1.0));
  CHECK(!vouches(lowered_gap(1.0F, 0.0F, move_of(kInfinity, 3, 1.0)), 1.0));
  CHECK(!vouches(lowered_gap(nan, 0.0F, 0.0F), 1.0));
  CHECK(!vouches(1.0F, kInfinity));
  CHECK(!vouches(1.0F, std::numeric_limits<double>::quiet_NaN()));
  CHECK(!vouches(0.0F, 0.0));
}
