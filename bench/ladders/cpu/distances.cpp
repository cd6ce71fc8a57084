// Ladder: squared distances of all rows of A (M x N) to all columns of B (N x K) on the processor.
//
// Rungs 1 and 3 print the figures of D. Grondzak et al., Accelerating vector calculations on GPU (two Xeon E5530). The
// rate counts 2 M N K operations. From rung 2 on the distance is |a|^2 + |b|^2 - 2 a.b, with the products that kith's
// screens use; packing both matrices is part of the work. Elements of rung 1 are compared with the definition, all
// elements of the others with those of rung 1, within stated bounds.
#include <fmt/format.h>

#include <cmath>

#include "bench/ladders/cpu/ladder.h"
#include "core/error.h"
#include "core/numbers/distance.h"
#include "core/points/matrix.h"
#include "kernels/cpu/instructions/instructions.h"
#include "kernels/cpu/runtime/panels.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kMostSide = 65536;
constexpr double kRounding = 0x1p-24 * 1.01;  // of one operation; the rest covers terms of higher order

struct Published {
  std::int64_t side;
  const char *one_core, *eight_cores;
};
constexpr Published kPublished[] = {{128, "7.6339 ms", "4.7381 ms"}, {256, "48.594 ms", "12.1866 ms"},
                                    {512, "324.39 ms", "54.868 ms"}, {1024, "2551.6 ms", "372.86 ms"},
                                    {2048, "21096 ms", "2819 ms"},   {4096, "168920 ms", "20580 ms"}};

/// Norms of vectors and of what their rounding loses.
struct VectorNorms {
  std::vector<float> square;           // |x|^2
  std::vector<double> norm, residual;  // |x|, |x - x^|, rounded up
  explicit VectorNorms(std::int64_t count = 0) : square(count), norm(count), residual(count) {}
};

class DistanceLadder {
 public:
  DistanceLadder(const BenchShape& shape, const BenchRequest& request, std::vector<Measurement>& measurements)
      : request_(request),
        measurements_(measurements),
        rows_(shape.rows),
        depth_(shape.columns),
        columns_(shape.counts[0]),
        a_(uniform_values(rows_ * depth_, 4)),
        b_(uniform_values(depth_ * columns_, 5)),
        out_(rows_, columns_),
        row_norms_(rows_),
        column_norms_(columns_) {}

  void run(Threads& one, Threads& all) {
    const Instructions& set = instructions();
    rung("1 plain loops, one core", product_limit(set.float32), &Published::one_core,
         [&] { plain_distances(a_.data(), b_.data(), rows_, depth_, columns_, out_.data()); });
    const std::string arithmetic = set.low_precision.arithmetic;
    rung("2 float32 vectors, one core", product_limit(set.float32), nullptr, [&] { multiply(set.float32, one); });
    rung("3 float32 vectors, all cores", product_limit(set.float32), &Published::eight_cores,
         [&] { multiply(set.float32, all); });
    if (arithmetic == set.float32.arithmetic) return;
    rung(fmt::format("4 {}, all cores", arithmetic), product_limit(set.low_precision), nullptr,
         [&] { multiply(set.low_precision, all); });
  }

