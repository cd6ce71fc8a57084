// The program kith-bench, which `kith bench` starts.
#include "app/cli/signals.h"
#include "app/cli/terminal.h"
#include "app/program.h"
#include "bench/suites/bench.h"

namespace {

/// words: "bench", and what stands behind it in the command line of kith.
int run(const kith::app::Arguments& words) {
  const kith::app::Arguments arguments(words.begin() + 1, words.end());
  if (arguments == kith::app::Arguments{"--version"}) {
    kith::app::print_out("kith-bench " KITH_VERSION "\n");
    return 0;
  }
  return kith::app::measure(arguments);
}

}  // namespace

int main(int count, char** words) {
  kith::app::prepare_process();
  kith::app::Arguments arguments(words + 1, words + count);
  arguments.insert(arguments.begin(), "bench");
  return kith::app::run_process(arguments, run);
}
