// Runs with checkpoints, for tests that stop them and compare what they write with an uninterrupted run.
#pragma once

#include <utility>

#include "tests/support/program.h"

namespace kith::testing {

/// A time limit that every step reaches.
inline const char* const kAtOnce = "0.000001ms";

/// One run of a command in a folder of its own, uninterrupted and in parts.
struct Trial {
  explicit Trial(Words command) : words(std::move(command)) {
    words.insert(words.end(), {"-q", "-o"});
    done(with({folder / "whole.h5"}));
  }
  Words with(const Words& more) const {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// The run with a checkpoint. more: other options.
  Outcome part(const Words& more) const {
    Words all = with({folder / "parts.h5", "--checkpoint", file()});
    all.insert(all.end(), more.begin(), more.end());
    return run_kith(all);
  }
  std::string file() const { return folder / "run.kith"; }
  /// Whether the run in parts has written the same bytes, and left nothing else.
  void check_same() const {
    CHECK(bytes_of(folder / "parts.h5") == bytes_of(folder / "whole.h5"));
    CHECK(files_in(folder) == Words{"parts.h5", "whole.h5"});
  }

  Scratch folder;
  Words words;
};

inline Words digits(const Words& options) {
  Words words{"cluster", kDigits};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

/// A run of about a second.
inline Words long_run(const Scratch& folder) {
  done({"generate", folder / "x.h5", "-n", "30000", "-d", "16", "-q"});
  return {"cluster", folder / "x.h5", "-k", "60", "--init", "random", "--tolerance", "0", "--max-iterations", "100000"};
}

}  // namespace kith::testing
