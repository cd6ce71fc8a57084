// The portable instruction set: vectors of four floats that the compiler maps to the baseline of the architecture (SSE2
// on x86-64, NEON on arm64).

#include "kernels/cpu/instructions/bits.h"
#include "kernels/cpu/instructions/kernels.h"

namespace kith::cpu {
namespace {

struct Plain {
  typedef float F __attribute__((vector_size(16)));
  typedef double D __attribute__((vector_size(16)));
  typedef std::int64_t I __attribute__((vector_size(16)));
  typedef std::int32_t N __attribute__((vector_size(16)));
  static constexpr int floats = 4, doubles = 2, panel_vectors = 2, panel_columns = 4;
#ifdef FP_FAST_FMAF
  static constexpr double roundings_per_product = 1;
  static F multiply_add(F a, F b, F c) {
    F r;
    for (int i = 0; i < 4; ++i) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return r;
  }
#else
  static constexpr double roundings_per_product = 2;
  static F multiply_add(F a, F b, F c) { return a * b + c; }
#endif

  static constexpr const BitKernels* bits() { return &kPlainBits; }
  static F zero() { return F{}; }
  static F load(const float* p) {
    F v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(float* p, F v) { __builtin_memcpy(p, &v, sizeof v); }
  static F broadcast(const float* p) { return F{*p, *p, *p, *p}; }
  static F add(F a, F b) { return a + b; }
  static F subtract(F a, F b) { return a - b; }
  static F maximum(F a, F b) { return a > b ? a : b; }
  static F minimum(F a, F b) { return a < b ? a : b; }
  static F mark(int number) { return reinterpret_cast<F>(N{number, number, number, number}); }
  /// Replaces the last four bits of a score with those of a mark.
  static F marked(F score, F mark) {
    return reinterpret_cast<F>((reinterpret_cast<N>(score) & ~15) | reinterpret_cast<N>(mark));
  }
  /// Replaces the mark of a score with that of another.
  static F marked_as(F score, F other) { return marked(score, reinterpret_cast<F>(reinterpret_cast<N>(other) & 15)); }
  static F root(F a) {
    for (int i = 0; i < 4; ++i) a[i] = __builtin_sqrtf(a[i]);
    return a;
  }
  static unsigned not_greater(F a, F b) {
    unsigned mask = 0;
    for (unsigned i = 0; i < 4; ++i) mask |= static_cast<unsigned>(!(a[i] > b[i])) << i;
    return mask;
  }

  template <class T>
  static F centred(const T* x, double scale, F center) {
    F v;
    for (int i = 0; i < 4; ++i) v[i] = centred_one(x[i], scale, center[i]);
    return v;
  }
  /// Computed in float64: the product is exact, and the difference is rounded once before the conversion to float.
  template <class T>
  static float centred_one(T x, double scale, float center) {
    return static_cast<float>(static_cast<double>(x) * scale - static_cast<double>(center));
  }
  static void transpose(F* m) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < i; ++j) {
        const float t = m[i][j];
        m[i][j] = m[j][i];
        m[j][i] = t;
      }
    }
  }

  static D zero_d() { return D{}; }
  template <class T>
  static D load_d(const T* p) {
    return D{static_cast<double>(p[0]), static_cast<double>(p[1])};
  }
  template <class T>
  static D load_first_d(const T* p, int count) {
    return D{static_cast<double>(p[0]), count > 1 ? static_cast<double>(p[1]) : 0.0};
  }
  static void store_floats(float* p, D v) {
    p[0] = static_cast<float>(v[0]);
    p[1] = static_cast<float>(v[1]);
  }
  static D broadcast_d(double v) { return D{v, v}; }
  static D add_d(D a, D b) { return a + b; }
  static D subtract_d(D a, D b) { return a - b; }
  static D absolute_d(D a) { return D{__builtin_fabs(a[0]), __builtin_fabs(a[1])}; }
  static D maximum_d(D a, D b) { return a > b ? a : b; }
  static D minimum_d(D a, D b) { return a < b ? a : b; }
  static unsigned not_above_d(D a, D b) {
    return static_cast<unsigned>(a[0] <= b[0]) | static_cast<unsigned>(a[1] <= b[1]) << 1;
  }
  static D multiply_d(D a, D b) { return a * b; }
  static D multiply_add_d(D a, D b, D c) { return D{__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])}; }
  static D root_d(D a) { return D{__builtin_sqrt(a[0]), __builtin_sqrt(a[1])}; }
  static D floor_d(D a) { return D{__builtin_floor(a[0]), __builtin_floor(a[1])}; }
  static double tree_d(D a) { return a[0] + a[1]; }

  static I load_i(const std::int64_t* p) { return I{p[0], p[1]}; }
  static void store_i(std::int64_t* p, I v) {
    p[0] = v[0];
    p[1] = v[1];
  }
  static I add_i(I a, I b) { return a + b; }
  static I nearest_i(D a) {
    return I{static_cast<std::int64_t>(__builtin_rint(a[0])), static_cast<std::int64_t>(__builtin_rint(a[1]))};
  }

  // For narrow.h.
