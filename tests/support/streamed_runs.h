// Points larger than --memory, and runs of kith that read them in passes.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/hdf5_files.h"
#include "tests/support/program.h"

namespace kith::testing {

constexpr std::int64_t kStreamedRows = 90'000, kStreamedColumns = 40;  // 14.4 MB

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Rows in seven groups.
inline std::vector<float> streamed_values(std::int64_t rows, unsigned seed) {
  std::vector<float> out(static_cast<std::size_t>(rows * kStreamedColumns));
  for (std::size_t i = 0; i < out.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    out[i] = static_cast<float>(i / kStreamedColumns % 7 * 3) + static_cast<float>(seed >> 8) * 0x1p-23F;
  }
  return out;
}

/// A NumPy array; `shape` without its last parenthesis: "(3, 4".
inline void write_npy(const std::string& file, const std::vector<float>& x, const std::string& shape,
                      bool columns_together = false) {
  std::string head = std::string("{'descr': '<f4', 'fortran_order': ") + (columns_together ? "True" : "False") +
                     ", 'shape': " + shape + "), }";
  head.resize(117, ' ');
  std::ofstream out(file, std::ios::binary);
  out << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << head << '\n';
  out.write(reinterpret_cast<const char*>(x.data()), static_cast<std::streamsize>(x.size() * sizeof(float)));
}
inline void write_npy(const std::string& file, const std::vector<float>& x) {
  write_npy(file, x, "(" + std::to_string(x.size() / kStreamedColumns) + ", " + std::to_string(kStreamedColumns));
}

/// Runs a command with enough memory and with `little`, and compares the results. Returns the report of the second run.
inline nlohmann::json compare_streamed(const Words& command, const Words& little, const Scratch& folder) {
  const std::string all = folder / "all.h5", streamed = folder / "streamed.h5";
  done(command + Words{"-o", all, "-f", "--json"});
  const Outcome outcome = done(command + Words{"-o", streamed, "-f", "--json"} + little);
  INFO(nlohmann::json(command).dump());
  CHECK(bytes_of(all) == bytes_of(streamed));
  const auto report = nlohmann::json::parse(outcome.out);
  REQUIRE(report.contains("streamed"));
  CHECK(report["streamed"]["held_rows"] > 0);
  return report;
}

}  // namespace kith::testing