 private:
  /// B transposed, both operands packed, all products; out_ and the norms.
  void multiply(const ScreenKernels& screen, Threads& threads) {
    screen_ = &screen;
    const std::int64_t step = tile_columns(screen), tiles = ceil_div(columns_, step);
    const std::int64_t column_bytes = screen.column_bytes(depth_);
    Matrix<std::byte> packed(tiles * step, column_bytes);
    std::vector<float> quantization_steps(tiles);
    threads.run(tiles, [&](std::int64_t tile, int) { pack_tile(tile, packed, quantization_steps); });
    const std::vector<float> center(depth_);
    threads.run(ceil_div(rows_, screen.lanes), [&](std::int64_t task, int) {
      const std::int64_t first_row = task * screen.lanes;
      const int count = static_cast<int>(std::min<std::int64_t>(screen.lanes, rows_ - first_row));
      Matrix<std::byte> panel(1, screen.panel_bytes(depth_));
      Matrix<float> products(kTileColumns, screen.lanes);
      pack_rows(first_row, count, center, panel.data());
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const std::int64_t first = tile * step, width = std::min(step, columns_ - first);
        screen.products(panel.data(), packed.data() + first * column_bytes, quantization_steps[tile], depth_,
                        ceil_div(width, screen.panel_columns), products.data());
        for (int lane = 0; lane < count; ++lane) {
          const float square = row_norms_.square[first_row + lane];
          float* to = out_.data() + (first_row + lane) * columns_ + first;
          for (std::int64_t c = 0; c < width; ++c) {
            to[c] = std::max(square + column_norms_.square[first + c] - 2.0F * products(c, lane), 0.0F);
          }
        }
      }
    });
  }

  void pack_tile(std::int64_t tile, Matrix<std::byte>& packed, std::vector<float>& quantization_steps) {
    const std::int64_t step = tile_columns(*screen_), first = tile * step, width = std::min(step, columns_ - first);
    Matrix<float> vectors(step, depth_);
    std::vector<double> squares(width);
    for (std::int64_t j = 0; j < depth_; ++j) {
      for (std::int64_t c = 0; c < width; ++c) {
        const float value = b_[j * columns_ + first + c];
        vectors(c, j) = value;
        squares[c] += static_cast<double>(value) * value;
      }
    }
    double largest = 0.0;
    for (std::int64_t c = 0; c < width; ++c) {
      column_norms_.square[first + c] = static_cast<float>(squares[c]);
      column_norms_.norm[first + c] = std::sqrt(squares[c]) * (1 + 1e-6);
      largest = std::max(largest, column_norms_.norm[first + c]);
    }
    const PackedColumns result = screen_->pack_columns(vectors.data(), width, depth_, static_cast<float>(largest),
                                                       packed.data() + first * screen_->column_bytes(depth_));
    quantization_steps[tile] = result.step;
    const double residual = upper_residual(std::sqrt(static_cast<double>(result.squared_residual)), depth_);
    std::fill_n(column_norms_.residual.begin() + first, width, residual);
  }

  void pack_rows(std::int64_t first, int count, const std::vector<float>& center, void* panel) {
    const float* rows[kMaxLanes];
    for (int lane = 0; lane < screen_->lanes; ++lane) {
      rows[lane] = a_.data() + (first + std::min(lane, count - 1)) * depth_;
    }
    PanelNorms norms;
    screen_->pack_rows.of<float>()(rows, depth_, 1.0, center.data(), panel, &norms);
    for (int lane = 0; lane < count; ++lane) {
      double square = 0.0;
      for (std::int64_t j = 0; j < depth_; ++j) square += static_cast<double>(rows[lane][j]) * rows[lane][j];
      row_norms_.square[first + lane] = static_cast<float>(square);
      row_norms_.norm[first + lane] = std::sqrt(square) * (1 + 1e-6);
      row_norms_.residual[first + lane] = upper_residual(norms.residual[lane], depth_);
    }
  }

  template <class Work>
  void rung(const std::string& name, const std::string& limit, const char* Published::*published, const Work& work) {
    Measurement line{.name = name,
                     .shape = fmt::format("{} x {}, {}", rows_, depth_, columns_),
                     .work = 2.0 * static_cast<double>(rows_) * static_cast<double>(depth_ * columns_),
                     .unit = WorkUnit::flops,
                     .limit = limit};
    for (const Published& row : kPublished) {
      const bool is_same = rows_ == row.side && depth_ == row.side && columns_ == row.side;
      if (published != nullptr && is_same) line.published = row.*published;
    }
    std::fill_n(out_.data(), out_.size(), NAN);
    measurements_.push_back(measured_rung(request_, line, work, [&] {
      if (!sums_.empty()) return compare_sums();
      std::string wrong = compare_definition();
      sums_.assign(out_.data(), out_.data() + out_.size());
      return wrong;
    }));
  }

  /// One rounding for each addition of a term, and two for the difference that is squared.
  double bound_of_sums(double exact) const { return (static_cast<double>(depth_) + 4) * kRounding * exact; }

  /// The bound of docs/contract.md, Screens, and the rounding of the norms and of the final additions.
  double bound_of_products(std::int64_t row, std::int64_t column) const {
    const double a = row_norms_.norm[row], a_lost = row_norms_.residual[row];
    const double b = column_norms_.norm[column], b_lost = column_norms_.residual[column];
    const double summed = screen_->accumulation(depth_) * (a + a_lost) * (b + b_lost);
    return 2 * (a_lost * (b + b_lost) + a * b_lost + summed + static_cast<double>(depth_) * screen_->smallest) * 1.01 +
           4 * kRounding * (a * a + b * b);
  }

  /// Compares rung 1 with core/numbers/distance.h, at most 64 x 64 elements.
  std::string compare_definition() const {
    constexpr std::int64_t kSample = 64;
    std::vector<float> other(depth_);
    for (std::int64_t i = 0; i < std::min(kSample, columns_); ++i) {
      const std::int64_t column = i * columns_ / std::min(kSample, columns_);
      for (std::int64_t j = 0; j < depth_; ++j) other[j] = b_[j * columns_ + column];
      for (std::int64_t l = 0; l < std::min(kSample, rows_); ++l) {
        const std::int64_t row = l * rows_ / std::min(kSample, rows_);
        const double expected = squared_distance(&a_[row * depth_], other.data(), depth_);
        const double found = out_(row, column);
        if (std::abs(found - expected) <= bound_of_sums(expected)) continue;
        return fmt::format("row {}, column {}: expected {}, found {}", row, column, expected, found);
      }
    }
    return "";
  }

  std::string compare_sums() const {
    for (std::int64_t i = 0; i < out_.size(); ++i) {
      const double expected = sums_[i], found = out_.data()[i];
      const std::int64_t row = i / columns_, column = i % columns_;
      if (std::abs(found - expected) <= bound_of_products(row, column) + 2 * bound_of_sums(expected)) continue;
      return fmt::format("row {}, column {}: expected {}, found {}", row, column, expected, found);
    }
    return "";
  }

  const BenchRequest& request_;
  std::vector<Measurement>& measurements_;
  std::int64_t rows_, depth_, columns_;
  std::vector<float> a_, b_;
  Matrix<float> out_;
  std::vector<float> sums_;  // the elements of rung 1
  const ScreenKernels* screen_ = nullptr;
  VectorNorms row_norms_, column_norms_;
};

}  // namespace

std::vector<BenchShape> distance_shapes(const BenchRequest& request, std::int64_t multiple) {
  std::vector<BenchShape> shapes = request.shapes;
  if (shapes.empty()) {
    for (const Published& row : kPublished) shapes.push_back({row.side, row.side, {row.side}});
  }
  for (const BenchShape& shape : shapes) {
    for (const std::int64_t size : {shape.rows, shape.columns, shape.counts[0]}) {
      if (size % multiple == 0 && size <= kMostSide) continue;
      const std::string sizes = multiple > 1 ? fmt::format("a multiple of {}", multiple) : "a size";
      throw Error(ExitCode::usage, fmt::format("--shape {}x{},{}: expected MxN,K, each {} up to {}", shape.rows,
                                               shape.columns, shape.counts[0], sizes, kMostSide));
    }
  }
  return shapes;
}

std::vector<Measurement> climb_distances(const BenchRequest& request) {
  std::vector<Measurement> measurements;
  Threads one(1), all(request.backend.threads);
  for (const BenchShape& shape : distance_shapes(request, 1))
    DistanceLadder(shape, request, measurements).run(one, all);
  return measurements;
}

}  // namespace kith::cpu
