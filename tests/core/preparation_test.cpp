// Scaling and PCA: parameters against plain loops, and the same bits for any number of threads and order of rows.
#include "core/preparation/preparation.h"
#include "core/preparation/group_means.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "core/runtime/threads.h"
#include "tests/support/cases.h"
#include "tests/support/hdf5_files.h"

using namespace kith;
using namespace kith::testing;

namespace {

/// Columns of very different offset and width; the last one is constant.
template <class T>
Matrix<T> table(std::int64_t n, std::int64_t d) {
  Matrix<T> values(n, d);
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (std::int64_t i = 0; i < n; ++i) {
    const double common = normal(random);
    for (std::int64_t j = 0; j < d; ++j) {
      const double width = std::pow(10.0, static_cast<double>(j % 7) - 3);
      values(i, j) = static_cast<T>(width * (normal(random) + static_cast<double>(j % 3) * common) + 100.0);
    }
    if (d > 1) values(i, d - 1) = T{3};
  }
  return values;
}

template <class T>
Matrix<T> copy_of(const Matrix<T>& values) {
  Matrix<T> copy(values.rows(), values.columns());
  std::copy(values.data(), values.data() + values.size(), copy.data());
  return copy;
}

template <class T>
bool same_bits(const T* a, const T* b, std::int64_t count) {
  return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(T)) == 0;
}
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), std::ssize(a));
}

/// The values of column j as long double.
template <class T>
std::vector<long double> column(const Matrix<T>& values, std::int64_t j) {
  std::vector<long double> out;
  for (std::int64_t i = 0; i < values.rows(); ++i) out.push_back(values(i, j));
  return out;
}

/// A pool of one thread.
Threads& alone() {
  static Threads one(1);
  return one;
}

/// Prepares a copy and returns it with the parameters.
template <class T>
std::pair<Preparation, Matrix<T>> prepared(const Matrix<T>& values, const PreparationRequest& request, int count = 1) {
  // Threads of several memory nodes take their tasks from several ranges at once.
  Threads threads(count, {.nodes = count, .node_of = [count](int thread) { return count - 1 - thread; }});
  PointsMatrix rows = copy_of(values);
  Preparation actual = prepare({rows, "x"}, request, threads);
  return {std::move(actual), std::move(std::get<Matrix<T>>(rows))};
}

template <class T>
void check_zscore() {
  for (const auto& [n, d] : {std::pair<std::int64_t, std::int64_t>{1, 3}, {2, 1}, {997, 9}, {20011, 3}}) {
    const Matrix<T> values = table<T>(n, d);
    const auto [actual, out] = prepared(values, {.scaling = Scaling::zscore});
    for (std::int64_t j = 0; j < d; ++j) {
      const std::vector<long double> all = column(values, j);
      const long double mean = std::accumulate(all.begin(), all.end(), 0.0L) / n;
      long double squares = 0;
      for (const long double x : all) squares += (x - mean) * (x - mean);
      const bool constant = std::all_of(all.begin(), all.end(), [&](long double x) { return x == all[0]; });
      const double deviation = constant ? 1.0 : static_cast<double>(std::sqrt(squares / n));
      CHECK(std::abs(actual.columns.center[j] - static_cast<double>(mean)) <= 1e-15 * std::abs(mean));
      CHECK(std::abs(actual.columns.scale[j] - deviation) <= 1e-12 * deviation);
      for (std::int64_t i = 0; i < n; ++i) {
        const double expected =
            (static_cast<double>(values(i, j)) - actual.columns.center[j]) / actual.columns.scale[j];
        if (out(i, j) != static_cast<T>(expected)) FAIL("row " << i << ", column " << j);
      }
      if (constant) CHECK(out(n - 1, j) == T{0});
    }
  }
}

