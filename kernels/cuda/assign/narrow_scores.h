// Scores of rows of few columns against groups of centroids: differences and products, and the best of each row.
#pragma once

#include <limits>

#include "core/numbers/difference_margin.h"
#include "kernels/cuda/assign/narrow_screen.h"
#include "kernels/cuda/device/screened_value.h"
#include "kernels/cuda/device/tile.h"

namespace kith::cuda {

inline constexpr int kNarrowRows = 4;          // of a thread
inline constexpr int kNarrowBatch = 64;        // groups in shared memory, which have numbers
inline constexpr int kNeverBits = 0x7F61B180;  // just below kNarrowAbsent, with low bits of zero; no score is above it

template <class T, int D>
__device__ void load_row(const PointOperand<T>& rows, std::int64_t row, float (&x)[D]) {
#pragma unroll
  for (int j = 0; j < D; ++j) x[j] = screened(__ldg(&rows.values[row * D + j]), rows.scale, __ldg(&rows.center[j]));
}

enum class NarrowScores {
  differences,  // |x^ - c^|^2, not negative
  products      // |c'|^2 / 2 - x^.c^
};

/// The score of each centroid of a group. The group has rows of eight values: first terms of differences, D columns,
/// first terms of products.
template <NarrowScores Scores, int D, int Rows>
__device__ void score_group(const float4* group, const float (&x)[Rows][D], float (&score)[Rows][kNarrowGroup]) {
  const auto load = [&](int row, float(&values)[kNarrowGroup]) {
    const float4 low = group[2 * row], high = group[2 * row + 1];
    values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
    values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
  };
  float first[kNarrowGroup];
  load(Scores == NarrowScores::differences ? 0 : D + 1, first);
#pragma unroll
  for (int j = 0; j < D; ++j) {
    float c[kNarrowGroup];
    load(1 + j, c);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int i = 0; i < kNarrowGroup; ++i) {
        const float before = j == 0 ? first[i] : score[r][i];
        const float t = Scores == NarrowScores::differences ? __fsub_rn(x[r][j], c[i]) : c[i];
        score[r][i] = __fmaf_rn(t, Scores == NarrowScores::differences ? t : -x[r][j], before);
      }
    }
  }
}

/// Minima and maxima of scores. Floats that are not negative order like their bits, of which a minimum of three is one
/// operation.
template <NarrowScores Scores>
__device__ float smaller(float a, float b) {
  if constexpr (Scores == NarrowScores::products) return fminf(a, b);
  return __int_as_float(min(__float_as_int(a), __float_as_int(b)));
}
template <NarrowScores Scores>
__device__ float larger(float a, float b) {
  if constexpr (Scores == NarrowScores::products) return fmaxf(a, b);
  return __int_as_float(max(__float_as_int(a), __float_as_int(b)));
}
template <NarrowScores Scores>
__device__ float smallest(float a, float b, float c) {
  if constexpr (Scores == NarrowScores::products) return fminf(fminf(a, b), c);
  return __int_as_float(__vimin3_s32(__float_as_int(a), __float_as_int(b), __float_as_int(c)));
}

/// A score whose low bits, of which `mask` has all, are replaced by a number.
__device__ inline float marked(float score, int mask, int number) {
  return __int_as_float((__float_as_int(score) & ~mask) | number);
}
__device__ inline int number_of(float score, int mask) { return __float_as_int(score) & mask; }
__device__ inline float never() { return __int_as_float(kNeverBits); }

/// The smallest scores of the two best groups, with the numbers of the groups.
template <NarrowScores Scores>
struct BestGroups {
  float best = never(), second = never();

  __device__ void take(const float (&score)[kNarrowGroup], int number) {
    const float low =
        smallest<Scores>(smallest<Scores>(score[0], score[1], score[2]), smallest<Scores>(score[3], score[4], score[5]),
                         smaller<Scores>(score[6], score[7]));
    const float own = marked(low, kNarrowBatch - 1, number);
    second = smaller<Scores>(second, larger<Scores>(best, own));
    best = smaller<Scores>(best, own);
  }
  __device__ int number() const { return number_of(best, kNarrowBatch - 1); }
};

template <NarrowScores Scores, int D>
__device__ void screen_groups(const float4* batch, int stride, int count, const float (&x)[kNarrowRows][D],
                              BestGroups<Scores> (&kept)[kNarrowRows]) {
#pragma unroll 1
  for (int g = 0; g < count; ++g) {
    float score[kNarrowRows][kNarrowGroup];
    score_group<Scores>(batch + g * stride, x, score);
#pragma unroll
    for (int r = 0; r < kNarrowRows; ++r) kept[r].take(score[r], g);
  }
}

/// The smallest score of a row, of centroid `member` of the best group, and the smallest of all others. Differences:
/// best is at least and second at most what the screen computed. Products: both have marks.
struct NarrowResult {
  int member;
  float best, second;
};

/// second: of BestGroups.
template <NarrowScores Scores, int D>
__device__ NarrowResult narrow_result(const float4* group, const float (&x)[1][D], float second) {
  constexpr int kMembers = kNarrowGroup - 1;
  float score[1][kNarrowGroup];
  score_group<Scores>(group, x, score);
  float best = never();
  second = marked(second, kNarrowBatch - 1, 0);
#pragma unroll
  for (int i = 0; i < kNarrowGroup; i += 2) {
    const float a = marked(score[0][i], kMembers, i), b = marked(score[0][i + 1], kMembers, i + 1);
    const float above_a = larger<Scores>(best, a);
    best = smaller<Scores>(best, a);
    const float above_b = larger<Scores>(best, b);
    best = smaller<Scores>(best, b);
    second = smallest<Scores>(second, above_a, above_b);
  }
  return {number_of(best, kMembers), marked(best, kMembers, kMembers), marked(second, kMembers, 0)};
}

/// |x^|, rounded; infinite if a value is.
template <int D>
__device__ float narrow_norm(const float (&x)[D]) {
  float square = 0.0F;
#pragma unroll
  for (int j = 0; j < D; ++j) square = __fmaf_rn(x[j], x[j], square);
  return sqrtf(square);
}

/// The limit of the candidates of a row with this difference. Infinite where differences may leave the range of
/// float32.
__device__ inline float candidate_limit(const ScreenMargin& margin, float difference, float norm) {
  return difference < never() ? difference_limit(margin, difference, norm) : std::numeric_limits<float>::infinity();
}

}  // namespace kith::cuda
