// How an assignment is made: which screen labels the rows, what it does with those that it cannot certify, and whether
// bounds let rows keep their labels. All methods give the same labels.
//
// Costs are estimated from the last assignments of the same rows (Observations) or from a sample. A screen that left
// too much to the definition is left out for some assignments and tried again, since moving centroids change that.
#pragma once

#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

enum class AssignmentMethod {
  definition,     // few rows, for which packed centroids do not pay
  narrow_screen,  // few columns, or a small problem (assign/narrow_screen.h)
  screen,         // all rows against all centroids (assign/assign.cpp)
  local_screen    // rows against the centroids near their own (assign/local_screen.h)
};

/// The method of the next assignment to these centroids (k, d), which is recorded as a decision.
template <class T>
AssignmentMethod choose_assignment(HeldRows<T>& held, MatrixView<const double> centroids);

/// The screen of that assignment.
template <class T>
const ScreenKernels& assignment_screen(const HeldRows<T>& held, std::int64_t clusters, AssignmentMethod method);

/// Whether whole iterations are made by the narrow screen, block by block (assign/iterate.cpp). Recorded if `is_first`.
template <class T>
bool iterates_by_blocks(HeldRows<T>& held, std::int64_t clusters, bool is_first);

// While all rows are screened against all centroids: a sample may show that rows are better labelled by the local
// screen, with the best column of this screen as a guess.

/// The distance between the rows of such a sample; 0: none is taken.
template <class T>
std::int64_t sample_stride(const HeldRows<T>& held, std::int64_t clusters);
/// sample: the work of the sampled rows, which have labels.
template <class T>
bool guesses_pay(const HeldRows<T>& held, MatrixView<const double> centroids, const Assignment& sample);

// What an assignment showed.

/// Notes what a screen of all rows against all centroids has cost. guesses: it left ambiguous rows to the local screen.
template <class T>
void note_screen(HeldRows<T>& held, std::int64_t clusters, const Assignment& result, bool guesses);
/// Notes what a local screen has cost.
template <class T>
void note_local_screen(HeldRows<T>& held, const Assignment& result);
/// Notes what the narrow screen with products has cost, or with differences in their place.
template <class T>
void note_narrow_scores(HeldRows<T>& held, const IterationRecord& record, std::int64_t clusters);
/// Notes what an assignment of all rows by the narrow screen has cost.
template <class T>
void note_narrow_screen(HeldRows<T>& held, const IterationRecord& record, std::int64_t clusters);
/// Notes how many labels an assignment to other centroids has changed: if they are few, bounds may pay.
template <class T>
void note_labels(HeldRows<T>& held, std::int64_t changed) {
  held.observed.few_change = held.observed.few_change || changed < held.rows() / 8;
}

// Bounds (core/kmeans/bounds.h) that rows keep from one assignment to the next.

/// Whether the next assignment by a screen keeps bounds: few labels change, and the last bounds paid.
inline bool bounds_are_due(const Observations& observed) { return observed.few_change && observed.bounds.left() == 0; }
/// certified: rows that kept their labels by the bounds of an earlier assignment.
template <class T>
void note_bounds(HeldRows<T>& held, std::int64_t clusters, std::int64_t certified);

/// How many distances by the definition cost as much as so many scores of a screen.
template <class T>
std::int64_t distances_for(const HeldRows<T>& held, const ScreenKernels& screen, std::int64_t scores);

}  // namespace kith::cpu
