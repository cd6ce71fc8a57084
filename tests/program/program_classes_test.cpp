// Two sets of points of different types: prepared values of both are rounded to the class of the run.
#include <cmath>

#include "core/points/matrix.h"
#include "tests/support/program.h"
#include "tests/support/result_values.h"

using namespace kith;
using namespace kith::testing;

namespace {

void make(const std::string& file, hid_t type, const Matrix<double>& rows) {
  FileMaker(file).dataset("x", type, {static_cast<hsize_t>(rows.rows()), static_cast<hsize_t>(rows.columns())},
                          H5T_NATIVE_DOUBLE, rows.data());
}

/// Values exact in float32, in columns of different ranges.
Matrix<double> some_rows(std::int64_t n, std::uint32_t seed) {
  Matrix<double> rows(n, 5);
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const auto noise = static_cast<double>((static_cast<std::uint32_t>(i) * 2654435761U + seed * 40503U) % 10007);
    rows.data()[i] = static_cast<float>((noise - 4000.0) / 997.0 * static_cast<double>(1 + i % 5));
  }
  return rows;
}

}  // namespace

TEST_CASE("float32 and float64 files of equal values have the same neighbours and distances, with any preparation") {
  const Scratch folder;
  const Matrix<double> base = some_rows(60, 1), asked = some_rows(9, 2);
  make(folder / "base32", H5T_IEEE_F32LE, base);
  make(folder / "base64", H5T_IEEE_F64LE, base);
  make(folder / "asked32", H5T_IEEE_F32LE, asked);
  make(folder / "asked64", H5T_IEEE_F64LE, asked);
  const auto printed = [&](Words words, const Words& options, const std::string& precision) {
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--precision", precision, "-q"});
    return done(words).out;  // numbers in the shortest form that is unique
  };
  for (const Words& options : {Words{}, Words{"--metric", "cosine"}, Words{"--scale", "zscore"},
                               Words{"--scale", "minmax"}, Words{"--scale", "unit"}, Words{"--pca", "2"},
                               Words{"--scale", "zscore", "--pca", "3", "--metric", "cosine"}}) {
    INFO(nlohmann::json(options).dump());
    const bool is_prepared = !options.empty() && options[0] != "--metric";  // kith distances has none
    const auto found = [&](const std::string& base_name, const std::string& asked_name, const std::string& precision) {
      const std::string b = folder / base_name, q = folder / asked_name;
      Words outputs{printed({"knn", b, "--queries", q, "-k", "4"}, options, precision),
                    printed({"knn", b, "--queries", q, "--radius", "0.3"}, options, precision)};
      if (!is_prepared) outputs.push_back(printed({"distances", q, b}, options, precision));
      return outputs;
    };
    const Words expected = found("base64", "asked64", "auto");
    CHECK(found("base32", "asked64", "auto") == expected);
    CHECK(found("base64", "asked32", "auto") == expected);
    CHECK(found("base32", "asked32", "f64") == expected);  // otherwise the class is f32
  }
}

TEST_CASE("a float64 row is at distance 0 from float32 rows of the same direction") {
  const Scratch folder;
  Matrix<double> asked(1, 3), base(2, 3);
  for (std::int64_t j = 0; j < 3; ++j) asked(0, j) = base(1, j) = static_cast<double>(j + 1);
  const double length = std::sqrt(14.0);
  for (std::int64_t j = 0; j < 3; ++j) base(0, j) = static_cast<float>(static_cast<double>(j + 1) / length);
  make(folder / "asked.h5", H5T_IEEE_F32LE, asked);
  make(folder / "base.h5", H5T_IEEE_F64LE, base);
  const Words words{"knn", folder / "base.h5", "--queries", folder / "asked.h5", "-k", "1", "--metric", "cosine", "-q"};
  CHECK(done(words).out == "0\t1\t0\n");
}