template <class T>
void check_minmax() {
  const Matrix<T> values = table<T>(500, 8);
  const auto [actual, out] = prepared(values, {.scaling = Scaling::minmax});
  for (std::int64_t j = 0; j < 8; ++j) {
    const auto all = column(values, j);
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    CHECK(actual.columns.center[j] == static_cast<double>(*least));
    CHECK(actual.columns.scale[j] == (j == 7 ? 1.0 : static_cast<double>(*most) - static_cast<double>(*least)));
    const auto scaled = column(out, j);
    CHECK(*std::min_element(scaled.begin(), scaled.end()) == 0);
    CHECK(*std::max_element(scaled.begin(), scaled.end()) == (j == 7 ? 0 : 1));
  }
}

}  // namespace

TEST_CASE("zscore gives mean 0 and population deviation 1; constant columns become 0") {
  check_zscore<float>();
  check_zscore<double>();
}

TEST_CASE("deviations whose squares leave the range of float64 are computed") {
  for (const double scale : {0x1p-1060, 0x1p-570, 0x1p+0, 0x1p+520, 0x1p+1020}) {
    Matrix<double> values(4, 1);
    for (std::int64_t i = 0; i < 4; ++i) values(i, 0) = scale * (i < 2 ? 1.0 : -1.0);
    const auto [actual, out] = prepared(values, {.scaling = Scaling::zscore});
    CHECK(actual.columns.scale[0] == scale);
    CHECK(out(0, 0) == 1.0);
    CHECK(out(3, 0) == -1.0);
  }
}

TEST_CASE("minmax gives exactly 0 to 1; constant columns become 0") {
  check_minmax<float>();
  check_minmax<double>();
}

TEST_CASE("scaling parameters do not depend on the order of rows, threads or tasks") {
  const Matrix<double> values = table<double>(5003, 31);
  Matrix<double> backwards(values.rows(), values.columns());
  for (std::int64_t i = 0; i < values.rows(); ++i) {
    const auto row = values.row(values.rows() - 1 - i);
    std::copy(row.begin(), row.end(), backwards.row(i).begin());
  }
  for (const Scaling scaling : {Scaling::zscore, Scaling::minmax}) {
    const auto [one, out] = prepared(values, {.scaling = scaling});
    for (const int count : {2, 5}) {
      const auto [several, again] = prepared(values, {.scaling = scaling}, count);
      CHECK(same_bits(one.columns.center, several.columns.center));
      CHECK(same_bits(one.columns.scale, several.columns.scale));
      CHECK(same_bits(out.data(), again.data(), out.size()));
    }
    const auto [other, turned] = prepared(backwards, {.scaling = scaling}, 3);
    CHECK(same_bits(one.columns.center, other.columns.center));
    CHECK(same_bits(one.columns.scale, other.columns.scale));
  }
}

