// The register tiles of AMX: their configuration, and whether this process may use them.
//
// Everything has internal linkage: each including file is compiled with its own -m flags.
#pragma once

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace kith::cpu {
namespace {

constexpr int kSide = 16;  // rows of a register tile

/// Configures all eight register tiles with their full size.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfiguration kConfiguration;

void configure_thread() {
  static thread_local bool configured = false;
  if (configured) return;
  _tile_loadconfig(&kConfiguration);
  configured = true;
}

/// Whether the processor has tiles and this kind of product, a bit of register EDX of leaf 7, by CPUID, since not every
/// compiler knows the names of these features; and the system lets the process use them, on request.
bool has_tiles(unsigned product) {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  constexpr unsigned kTile = 1U << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & product) == 0 || (d & kTile) == 0) return false;
  static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}

}  // namespace
}  // namespace kith::cpu
