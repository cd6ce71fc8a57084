// The program kith.
#include "app/cli/signals.h"
#include "app/program.h"

int main(int count, char** words) {
  kith::app::prepare_process();
  return kith::app::run_process({words + 1, words + count}, kith::app::run_program);
}