TEST_CASE("weights multiply scaled columns, and indicators of one column have variance 1 together") {
  // Column 0 is a number, columns 1 to 3 are the indicators of three texts, of which the last is rare.
  constexpr std::int64_t n = 20;
  Matrix<double> values(n, 4);
  std::fill_n(values.data(), values.size(), 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    values(i, 0) = static_cast<double>(i * i);
    values(i, i == 3 ? 3 : 1 + i % 2) = 1.0;
  }
  const std::vector<ColumnWeight> weights{{{0}, 3.0}, {{1, 2, 3}, 0.5}};
  const auto squared = [](const Matrix<double>& rows, std::int64_t a, std::int64_t b, std::int64_t first) {
    double sum = 0.0;
    for (std::int64_t j = first; j < rows.columns(); ++j) sum += (rows(a, j) - rows(b, j)) * (rows(a, j) - rows(b, j));
    return sum;
  };
  const auto variance = [](const Matrix<double>& rows, std::int64_t first, std::int64_t last) {
    double sum = 0.0;
    for (std::int64_t j = first; j <= last; ++j) {
      for (std::int64_t i = 0; i < rows.rows(); ++i) sum += rows(i, j) * rows(i, j) / static_cast<double>(rows.rows());
    }
    return sum;
  };
  const auto [zscore, by_deviation] = prepared(values, {.scaling = Scaling::zscore, .weights = weights});
  CHECK(std::abs(variance(by_deviation, 0, 0) - 9.0) <= 1e-12);
  CHECK(std::abs(variance(by_deviation, 1, 3) - 0.25) <= 1e-12);
  CHECK(squared(by_deviation, 0, 1, 1) == squared(by_deviation, 0, 3, 1));  // a rare text is no farther away
  const auto [minmax, by_range] = prepared(values, {.scaling = Scaling::minmax, .weights = weights});
  CHECK(std::abs(squared(by_range, 0, 1, 1) - 0.25) <= 1e-12);
  CHECK(by_range(n - 1, 0) == 3.0);
  const auto [none, as_they_are] = prepared(values, {.weights = weights});
  CHECK(!none.is_none());
  CHECK(as_they_are(2, 0) == 4.0 / (1.0 / 3.0));
  CHECK(as_they_are(3, 3) == 0.5);
  for (const Preparation* parameters : {&zscore, &minmax, &none}) {
    PointsMatrix rows = copy_of(values);
    apply_preparation({rows, "x"}, *parameters, alone());
    const auto back = original_units(std::get<Matrix<double>>(rows).view(), *parameters);
    for (std::int64_t i = 0; i < values.size(); ++i)
      CHECK(std::abs(back->data()[i] - values.data()[i]) <= 1e-12 * n * n);
  }
}

TEST_CASE("unit scaling gives rows of length 1, and the error for a zero row names it") {
  Matrix<float> values(3, 2);
  std::copy_n(std::vector<float>{3, 4, 0, 5, -8, 6}.begin(), 6, values.data());
  const auto [actual, out] = prepared(values, {.scaling = Scaling::unit});
  CHECK(std::vector<float>(out.data(), out.data() + 6) == std::vector<float>{0.6F, 0.8F, 0, 1, -0.8F, 0.6F});
  CHECK(!original_units(Matrix<double>(1, 2).view(), actual));
  values(1, 1) = 0;
  PointsMatrix rows = copy_of(values);
  const std::vector<std::int64_t> numbers{2, 17, 40};
  refused(ExitCode::data,
          [&] {
            prepare({rows, "x", numbers}, {.scaling = Scaling::unit}, alone());
          },
          {"x: row 18 (counted from 1) is zero", "for scaling to length 1"});
}

TEST_CASE("principal components are eigenvectors of the covariance, in order and with fixed signs") {
  for (const auto& [n, d] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {5, 9}, {300, 2}, {2000, 9}, {700, 130}}) {
    const Matrix<double> values = table<double>(n, d);
    const std::int64_t count = std::min(n, d);
    const auto [actual, out] = prepared(values, {.components = count});
    const PrincipalComponents& pca = actual.pca;
    REQUIRE(pca.size() == count);
    REQUIRE(out.columns() == count);
    std::vector<long double> covariance(static_cast<std::size_t>(d * d), 0);
    long double total = 0;
    for (std::int64_t j = 0; j < d; ++j) {
      for (std::int64_t l = 0; l <= j; ++l) {
        long double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          sum += (values(i, j) - static_cast<long double>(pca.mean[j])) *
                 (values(i, l) - static_cast<long double>(pca.mean[l]));
        }
        covariance[j * d + l] = covariance[l * d + j] = n > 1 ? sum / (n - 1) : 0.0L;
      }
      total += covariance[j * d + j];
    }
    const double accuracy = 1e-13 * static_cast<double>(d) * static_cast<double>(total) + 1e-300;
    double explained = 0;
    for (std::int64_t c = 0; c < count; ++c) {
      const auto w = pca.components.row(c);
      for (std::int64_t j = 0; j < d; ++j) {
        long double product = 0;
        for (std::int64_t l = 0; l < d; ++l) product += covariance[j * d + l] * w[l];
        if (!(std::abs(static_cast<double>(product) - pca.variance[c] * w[j]) <= accuracy))
          FAIL(n << " x " << d << ", component " << c);
      }
      for (std::int64_t b = 0; b <= c; ++b) {
        const double product = std::inner_product(w.begin(), w.end(), pca.components.row(b).begin(), 0.0);
        CHECK(std::abs(product - (b == c ? 1.0 : 0.0)) <= 1e-12);
      }
      const auto largest =
          std::max_element(w.begin(), w.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
      CHECK(*largest > 0);
      if (c > 0) CHECK(pca.variance[c] <= pca.variance[c - 1]);
      explained += pca.variance_ratio[c];
    }
    CHECK(std::abs(explained - (n > 1 ? 1.0 : 0.0)) <= 1e-12);
    // Coordinates along the components equal plain loops bit for bit.
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < count; ++c) {
        double place = 0;
        for (std::int64_t j = 0; j < d; ++j) place += (values(i, j) - pca.mean[j]) * pca.components(c, j);
        if (out(i, c) != place) FAIL("row " << i << ", component " << c);
      }
    }
  }
}

