// AMX: products of tiles of bfloat16, added in float32.
//
// A register tile is 16 rows of 64 bytes. The first operand holds 32 values of each of 16 columns of the screen
// (centroids); the second holds 16 pairs of columns of the points for each of 16 rows, in the layout of a panel. Their
// product has 16 columns by 16 rows, the layout of a tile of products. Two operands of each kind are loaded at a time,
// so that every load serves two products.
#include "kernels/cpu/instructions/bfloat16.h"
#include "kernels/cpu/instructions/tiles.h"

namespace kith::cpu {
namespace {

struct Tile : Bfloat16 {
  static constexpr int kPanelVectors = 4, kPanelColumns = 32, kPadding = 32;
};
constexpr int kLanes = kSide * Tile::kPanelVectors;
constexpr int kValues = kSide * Tile::kPadding;  // values of one operand in a register tile

void products(const void* panel, const void* columns, float, std::int64_t d, std::int64_t column_panels, float* tile) {
  configure_thread();
  const std::int64_t steps = (d + Tile::kPadding - 1) / Tile::kPadding;
  constexpr std::int64_t kRowBytes = 64, kPanelBytes = kLanes * sizeof(std::int32_t);
  for (std::int64_t g = 0; g < column_panels; ++g) {
    for (int lane = 0; lane < kLanes; lane += 2 * kSide) {
      const auto* upper = static_cast<const std::uint16_t*>(columns) + 2 * g * steps * kValues;
      const auto* lower = upper + steps * kValues;
      const auto* rows = static_cast<const std::int32_t*>(panel) + lane;
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      for (std::int64_t s = 0; s < steps; ++s) {
        _tile_loadd(4, upper + s * kValues, kRowBytes);
        _tile_loadd(6, rows + s * kSide * kLanes, kPanelBytes);
        _tile_loadd(5, lower + s * kValues, kRowBytes);
        _tile_loadd(7, rows + s * kSide * kLanes + kSide, kPanelBytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
      float* to = tile + g * Tile::kPanelColumns * kLanes + lane;
      _tile_stored(0, to, kPanelBytes);
      _tile_stored(1, to + kSide, kPanelBytes);
      _tile_stored(2, to + kSide * kLanes, kPanelBytes);
      _tile_stored(3, to + kSide * kLanes + kSide, kPanelBytes);
    }
  }
}

/// Layout as products() loads it: [tile of 16 columns][32 values of each].
PackedColumns pack_columns(const float* rows, std::int64_t count, std::int64_t d, float largest_norm, void* packed) {
  const std::int64_t steps = (d + Tile::kPadding - 1) / Tile::kPadding;
  return Pairs<Tile>::pack_columns(rows, count, d, largest_norm, [&](std::int64_t c, std::int64_t j, __m512i values) {
    const std::int64_t place = (c / kSide * steps + j / Tile::kPadding) * kSide + c % kSide;
    _mm512_storeu_si512(static_cast<std::uint16_t*>(packed) + place * Tile::kPadding, values);
  });
}

/// Each of d / 32 tile products adds 32 products to an element, with at most two roundings per product and one for the
/// sum. Subnormal results become zero.
double accumulation(std::int64_t d) { return (2 * 34 + static_cast<double>(d) / 32 + 2) * 0x1p-24 * 1.001; }

double multiply_adds(std::int64_t rounds, float* result) {
  configure_thread();
  for (int i = 0; i < 8; ++i) result[i] = 0.0F;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (std::int64_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  return 2.0 * 4 * kSide * kValues * static_cast<double>(rounds);
}

bool supported() {
  constexpr unsigned kBf16 = 1U << 22;
  return has_avx512() && __builtin_cpu_supports("avx512bf16") && has_tiles(kBf16);
}

constexpr ScreenKernels screen() {
  return {.arithmetic = "bfloat16 tiles",
          .lanes = kLanes,
          .panel_columns = Tile::kPanelColumns,
          .padding = Tile::kPadding,
          .value_bytes = sizeof(std::uint16_t),
          .smallest = 0x1p-110,
          .scan_cost = 128,
          .accumulation = accumulation,
          .pack_rows = {Pairs<Tile>::pack<float>, Pairs<Tile>::pack<double>, Pairs<Tile>::pack<std::uint8_t>,
                        Pairs<Tile>::pack<std::int8_t>},
          .pack_columns = pack_columns,
          .products = products,
          .scores = score_kernels_of<TileShape<Tile>>(),
          .multiply_adds = multiply_adds};
}

}  // namespace

constinit const LowPrecision kAmx = {
    .name = "amx", .summary = "AMX, bfloat16 products of tiles", .supported = supported, .screen = screen()};

}  // namespace kith::cpu
