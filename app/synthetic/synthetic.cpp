// Synthetic points: random numbers, the kinds with how each makes a row, and what does not depend on the kind: labels,
// repeated rows, whole numbers and offsets.
//
// All but box_muller() use only + - * / and square roots, which IEEE 754 rounds in one way everywhere.
// The structured kinds are data as people have them, each of which makes some bound loose or some screen ineffective.
#include "app/synthetic/synthetic.h"

#include <fmt/format.h>

#include <array>
#include <numbers>

#include "app/cli/words.h"
#include "core/error.h"
#include "core/numbers/philox.h"

namespace kith::app {
namespace {

/// What random numbers are for. Apart from those that k-means draws under the same seed.
enum class DrawStream : std::uint64_t {
  centers = std::uint64_t{1} << 32,
  labels,
  duplicates,
  values,
  radii,
  originals,  // which of a smaller set of rows a row repeats
  original_values,
  parts,  // which of two distributions a row has
};

std::int64_t draw_below(std::uint64_t seed, DrawStream stream, std::int64_t draw, std::int64_t total) {
  return random_below(seed, static_cast<std::uint64_t>(stream), static_cast<std::uint64_t>(draw), total);
}

/// A uniform number in [0, 1).
double uniform(std::uint64_t seed, DrawStream stream, std::uint64_t draw) {
  return static_cast<double>(random_bits(seed, static_cast<std::uint64_t>(stream), draw) >> 11) * 0x1p-53;
}

/// Normal, as a sum of twelve uniform numbers, exact in integers: mean 0, variance 1, at most 6 from the mean.
double normal(std::uint64_t seed, DrawStream stream, std::uint64_t draw) {
  std::int64_t sum = 0;
  for (std::uint64_t part = 0; part < 3; ++part) {
    for (const std::uint32_t word : philox(seed, static_cast<std::uint64_t>(stream), 3 * draw + part)) sum += word;
  }
  constexpr std::int64_t kMean = 6 * ((std::int64_t{1} << 32) - 1);
  return static_cast<double>(sum - kMean) * 0x1p-32;
}

/// Four normal numbers in float32. G. E. P. Box and M. E. Muller: A note on the generation of random normal deviates
/// (1958). The last bits depend on the logarithm and cosine of the C library.
std::array<float, 4> box_muller(std::uint64_t seed, std::uint64_t stream, std::uint64_t draw) {
  const auto words = philox(seed, stream, draw);
  std::array<float, 4> out;
  for (int pair = 0; pair < 2; ++pair) {
    const float first = (static_cast<float>(words[2 * pair]) + 0.5F) * 0x1p-32F;
    const float angle = static_cast<float>(words[2 * pair + 1]) * 0x1p-32F * 2.0F * std::numbers::pi_v<float>;
    const float radius = std::sqrt(-2.0F * std::log(std::min(first, 1.0F)));
    out[2 * pair] = radius * std::cos(angle);
    out[2 * pair + 1] = radius * std::sin(angle);
  }
  return out;
}

/// Student's t with 2 degrees of freedom, by its quantile function (2 p - 1) / sqrt(2 p (1 - p)); at most 7e7.
double student_t2(std::uint64_t seed, DrawStream stream, std::uint64_t draw) {
  const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(stream), draw) >> 12;
  const double p = (static_cast<double>(bits) + 0.5) * 0x1p-52;  // never 0 or 1
  return (2.0 * p - 1.0) / std::sqrt(2.0 * p * (1.0 - p));
}

/// Poisson with this mean, at most 128, by inversion of one uniform number.
double poisson(double mean, std::uint64_t seed, DrawStream stream, std::uint64_t draw) {
  constexpr int kMost = 1000;  // the sum of the probabilities may end below 1
  const double u = uniform(seed, stream, draw);
  double term = exponential(-mean), sum = term;
  int count = 0;
  while (u >= sum && count < kMost) {
    ++count;
    term *= mean / count;
    sum += term;
  }
  return count;
}

constexpr double kBox = 10.0;
constexpr std::int64_t kDirections = 8;  // of low-rank

/// The number of the first random value of a row.
std::uint64_t first_draw(const SyntheticRow& row, std::int64_t number) {
  return static_cast<std::uint64_t>(number) * static_cast<std::uint64_t>(row.out.size());
}

/// row.out = normal values times `deviation`.
void fill_normal(const SyntheticRow& row, double deviation = 1.0) {
  const std::uint64_t draw = first_draw(row, row.number);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] = deviation * normal(row.recipe.seed, DrawStream::values, draw + j);
  }
}

/// row.out += `factor` times a row of `common`.
void add_common(const SyntheticRow& row, std::int64_t which, double factor = 1.0) {
  const std::span<const double> common = row.common.row(which);
  for (std::size_t j = 0; j < row.out.size(); ++j) row.out[j] += factor * common[j];
}