TEST_CASE("principal components have the same bits for any number of threads") {
  const Matrix<float> values = table<float>(9000, 70);
  const auto [one, out] = prepared(values, {.scaling = Scaling::zscore, .components = 5});
  for (const int count : {2, 3}) {
    const auto [several, again] = prepared(values, {.scaling = Scaling::zscore, .components = 5}, count);
    CHECK(same_bits(one.pca.mean, several.pca.mean));
    CHECK(same_bits(one.pca.components.data(), several.pca.components.data(), one.pca.components.size()));
    CHECK(same_bits(one.pca.variance, several.pca.variance));
    CHECK(same_bits(out.data(), again.data(), out.size()));
  }
}

TEST_CASE("new rows are prepared with existing parameters and mapped back to their units") {
  const Matrix<double> values = table<double>(400, 9), other = table<double>(50, 9);
  for (const PreparationRequest& request : {PreparationRequest{.scaling = Scaling::zscore},
                                            {.scaling = Scaling::minmax},
                                            {.components = 9},
                                            {.scaling = Scaling::minmax, .components = 9}}) {
    const auto [actual, out] = prepared(values, request);
    PointsMatrix same = copy_of(values), rows = copy_of(other);
    apply_preparation({same, "x"}, actual, alone());
    CHECK(same_bits(std::get<Matrix<double>>(same).data(), out.data(), out.size()));
    apply_preparation({rows, "y"}, actual, alone());
    const auto back = original_units(std::get<Matrix<double>>(rows).view(), actual);
    REQUIRE(back);
    for (std::int64_t i = 0; i < other.size(); ++i) {
      CHECK(std::abs(back->data()[i] - other.data()[i]) <= 1e-11 * std::abs(other.data()[i]) + 1e-9);
    }
  }
}

TEST_CASE("data that cannot be prepared are refused") {
  const auto refuse = [](Matrix<double> values, const PreparationRequest& request, ExitCode code,
                         std::initializer_list<const char*> words) {
    PointsMatrix rows = std::move(values);
    refused(
        code,
        [&] {
          prepare({rows, "x"}, request, alone());
        },
        words);
  };
  refuse(table<double>(5, 3), {.components = 4}, ExitCode::usage,
         {"x: ", "5 rows of 3 columns", "at most 3 components, found 4"});
  refuse(table<double>(2, 3), {.components = 3}, ExitCode::usage, {"at most 2"});
  for (const Scaling scaling : {Scaling::zscore, Scaling::minmax}) {
    Matrix<double> values = table<double>(2, 2);
    values(0, 0) = -1.5e308;
    values(1, 0) = 1.5e308;
    refuse(std::move(values), {.scaling = scaling}, ExitCode::data, {"x: column 1", "1.5e+308", "float64"});
  }
  Matrix<double> wide = table<double>(2, 2);
  wide(0, 0) = 1e200;
  refuse(std::move(wide), {.components = 1}, ExitCode::data, {"products of columns", "float64"});
  // Parameters of narrow columns applied to wide ones.
  Matrix<float> narrow(2, 1), far(2, 1);
  narrow(0, 0) = 0;
  narrow(1, 0) = 1e-30F;
  far(0, 0) = 0;
  far(1, 0) = 1e30F;
  const auto [actual, out] = prepared(narrow, {.scaling = Scaling::minmax});
  PointsMatrix rows = std::move(far);
  refused(ExitCode::data,
          [&, &actual = actual] {
            apply_preparation({rows, "y"}, actual, alone());
          },
          {"y: row 2", "the range of its class"});
}

