// A screen in fp16 around each row's guess: the row and the centroids near its guess are rounded relative to the guess,
// so that the margin is that of their distances from it and not that of their distances from one common center.
#pragma once

#include <cstdint>

#include "kernels/cuda/assign/centroid_lists.h"
#include "kernels/cuda/choice/assignment.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

struct ListColumns;
struct ListSlots;

/// Rows of a block, sorted by guess, and where results go.
struct LocalRequest {
  RowChoice rows;
  const RowsByGuess& order;         // of these rows
  const float* limit = nullptr;     // (count) passed on with rows that are not decided; null: none
  std::int32_t* nearest = nullptr;  // (rows of the block) in: guesses; out: labels, or better guesses
  Word* distances = nullptr;        // increased by the distances computed by the definition
};

/// Device memory of the screen of one assignment.
class LocalScreen {
 public:
  LocalScreen() = default;
  /// A screen for the `length` nearest entries of lists of centroids. rows: of a block, at most. Does not wait. Throws
  /// OutOfMemory.
  template <class T>
  LocalScreen(const HeldRows<T>& held, std::int64_t clusters, std::int64_t length, std::int64_t rows);
  explicit operator bool() const { return length_ > 0; }
  std::int64_t length() const { return length_; }
  /// Whether the device and the number of columns permit it.
  template <class T>
  static bool supports(const HeldRows<T>& held);

  /// nearest[position] = argmin of D, ties to the lowest, for rows that the screen certifies or leaves a few centroids
  /// to compare by the definition. Other rows are appended to rest(). Rounds the lists of the guesses that have rows,
  /// unless a call before did. values: of the block. Does not wait.
  template <class T>
  void decide(const HeldRows<T>& held, const T* values, const double* centroids, const CentroidListsView& lists,
              const LocalRequest& rows);
  AmbiguousRows rest() const { return {row_.data(), limit_.data(), count_.data()}; }

 private:
  std::int64_t clusters_ = 0, length_ = 0, padded_ = 0;  // a list has padded_ columns, the guess itself first
  std::int64_t lists_ = 0;                               // at most
  ListColumns columns(std::int64_t d) const;
  ListSlots slots() const;

  Buffer<uint4> values_;              // of ListColumns
  Buffer<float> scores_;              // (3, lists_, padded_) of ListColumns
  Buffer<std::int32_t> slot_;         // (clusters) of ListSlots
  Buffer<std::int32_t> slot_guess_;   // (lists_) of ListSlots
  Buffer<std::uint32_t> used_;        // (2) of ListSlots
  Buffer<std::uint32_t> first_tile_;  // (clusters + 1) of the rows of each guess
  Buffer<std::int32_t> guess_;        // (tiles, at most) of each tile
  Buffer<uint4> rounded_;             // of LocalTask
  Buffer<std::int32_t> row_;          // (rows of a block)
  Buffer<float> limit_;               // (rows of a block)
  Buffer<Word> count_;                // (1)
};

}  // namespace kith::cuda
