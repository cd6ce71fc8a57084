// NEON of arm64: vectors of four floats, panels of 16 rows, column panels of six columns.
#include <arm_neon.h>

#include "kernels/cpu/instructions/kernels.h"

namespace kith::cpu {
namespace {

struct Neon : FusedScalars {
  using F = float32x4_t;
  using D = float64x2_t;
  using I = int64x2_t;
  static constexpr int floats = 4, doubles = 2, panel_vectors = 4,
                       panel_columns = 6;  // 24 of the 32 registers hold sums
  static constexpr double roundings_per_product = 1;

  static constexpr const BitKernels* bits() { return &kPlainBits; }
  static F zero() { return vdupq_n_f32(0.0F); }
  static F load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, F v) { vst1q_f32(p, v); }
  static F broadcast(const float* p) { return vld1q_dup_f32(p); }
  static F multiply_add(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F subtract(F a, F b) { return vsubq_f32(a, b); }
  static F maximum(F a, F b) { return vmaxq_f32(a, b); }  // propagates NaN, which certifies nothing
  static F minimum(F a, F b) { return vminq_f32(a, b); }
  static F mark(int number) { return vreinterpretq_f32_s32(vdupq_n_s32(number)); }
  /// Replaces the last four bits of a score with those of a mark.
  static F marked(F score, F mark) { return vbslq_f32(vdupq_n_u32(15), mark, score); }
  /// Replaces the mark of a score with that of another.
  static F marked_as(F score, F other) { return marked(score, other); }
  static F root(F a) { return vsqrtq_f32(a); }
  /// Bit i of the result: lane i is all ones.
  static unsigned bits(uint32x4_t lanes) {
    constexpr std::uint32_t kBit[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(lanes, vld1q_u32(kBit)));
  }
  static unsigned not_greater(F a, F b) { return bits(vmvnq_u32(vcgtq_f32(a, b))); }

  /// Four values of points as floats.
  static F load_points(const float* x) { return vld1q_f32(x); }
  static F load_points(const std::uint8_t* x) {
    std::uint32_t four;
    __builtin_memcpy(&four, x, sizeof four);
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four)))));
  }
  static F load_points(const std::int8_t* x) {
    std::uint32_t four;
    __builtin_memcpy(&four, x, sizeof four);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four)))));
  }

  template <class T>
  static F centred(const T* x, double scale, F center) {
    return vfmaq_f32(vnegq_f32(center), load_points(x), vdupq_n_f32(static_cast<float>(scale)));
  }
  static F centred(const double* x, double scale, F center) {
    const D s = vdupq_n_f64(scale);
    const D low = vsubq_f64(vmulq_f64(vld1q_f64(x), s), vcvt_f64_f32(vget_low_f32(center)));
    const D high = vsubq_f64(vmulq_f64(vld1q_f64(x + 2), s), vcvt_high_f64_f32(center));
    return vcvt_high_f32_f64(vcvt_f32_f64(low), high);
  }

  /// Transposes a 4 x 4 matrix: pairs, then pairs of pairs.
  static void transpose(F* m) {
    const D a = vreinterpretq_f64_f32(vtrn1q_f32(m[0], m[1])), b = vreinterpretq_f64_f32(vtrn2q_f32(m[0], m[1]));
    const D c = vreinterpretq_f64_f32(vtrn1q_f32(m[2], m[3])), d = vreinterpretq_f64_f32(vtrn2q_f32(m[2], m[3]));
    m[0] = vreinterpretq_f32_f64(vtrn1q_f64(a, c));
    m[1] = vreinterpretq_f32_f64(vtrn1q_f64(b, d));
    m[2] = vreinterpretq_f32_f64(vtrn2q_f64(a, c));
    m[3] = vreinterpretq_f32_f64(vtrn2q_f64(b, d));
  }

  static D zero_d() { return vdupq_n_f64(0.0); }
  static D load_d(const float* p) { return vcvt_f64_f32(vld1_f32(p)); }
  static D load_d(const double* p) { return vld1q_f64(p); }
  template <class T>
  static D load_d(const T* p) {
    return D{static_cast<double>(p[0]), static_cast<double>(p[1])};
  }
  template <class T>
  static D load_first_d(const T* p, int count) {
    return D{static_cast<double>(p[0]), count > 1 ? static_cast<double>(p[1]) : 0.0};
  }
  static void store_floats(float* p, D v) { vst1_f32(p, vcvt_f32_f64(v)); }
  static D broadcast_d(double v) { return vdupq_n_f64(v); }
  static D add_d(D a, D b) { return vaddq_f64(a, b); }
  static D subtract_d(D a, D b) { return vsubq_f64(a, b); }
  static D absolute_d(D a) { return vabsq_f64(a); }
  static D maximum_d(D a, D b) { return vmaxnmq_f64(a, b); }  // std::fmax
  static D minimum_d(D a, D b) { return vminnmq_f64(a, b); }
  static unsigned not_above_d(D a, D b) {
    const uint64x2_t lanes = vcleq_f64(a, b);
    return static_cast<unsigned>((vgetq_lane_u64(lanes, 0) & 1) | (vgetq_lane_u64(lanes, 1) & 2));
  }
  static D multiply_d(D a, D b) { return vmulq_f64(a, b); }
  static D multiply_add_d(D a, D b, D c) { return vfmaq_f64(c, a, b); }
  static D floor_d(D a) { return vrndmq_f64(a); }
  static D root_d(D a) { return vsqrtq_f64(a); }
  static double tree_d(D a) { return vgetq_lane_f64(a, 0) + vgetq_lane_f64(a, 1); }

  static I load_i(const std::int64_t* p) { return vld1q_s64(p); }
  static void store_i(std::int64_t* p, I v) { vst1q_s64(p, v); }
  static I add_i(I a, I b) { return vaddq_s64(a, b); }
  static I nearest_i(D a) { return vcvtnq_s64_f64(a); }  // ties to even

  // For narrow.h.
  static F subtract_product(F a, F b, F c) { return vfmsq_f32(c, a, b); }
  /// The tile if the best score is unchanged, else first.
  static F updated_tile(F tile, F best, F before, std::int32_t first) {
    return vbslq_f32(vceqq_f32(best, before), tile, mark(first));
  }
  static void store_label(std::int32_t* label, F best, F tile) {
    const int32x4_t number = vandq_s32(vreinterpretq_s32_f32(best), vdupq_n_s32(15));
    vst1q_s32(label, vaddq_s32(number, vreinterpretq_s32_f32(tile)));
  }
  static unsigned differ(const std::int32_t* a, const std::int32_t* b) {
    return bits(vmvnq_u32(vceqq_s32(vld1q_s32(a), vld1q_s32(b))));
  }
  /// The first four columns of four rows that lie `stride` apart.
  static void load_four_columns(const float* rows, std::int64_t stride, F* column) {
    for (int r = 0; r < 4; ++r) column[r] = vld1q_f32(rows + r * stride);
    transpose(column);
  }
  template <class T>
  static D gather_d(const T* p, const std::int64_t* at) {
    return D{static_cast<double>(p[at[0]]), static_cast<double>(p[at[1]])};
  }
  static void store_d(double* p, D v) { vst1q_f64(p, v); }
  static I subtract_i(I a, I b) { return vsubq_s64(a, b); }
};

bool supported() { return true; }

}  // namespace

const Instructions kNeon = instructions_of<Neon>("neon", "NEON, float32 products", supported);

}  // namespace kith::cpu
