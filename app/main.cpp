// The program kith.
#include "app/cli/signals.h"
#include "app/program.h"
#include "data/hdf5/hdf5_child.h"

namespace {

int run(const kith::app::Arguments& words) {
  const kith::app::Arguments arguments = kith::app::planned(words);
  kith::data::prepare_hdf5_children(arguments);
  return kith::app::run_program(arguments);
}

}  // namespace

int main(int count, char** words) {
  kith::app::prepare_process();
  return kith::app::run_process({words + 1, words + count}, run);
}
