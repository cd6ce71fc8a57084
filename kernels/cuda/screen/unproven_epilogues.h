// Epilogues of screen/wgmma_product.h that prove nothing: what a screen costs that keeps no second best, has no margin
// and lists no rows. `kith bench` compares them with those of fp16_epilogues.h; nothing else takes them.
#pragma once

#include "kernels/cuda/screen/nearest_epilogues.h"

namespace kith::cuda {

/// The best of all scores and its column: KeepTwo without its second best, three instructions per score.
class KeepBest {
 public:
  static constexpr bool kAnyColumns = false;
  struct Arguments {
    const Fp16Bound* bound;
    std::int32_t* nearest;  // out
  };

  __device__ KeepBest(const Arguments& arguments, std::int64_t rows)
      : arguments_(arguments), rows_(rows), offset_(arguments.bound->grid.offset()) {}

  __device__ void begin(std::int64_t) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      best_[r] = INT_MAX;
      tile_[r] = 0;
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    const int before[2] = {best_[2 * kHalf], best_[2 * kHalf + 1]};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 base = base_of(score_base, i);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        int& best = best_[2 * kHalf + r];
        best = __viaddmin_s32(quantized_score(base.x, product_of<0>(product, i, r), offset_), 4 * i, best);
        best = __viaddmin_s32(quantized_score(base.y, product_of<1>(product, i, r), offset_), 4 * i + 1, best);
        best = __viaddmin_s32(quantized_score(base.z, product_of<2>(product, i, r), offset_), 4 * i + 2, best);
        best = __viaddmin_s32(quantized_score(base.w, product_of<3>(product, i, r), offset_), 4 * i + 3, best);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) tile_[2 * kHalf + r] = best_[2 * kHalf + r] != before[r] ? tile : tile_[2 * kHalf + r];
  }

  __device__ void finish(std::int64_t row) const {
    const JoinedTwo found = joined_of_quarter([&](int r) {
      return JoinedTwo{
          best_[r], INT_MAX,
          static_cast<int>(tile_[r]) * kFp16Columns + quarter() * kGroupColumns + quantized_column(best_[r])};
    });
    const std::int64_t mine = row_of_quarter(row);
    if (mine < rows_) arguments_.nearest[mine] = found.name;
  }

 private:
  const Arguments& arguments_;
  std::int64_t rows_;
  float offset_;
  int best_[4];
  unsigned tile_[4];
};

/// The group of columns that has the best score: KeepGroups without its second and third.
class KeepBestGroup {
 public:
  static constexpr bool kAnyColumns = false;
  struct Arguments {
    RowGroups groups;  // out; no limits
  };

  __device__ KeepBestGroup(const Arguments& arguments, std::int64_t rows) : arguments_(arguments), rows_(rows) {}

  __device__ void begin(std::int64_t) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      best_[r] = INT_MAX;
      tile_[r] = 0;
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    int smallest[2];
    smallest_scores(product, score_base, smallest);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      tile_[2 * kHalf + r] = smallest[r] < best_[2 * kHalf + r] ? tile : tile_[2 * kHalf + r];
      best_[2 * kHalf + r] = min(best_[2 * kHalf + r], smallest[r]);
    }
  }

  __device__ void finish(std::int64_t row) const {
    constexpr int kGroups = kFp16Columns / kGroupColumns;
    const JoinedTwo found = joined_of_quarter([&](int r) {
      return JoinedTwo{best_[r], INT_MAX, static_cast<int>(tile_[r]) * kGroups + quarter()};
    });
    const std::int64_t mine = row_of_quarter(row);
    if (mine >= rows_) return;
    arguments_.groups.first[mine] = found.name;
    arguments_.groups.second[mine] = RowGroups::kNone;
  }

 private:
  const Arguments& arguments_;
  std::int64_t rows_;
  int best_[4];
  unsigned tile_[4];
};

}  // namespace kith::cuda