/// row.out += a standard normal row, drawn from a set of `originals`.
void add_original(const SyntheticRow& row, std::int64_t originals) {
  const std::int64_t which = draw_below(row.recipe.seed, DrawStream::originals, row.number, originals);
  const std::uint64_t draw = first_draw(row, which);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] += normal(row.recipe.seed, DrawStream::original_values, draw + j);
  }
}

void scale(std::span<double> values, double factor) {
  for (double& value : values) value *= factor;
}

double sum_of_squares(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return sum;
}

Matrix<double> box_centers(const Recipe& recipe) {
  Matrix<double> centers(recipe.clusters, recipe.columns);
  for (std::int64_t i = 0; i < centers.size(); ++i) {
    centers.data()[i] = uniform(recipe.seed, DrawStream::centers, i) * (2.0 * kBox) - kBox;
  }
  return centers;
}

Matrix<double> normal_rows(const Recipe& recipe, std::int64_t rows) {
  Matrix<double> values(rows, recipe.columns);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    values.data()[i] = normal(recipe.seed, DrawStream::centers, i);
  }
  return values;
}
Matrix<double> normal_centers(const Recipe& recipe) { return normal_rows(recipe, recipe.clusters); }
Matrix<double> directions(const Recipe& recipe) { return normal_rows(recipe, kDirections); }

void make_noise(const SyntheticRow& row) {
  for (std::size_t j = 0; j < row.out.size(); j += 4) {
    const auto four = box_muller(row.recipe.seed, static_cast<std::uint64_t>(row.number), j / 4);
    std::copy_n(four.begin(), std::min<std::size_t>(4, row.out.size() - j), row.out.begin() + j);
  }
}

void make_uniform(const SyntheticRow& row) {
  const std::uint64_t draw = first_draw(row, row.number);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] = uniform(row.recipe.seed, DrawStream::values, draw + j) * (2.0 * kBox) - kBox;
  }
}

void make_shells(const SyntheticRow& row) {
  fill_normal(row);
  const double squares = sum_of_squares(row.out);
  const double radius = kBox * static_cast<double>(row.label + 1) / static_cast<double>(row.recipe.clusters);
  const double length = radius * (1.0 + 0.01 * normal(row.recipe.seed, DrawStream::radii, row.number));
  // A row of zeros, which has no direction, stays at the centre.
  scale(row.out, squares > 0.0 ? length / std::sqrt(squares) : 0.0);
}

void make_blobs(const SyntheticRow& row, double deviation) {
  fill_normal(row, deviation);
  add_common(row, row.label);
}

void make_blob_in_noise(const SyntheticRow& row) {
  fill_normal(row, draw_below(row.recipe.seed, DrawStream::parts, row.number, 2) == 0 ? 1.0 : 0.01);
}

void make_near_duplicates(const SyntheticRow& row) {
  fill_normal(row, 1e-4);
  add_original(row, row.recipe.rows / 4 + 1);
}

void make_repeated(const SyntheticRow& row) {
  std::fill(row.out.begin(), row.out.end(), 0.0);
  add_original(row, row.recipe.rows / 50 + 1);
}

void make_offset(const SyntheticRow& row) {
  fill_normal(row);
  for (double& value : row.out) value += 1000.0;
}

void make_scales(const SyntheticRow& row) {
  fill_normal(row);
  row.out[0] *= 1e4;
  if (row.out.size() > 1) row.out[1] *= 100.0;
}

void make_outliers(const SyntheticRow& row) {
  fill_normal(row, draw_below(row.recipe.seed, DrawStream::parts, row.number, 1000) == 0 ? 1e4 : 1.0);
}

void make_heavy_tails(const SyntheticRow& row) {
  const std::uint64_t draw = first_draw(row, row.number);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    row.out[j] = student_t2(row.recipe.seed, DrawStream::values, draw + j);
  }
}

void make_counts(const SyntheticRow& row) {
  const std::uint64_t draw = first_draw(row, row.number);
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    const double mean = 0.3 * exponential(normal(row.recipe.seed, DrawStream::values, draw + j));
    row.out[j] = poisson(mean, row.recipe.seed, DrawStream::parts, draw + j);
  }
}

void make_low_rank(const SyntheticRow& row) {
  fill_normal(row, 0.05);
  for (std::int64_t i = 0; i < kDirections; ++i) {
    const auto draw = static_cast<std::uint64_t>(row.number * kDirections + i);
    add_common(row, i, normal(row.recipe.seed, DrawStream::original_values, draw));
  }
}

void make_cone(const SyntheticRow& row) {
  fill_normal(row, 0.15);
  row.out[0] += 3.0;  // never 0: a normal value is at most 6
  scale(row.out, 1.0 / std::sqrt(sum_of_squares(row.out)));
}

