// Runs the kith program as a user does: with arguments, an environment, redirected streams, signals.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/hdf5_files.h"

extern template class nlohmann::basic_json<>;  // compiled once, in program.cpp

namespace kith::testing {

/// The 1797 digits: uint8, 64 columns.
inline const std::string kDigits = std::string(KITH_SOURCE_DIR) + "/samples/digits.h5";

using Words = std::vector<std::string>;

/// `text` with indented lines joined to the line above, and without the backslashes of continued commands.
std::string unwrapped(const std::string& text);

struct Outcome {
  int code = -1;  // exit code, or 128 + the signal that ended it
  std::string out;
  std::string err;
  std::int64_t peak_bytes = 0;  // largest resident memory

  nlohmann::json json() const;
  /// Whether `text` is on standard error, where long lines may have been wrapped.
  bool says(const std::string& text) const;
};

/// What differs from a plain run.
struct Setting {
  Words environment{};                // "KITH_SEED=3"
  std::string standard_output{};      // a file to open for it; empty: caught
  bool closed_output = false;         // no standard output at all
  bool broken_pipe = false;           // a pipe without a reader
  std::string folder{};               // to run in
  rlim_t file_bytes = RLIM_INFINITY;  // maximum size of a file
  rlim_t address_space = RLIM_INFINITY;
  std::string standard_input{};  // a file to open for it; empty: the input of the test
  Words runner{};                // a command that runs kith, such as "nice"
  std::string program = KITH_BINARY;
};

/// A started program. wait() must be called once.
class Running {
 public:
  explicit Running(const Words& words, const Setting& setting = {});
  pid_t process() const { return process_; }
  Outcome wait();

 private:
  Scratch folder_;
  pid_t process_ = -1;
};

Outcome run_kith(const Words& words, const Setting& setting = {});

/// A run that must succeed.
Outcome done(const Words& words, const Setting& setting = {});

/// A run that must exit with this code, with all of these texts on standard error and nothing on standard output, but
/// the error with --json.
void refuses(int code, const Words& words, const Words& said, const Setting& setting = {});

/// Names of the files in a folder, including hidden ones.
std::vector<std::string> files_in(const Scratch& folder);

/// Waits up to half a minute for something to become true.
bool eventually(const std::function<bool()>& condition);

/// Backends that are usable according to `kith devices`. KITH_REQUIRE=cuda makes a missing one a failure.
Words usable_backends();

}  // namespace kith::testing
