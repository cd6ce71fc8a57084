// The rates of a thread are nominal: operations per cycle by the instruction set, at one clock for all processors,
// since the clock does not change which of two methods is faster. Those of AMX and AVX-512 were measured on a Xeon
// at 2.6 GHz with searches, assignments and trees of kith; those of narrower vectors are in proportion to their width.
#include "kernels/cpu/choice/machine.h"

#include <string_view>

namespace kith::cpu {
namespace {

constexpr double kClock = 2.6e9;
constexpr double kCopied = 10e9;     // bytes per second of a thread: memcpy of large arrays
constexpr double kGathered = 1.7e9;  // sorting and moving keys of 16 bytes and rows of few columns
// Seconds until one more thread of a pool is at work: the system wakes them one after another. With 64 threads of a
// virtual machine 2000 steps of k-means++ over 10^6 rows of 3 columns took 1.8 s, and their arithmetic 0.2 s.
constexpr double kWaking = 5e-6;

/// Operations per cycle of a thread.
struct Throughput {
  std::string_view set;
  double low_precision, float32;  // multiply-adds
  double definitions;             // columns of distances in float64
};

constexpr Throughput kThroughputs[] = {{"amx", 192, 40, 4}, {"vnni", 64, 40, 4}, {"avx512", 40, 40, 4},
                                       {"bf16", 32, 40, 4}, {"avx2", 32, 20, 2}, {"neon", 16, 10, 1},
                                       {"plain", 10, 10, 1}};

// Of a score: comparing it with a limit, and moving products through the first-level cache, as float32 multiply-adds.
constexpr double kScore = 9;
// Of a distance, in columns: its beginning and end; and besides, a row that is not in the cache, and a place in a list.
constexpr double kDistance = 20, kScattered = 25;
// Of packing a column: centring, rounding, norms and transposing, as float32 multiply-adds.
constexpr double kPacked = 20;

}  // namespace

Machine processor_machine(const Instructions& set, int threads) {
  Throughput of_set = kThroughputs[std::size(kThroughputs) - 1];
  for (const Throughput& each : kThroughputs) {
    if (each.set == set.name) of_set = each;
  }
  const double cycles = kClock * threads;
  Machine machine;
  machine.copied = kCopied * threads;
  machine.gathered = kGathered * threads;
  machine.fp16 = of_set.low_precision * cycles;
  machine.float32 = of_set.float32 * cycles;
  machine.definitions = of_set.definitions * cycles;
  machine.step = kWaking * (threads - 1);
  return machine;
}

Prices::Prices(const Instructions& set, const ScreenKernels& screen, int threads, std::int64_t d)
    : machine(processor_machine(set, threads)) {
  const auto columns = static_cast<double>(d),
             padded = static_cast<double>(screen.column_bytes(d) / screen.value_bytes);
  const bool is_float32 = screen.value_bytes == sizeof(float);
  Cost score{{.float32 = kScore}};
  (is_float32 ? score.float32 : score.fp16) += padded;
  product = seconds(score, machine);
  float32_distance = seconds(Cost{{.float32 = 1.5 * (columns + kScore)}}, machine);
  definition = seconds(Cost{{.definitions = columns + kDistance}}, machine);
  candidate = seconds(Cost{{.definitions = columns + kDistance + kScattered}}, machine);
  packing = seconds(Cost{{.float32 = kPacked * (columns + kDistance + kScattered)}}, machine);
}

}  // namespace kith::cpu