void make_spectrum(const SyntheticRow& row) {
  fill_normal(row);
  for (std::size_t j = 0; j < row.out.size(); ++j) row.out[j] *= 20.0 / std::sqrt(1.0 + static_cast<double>(j));
}

void make_walks(const SyntheticRow& row) {
  fill_normal(row);
  for (std::size_t j = 1; j < row.out.size(); ++j) row.out[j] += row.out[j - 1];
}

constexpr std::array<Kind, 20> kKinds{{
    {"noise", "standard normal", 0, 0, 32, make_noise},
    {"blobs", "normal around K centres drawn in a box from -10 to 10", 10, 0, 12,
     [](const SyntheticRow& row) { make_blobs(row, 1.0); }, box_centers},
    {"uniform", "uniform in the box from -10 to 10", 0, 0, 12, make_uniform},
    {"shells", "K spheres around 0 with radii 10 / K, 20 / K, ..., 10, 1 % thick", 10, 0, 12, make_shells},
    {"blobs-1", "normal around K standard normal centres, deviation 1", 100, 0, 32,
     [](const SyntheticRow& row) { make_blobs(row, 1.0); }, normal_centers},
    {"blobs-0.1", "normal around K standard normal centres, deviation 0.1", 100, 0, 32,
     [](const SyntheticRow& row) { make_blobs(row, 0.1); }, normal_centers},
    {"blobs-0.01", "normal around K standard normal centres, deviation 0.01", 100, 0, 32,
     [](const SyntheticRow& row) { make_blobs(row, 0.01); }, normal_centers},
    {"few-blobs", "like blobs-0.01, but so few that many centroids share one", 4, 0, 32,
     [](const SyntheticRow& row) { make_blobs(row, 0.01); }, normal_centers},
    {"blob-in-noise", "half of the rows standard normal, half with deviation 0.01", 0, 0, 32, make_blob_in_noise},
    {"near-duplicates", "standard normal rows, each repeated about 4 times with noise of deviation 0.0001", 0, 0, 32,
     make_near_duplicates},
    {"repeated", "standard normal rows, each about 50 times", 0, 0, 32, make_repeated},
    {"offset", "standard normal plus 1000", 0, 1000, 32, make_offset},
    {"scales", "standard normal, the first column times 10000, the second times 100", 0, 0, 32, make_scales},
    {"outliers", "standard normal, about one row in 1000 times 10000", 0, 0, 32, make_outliers},
    {"heavy-tails", "Student's t with 2 degrees of freedom, of infinite variance", 0, 0, 32, make_heavy_tails},
    {"counts", "small whole numbers, most of them 0", 0, 4, 32, make_counts},
    {"low-rank", "8 directions plus a little noise, like embeddings", 0, 0, 8, make_low_rank, directions},
    {"cone", "unit vectors around one direction", 0, 0, 127, make_cone},
    {"spectrum", "normal columns of falling width, like principal components", 0, 0, 4, make_spectrum},
    {"walks", "cumulative sums of normal steps along each row, like time series", 0, 0, 4, make_walks},
}};

}  // namespace

double exponential(double x) {
  const double t = x * 0x1p-16;
  double power = 1.0 + t * (1.0 + t / 2.0 * (1.0 + t / 3.0 * (1.0 + t / 4.0)));
  for (int i = 0; i < 16; ++i) power *= power;
  return power;
}

std::span<const Kind> kinds() { return kKinds; }

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kKinds));
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

const Kind& kind_of(const std::string& name, const std::string& where) {
  for (const Kind& kind : kKinds) {
    if (name == kind.name) return kind;
  }
  const std::vector<std::string> names = kind_names();
  throw Error(ExitCode::usage, fmt::format("{}: expected {}, found '{}'{}", where, fmt::join(names, ", "), name,
                                           suggestion(name, names)));
}

Synthetic::Synthetic(const Recipe& recipe) : recipe_(recipe) {
  if (recipe_.clusters == 0) recipe_.clusters = recipe_.kind->clusters;
  if (recipe_.kind->common != nullptr) common_ = recipe_.kind->common(recipe_);
}

std::int64_t Synthetic::original_row(std::int64_t number) const {
  const std::int64_t originals = recipe_.rows - recipe_.duplicates;
  return number < originals ? number : draw_below(recipe_.seed, DrawStream::duplicates, number, originals);
}

std::int32_t Synthetic::label(std::int64_t number) const {
  if (recipe_.kind->clusters == 0) return 0;
  return static_cast<std::int32_t>(
      draw_below(recipe_.seed, DrawStream::labels, original_row(number), recipe_.clusters));
}

void Synthetic::row(std::int64_t number, std::span<double> out) const {
  recipe_.kind->make({recipe_, common_, original_row(number), label(number), out});
  for (double& value : out) {
    if (recipe_.integers) value = whole_number(*recipe_.kind, value);
    value += recipe_.offset;
  }
}

}  // namespace kith::app
