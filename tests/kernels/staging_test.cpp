// Copies between host and device through page-locked buffers return the bytes that were sent, for sizes around those of
// the buffers.
#include "kernels/cuda/runtime/staging.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/runtime/memory.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"

using namespace kith;
using namespace kith::cuda;

namespace {

/// Returns false, with a warning, if there is no device. Fails if KITH_REQUIRE demands one.
bool device_is_there() {
  for (const test::Tested& tested : test::tested_backends()) {
    if (tested.name == "cuda") return true;
  }
  return false;
}

std::vector<unsigned char> pattern(std::int64_t bytes, unsigned seed) {
  std::vector<unsigned char> values(static_cast<std::size_t>(bytes));
  unsigned state = seed;
  for (unsigned char& value : values)
    value = static_cast<unsigned char>((state = state * 1664525U + 1013904223U) >> 24);
  return values;
}

}  // namespace

TEST_CASE("page-locked buffers return every byte for any size") {
  if (!device_is_there()) return;
  Pool pool(0);
  const Stream stream;
  const auto staging = Staging::make();
  REQUIRE(staging != nullptr);
  constexpr std::int64_t kBuffer = Staging::kBufferBytes;
  for (const std::int64_t bytes :
       {std::int64_t{1}, std::int64_t{4097}, kBuffer - 1, kBuffer, kBuffer + 1, 3 * kBuffer, 7 * kBuffer + 12345}) {
    INFO(bytes << " bytes");
    const std::vector<unsigned char> up = pattern(bytes, static_cast<unsigned>(bytes));
    std::vector<unsigned char> down(up.size() + 1, 77);
    Buffer<unsigned char> device(pool, bytes + 64);
    stream.fill(device.data(), 0x55, bytes + 64);
    staging->upload(stream, device.data() + 3, up.data(), bytes);
    staging->download(stream, down.data(), device.data() + 3, bytes);
    CHECK(std::memcmp(up.data(), down.data(), up.size()) == 0);
    CHECK(down.back() == 77);  // nothing beyond the end was written
    unsigned char around[2];
    stream.download(around, device.data() + 2, 1);
    stream.download(around + 1, device.data() + 3 + bytes, 1);
    CHECK(around[0] == 0x55);
    CHECK(around[1] == 0x55);
  }
}

TEST_CASE("the host can reuse its memory while copies are in progress") {
  if (!device_is_there()) return;
  Pool pool(0);
  const Stream stream;
  constexpr std::int64_t kBytes = 3 * Staging::kWorthwhile + 1;
  Buffer<unsigned char> first(pool, kBytes), second(pool, kBytes);
  std::vector<unsigned char> host = pattern(kBytes, 1);
  const std::vector<unsigned char> one = host, two = pattern(kBytes, 2);
  stream.upload(first.data(), host.data(), kBytes);
  host = two;
  stream.upload(second.data(), host.data(), kBytes);
  std::fill(host.begin(), host.end(), 0);
  stream.download(host.data(), first.data(), kBytes);
  CHECK((host == one));
  stream.download(host.data(), second.data(), kBytes);
  CHECK((host == two));
}