#ifdef FP_FAST_FMAF
  static F subtract_product(F a, F b, F c) { return multiply_add(-a, b, c); }
#else
  static F subtract_product(F a, F b, F c) { return c - a * b; }
#endif
  /// The tile if the best score is unchanged, else first.
  static F updated_tile(F tile, F best, F before, std::int32_t first) {
    return reinterpret_cast<F>(best == before ? reinterpret_cast<N>(tile) : N{first, first, first, first});
  }
  static void store_label(std::int32_t* label, F best, F tile) {
    const N number = (reinterpret_cast<N>(best) & 15) + reinterpret_cast<N>(tile);
    __builtin_memcpy(label, &number, sizeof number);
  }
  static unsigned differ(const std::int32_t* a, const std::int32_t* b) {
    unsigned mask = 0;
    for (unsigned i = 0; i < 4; ++i) mask |= static_cast<unsigned>(a[i] != b[i]) << i;
    return mask;
  }
  /// The first four columns of four rows that lie `stride` apart.
  static void load_four_columns(const float* rows, std::int64_t stride, F* column) {
    for (int r = 0; r < 4; ++r) column[r] = load(rows + r * stride);
    transpose(column);
  }
  template <class T>
  static D gather_d(const T* p, const std::int64_t* at) {
    return D{static_cast<double>(p[at[0]]), static_cast<double>(p[at[1]])};
  }
  static void store_d(double* p, D v) {
    p[0] = v[0];
    p[1] = v[1];
  }
  static I subtract_i(I a, I b) { return a - b; }
};

struct PlainBits {
  typedef std::uint32_t W __attribute__((vector_size(16)));
  static constexpr int words = 4;
  static constexpr std::int64_t kMostAdded = std::int64_t{1} << 26;

  static W none() { return W{}; }
  static W load(const std::uint32_t* p) {
    W w;
    __builtin_memcpy(&w, p, sizeof w);
    return w;
  }
  static W broadcast(const std::uint32_t* p) { return W{*p, *p, *p, *p}; }
  static W both(W a, W b) { return a & b; }
  static W add_bits(W sum, W w) {
    w -= (w >> 1) & 0x55555555U;  // sums of two bits, then of four, then of eight
    w = (w & 0x33333333U) + ((w >> 2) & 0x33333333U);
    w = (w + (w >> 4)) & 0x0f0f0f0fU;
    w += w >> 8;
    return sum + ((w + (w >> 16)) & 63U);
  }
  static W wide_sums(W sum) { return sum; }
  static W add(W a, W b) { return a + b; }
  static void store(std::int32_t* p, W w) { __builtin_memcpy(p, &w, sizeof w); }
  static unsigned not_below(W sums, const float* row_bits, float slope, float bound) {
    unsigned mask = 0;
    for (unsigned i = 0; i < 4; ++i) {
      mask |= static_cast<unsigned>(static_cast<float>(sums[i]) >= slope * row_bits[i] - bound) << i;
    }
    return mask;
  }
  static std::int64_t common(const std::uint8_t* x, const std::uint8_t* y, std::int64_t bytes) {
    W sum = none();
    std::int64_t j = 0, total = 0;
    for (; j + 16 <= bytes; j += 16) {
      W a, b;
      __builtin_memcpy(&a, x + j, sizeof a);
      __builtin_memcpy(&b, y + j, sizeof b);
      sum = add_bits(sum, a & b);
    }
    for (int i = 0; i < words; ++i) total += sum[i];
    for (; j < bytes; ++j) total += __builtin_popcount(static_cast<unsigned>(x[j] & y[j]));
    return total;
  }
};

bool supported() { return true; }

}  // namespace

const BitKernels kPlainBits = bit_kernels_of<PlainBits>("sums of bits", supported, nullptr);

const Instructions kPlain = instructions_of<Plain>("plain", "what every processor of the architecture has", supported);

}  // namespace kith::cpu