TEST_CASE("group means: missing values and rows without a group count nowhere; a weight is a number of copies") {
  constexpr std::int64_t kRows = 1000, kColumns = 3, kGroups = 4;
  kith::Matrix<double> values(kRows, kColumns);
  std::vector<std::int32_t> labels(kRows);
  std::vector<double> copies(kRows);
  std::vector<std::int64_t> repeated;
  for (std::int64_t i = 0; i < kRows; ++i) {
    labels[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * i % 5) - 1;
    copies[static_cast<std::size_t>(i)] = static_cast<double>(i % 3);
    for (std::int64_t j = 0; j < kColumns; ++j) values(i, j) = static_cast<double>(i * 31 % 97) * 1e5 + 0.1;
    if (i % 7 == 0) values(i, 1) = std::numeric_limits<double>::quiet_NaN();
    values(i, 2) = 1e300;
    repeated.insert(repeated.end(), static_cast<std::size_t>(i % 3), i);
  }
  kith::Matrix<double> copied_rows(std::ssize(repeated), kColumns);
  std::vector<std::int32_t> copied_labels;
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    const auto row = std::as_const(values).row(repeated[i]);
    std::copy(row.begin(), row.end(), copied_rows.row(static_cast<std::int64_t>(i)).begin());
    copied_labels.push_back(labels[static_cast<std::size_t>(repeated[i])]);
  }
  const kith::RowBlocks in_blocks{
      kRows, kColumns, [&](const auto& visit) {
        for (std::int64_t first = 0; first < kRows; first += 256) {
          visit(std::as_const(values).view().middle(first, std::min<std::int64_t>(256, kRows - first)));
        }
      }};
  kith::Threads alone(1), three(3);
  const auto weights = kith::checked_weights(copies, "weights");
  const auto found = kith::group_means(in_blocks, labels, kGroups, weights, three);
  const auto expected = kith::group_means(kith::one_block(kith::PointsView(std::as_const(copied_rows).view())),
                                          copied_labels, kGroups, kith::equal_weights(std::ssize(repeated)), alone);
  for (std::int64_t j = 0; j < kColumns; ++j) {
    const auto column = static_cast<std::size_t>(j);
    CHECK(found.all[column] == expected.all[column]);
    CHECK(found.within[column] == expected.within[column]);
    for (std::int64_t c = 0; c < kGroups; ++c) {
      double sum = 0.0, known = 0.0;
      for (std::size_t i = 0; i < repeated.size(); ++i) {
        const double value = copied_rows(static_cast<std::int64_t>(i), j);
        if (copied_labels[i] != c || std::isnan(value)) continue;
        sum += j == 2 ? value / 1e6 : value;
        ++known;
      }
      const double mean = j == 2 && known > 0 ? 1e300 : sum / known;
      INFO(c << ", " << j << ", " << known);
      if (known == 0) CHECK(std::isnan(found.mean(c, j)));
      if (known > 0) CHECK(found.mean(c, j) == Approx(mean).epsilon(1e-12));
      if (known > 0) CHECK(found.mean(c, j) == expected.mean(c, j));
    }
  }
  CHECK(found.within[2] == 0.0);
}
