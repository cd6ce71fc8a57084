// Choices between methods that give the same results: what each would cost on this machine, which was taken, and why.
// Costs are counted in bytes and operations where a choice is made (kernels/*/choice); only a Machine turns them into
// seconds, so that a device that nobody has tuned for chooses by its own rates.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kith {

/// The work of a method, or the rates of a machine: each number of the first is divided by that of the second.
struct WorkOrRates {
  double copied = 0.0;       // bytes read or written in order, in the memory of the backend
  double gathered = 0.0;     // bytes of rows read at scattered places
  double sent = 0.0;         // bytes between the memory of the host and that of the device
  double fp16 = 0.0;         // multiply-adds of half precision: fp16 or bf16, whichever the backend multiplies faster
  double int8 = 0.0;         // multiply-adds of bytes
  double float32 = 0.0;      // multiply-adds
  double definitions = 0.0;  // columns of differences in float64, as the definition of a distance adds them
};

struct Cost : WorkOrRates {
  double steps = 0.0;  // one after another: kernels that are started, or times that all threads are woken
};

/// What a backend can do in a second, from the properties of its device or measured once.
struct Machine : WorkOrRates {
  double step = 0.0;     // seconds for which nothing else is done at each step
  double opening = 0.0;  // seconds until the first operation
};

/// The time of `cost`, as if nothing overlapped; work of a kind for which the machine has no rate takes no time.
inline double seconds(const Cost& cost, const Machine& machine) {
  const auto time = [](double work, double rate) { return rate > 0.0 ? work / rate : 0.0; };
  return time(cost.copied, machine.copied) + time(cost.gathered, machine.gathered) + time(cost.sent, machine.sent) +
         time(cost.fp16, machine.fp16) + time(cost.int8, machine.int8) + time(cost.float32, machine.float32) +
         time(cost.definitions, machine.definitions) + cost.steps * machine.step;
}

/// A method that could have been taken.
struct Option {
  std::string method;         // "tree"
  double seconds = 0.0;       // estimated; 0: not estimated
  std::int64_t bytes = 0;     // of memory that it needs in addition
  std::string excluded = {};  // why it could not be taken: "more than 64 columns"; empty: it could
};

struct Decision {
  std::string subject;                  // what was decided: "search", "assignment", "backend"
  std::string method;                   // what was taken: "tree"
  std::string reason;                   // "a query measures 0.4 % of the rows"
  std::vector<Option> considered = {};  // all methods, with the one that was taken
  std::int64_t times = 1;               // that it was taken
};

/// The decisions of a backend in the order in which they were first taken: one for each subject and method, with what
/// was considered last. Several threads may add to it.
class Decisions {
 public:
  void add(Decision decision) {
    const std::lock_guard lock(mutex_);
    for (Decision& taken : all_) {
      if (taken.subject != decision.subject || taken.method != decision.method) continue;
      decision.times += taken.times;
      taken = std::move(decision);
      return;
    }
    all_.push_back(std::move(decision));
  }
  std::vector<Decision> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Decision> all_;
};

}  // namespace kith
