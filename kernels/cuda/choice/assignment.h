// How an assignment is made: which screen labels the rows, and how those are decided that it cannot certify. All
// methods give the same labels.
//
// Costs are those of the work by the rates of the device. What data do to a screen is known from the last assignments
// of the same rows (runtime/observations.h) or from a sample of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/points/backend.h"
#include "core/points/decision.h"
#include "kernels/cuda/choice/machine.h"
#include "kernels/cuda/runtime/observations.h"

namespace kith::cuda {

enum class AssignmentMethod {
  narrow,       // float32 with whole rows in registers (assign/narrow_screen.h)
  near_labels,  // among the centroids near each row's label (assign/near_labels.h)
  fp16,         // the best two scores of each row (assign/fp16_screen.h)
  fp16_groups,  // the best groups of 32 centroids, and then these again (assign/fp16_groups.cu)
  float32       // tiles of products (screen/float32_screen.h)
};
const char* name_of(AssignmentMethod method);

inline constexpr std::int64_t kMostNarrowColumns = 8;  // of the narrow screen
inline constexpr double kExpectedWithinMargin = 8;     // centroids within the margin of a row in float32
inline constexpr std::int64_t kSampledRows = 128;      // of a CandidateSample

// The local screen (assign/local_screen.h).
inline constexpr int kLocalRows = 128;    // rows of one guess that a thread block decides
inline constexpr int kLocalColumns = 64;  // centroids that it multiplies at a time
/// The number of lists of this length that have memory: the guesses whose rows the screen can decide.
std::int64_t most_local_lists(std::int64_t length, std::int64_t columns);

/// What an assignment works on.
struct AssignmentShape {
  std::int64_t rows = 0, columns = 0, clusters = 0;
  std::int64_t value_bytes = 4;   // of a value of a row
  bool has_fp16 = false;          // fp16 copies of the rows are held
  bool has_local_screen = false;  // the device and the number of columns permit it
  bool sends_rows = false;        // lists of centroids near labels would need rows that are on the host
  double longest = 0.0;           // |x^| of the rows that are screened, in fp16
  double usual_length = 0.0;      // half of the rows are not longer
};

/// The numbers of centroids that the triangle inequality leaves to some rows, their candidates.
struct Candidates {
  double mean = 0.0;
  std::int64_t usual = 0;            // nine rows in ten have at most as many
  double guesses = 0.0;              // estimate of the number of different guesses
  std::vector<std::int32_t> counts;  // of the sampled rows, in ascending order

  std::int64_t most() const { return counts.empty() ? 0 : counts.back(); }
  /// The candidates of the rows that have more than `most`, per row.
  double beyond(std::int64_t most) const;
};

/// The candidates of a sample of rows with their own guesses, and with guesses that are merged (ListUse::merged).
struct CandidateSample {
  Candidates own, merged;
};

/// How rows are decided near their guesses.
struct NearChoice {
  double seconds = 0.0;  // per row
  ListUse lists;
};

/// The choices of one assignment.
class AssignmentChoice {
 public:
  /// The references outlive the object.
  AssignmentChoice(const AssignmentShape& shape, const Machine& machine, const ForcedPaths& forced,
                   AssignmentObservations& observed, Decisions& decisions);

  /// Chooses the method. sample: measures the candidates of rows near their labels, and waits for the device; it is
  /// called only where that may pay.
  AssignmentMethod choose(const std::function<CandidateSample()>& sample);
  /// The method if there is no memory for lists of centroids.
  AssignmentMethod choose_screen();
  /// Whether the passes of all blocks are queued, and their ambiguous rows counted afterwards.
  bool queues_blocks() const { return !observed_.left_many; }

  // Ambiguous rows go from tier to tier: the centroids near their guesses; the scores of the fp16 screen within their
  // margin; the float32 screen.

  /// Ambiguous rows of a block, and the columns within the margin of a row.
  struct Ambiguous {
    std::int64_t count = 0;
    double within_margin = 0.0;
    std::int64_t of_rows = 0;    // that were screened
    std::int64_t sent_rows = 0;  // that lists would need from the host
  };
  /// Whether lists of centroids may decide them.
  bool takes_lists(const Ambiguous& rows);
  /// The cheaper of the local screen and the definition near their guesses; the screen only where it costs less than
  /// the next tier.
  NearChoice choose_near(const Ambiguous& rows, const CandidateSample& candidates);
  /// The candidates from which on the next tier costs less than walking the list of a row.
  std::int64_t most_walked(const Ambiguous& rows) const;
  /// Whether the float32 screen decides them rather than the fp16 scores within their margin.
  bool takes_float32(const Ambiguous& rows);

  // The work of the assignment, besides its screen of all rows.
  void add_pairs(double distances) { other_.definitions += kPair * distances * columns_; }
  void add_walked(double distances) { other_.definitions += kScattered * distances * columns_; }
  void add_local(double seconds) { local_seconds_ += seconds; }
  void add_float32(std::int64_t rows);

  // What the assignment showed, for the next ones.

  /// After a screen of all rows. ambiguous: rows, where blocks were not queued, else 0; overflowed: queued blocks had
  /// more of them than memory; made_lists: of centroids.
  void note_screen(std::int64_t ambiguous, bool overflowed, bool made_lists);
  /// After AssignmentMethod::near_labels, which measured so many distances.
  void note_near(double distances);
  /// Lists of centroids left `rest` of `count` rows ambiguous.
  void note_lists(std::int64_t count, std::int64_t rest);

 private:
  static constexpr double kPair = 8.0;  // definitions in the time of one pair by pair, which reads both rows anew

  Option screen_option(AssignmentMethod method) const;
  std::vector<Option> options(const char* why_not_near) const;
  Option near_option(AssignmentMethod screen, double screen_seconds, const std::function<CandidateSample()>& sample);
  AssignmentMethod take(std::vector<Option> options);
  NearChoice near_choice(std::int64_t count, const CandidateSample& candidates, double other) const;
  double near_seconds(double distances) const;
  Cost next_tier(const Ambiguous& rows) const;

  const AssignmentShape shape_;
  const Machine& machine_;
  const ForcedPaths& forced_;
  AssignmentObservations& observed_;
  Decisions& decisions_;
  double columns_;
  AssignmentMethod method_ = AssignmentMethod::float32;
  Cost other_;
  double local_seconds_ = 0.0;
};

}  // namespace kith::cuda
