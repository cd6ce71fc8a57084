// Agreement of two labelings of the same rows: their contingency table, and the scores computed from it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kith {

/// The number of rows in each pair of a cluster and a class. Pairs without rows are not stored.
struct Contingency {
  struct Cell {
    std::int64_t cluster = 0;
    std::int64_t class_label = 0;
    std::int64_t rows = 0;  // 1 or more
  };
  std::int64_t rows = 0;
  std::vector<std::int64_t> clusters;  // rows of each cluster; some may have none
  std::vector<std::int64_t> classes;   // rows of each class
  std::vector<Cell> cells;             // by cluster, then by class
};

constexpr std::int64_t kMaxContingencyRows = std::int64_t{1} << 32;

/// The contingency table of labels (n) and true classes (n), both numbered from 0. copies: (n) the number of times that
/// each row counts, at least 1; empty: once. Time O(n + clusters + classes). Throws Error(internal) if the lengths
/// differ, no row is labelled, a label is negative, or the copies add up to more than kMaxContingencyRows.
Contingency contingency(std::span<const std::int32_t> labels, std::span<const std::int32_t> classes,
                        std::span<const std::int64_t> copies = {});

/// Every score is 1 for labelings that differ in names only. Adjusted scores average 0 over random labelings with the
/// same sizes and can be negative; the other scores lie in [0, 1].
struct Agreement {
  double adjusted_rand_index = 0.0;
  double adjusted_mutual_information = 0.0;    // normalised by the arithmetic mean of the entropies
  double normalized_mutual_information = 0.0;  // normalised by the same mean
  double homogeneity = 0.0;                    // 1: no cluster has rows of two classes
  double completeness = 0.0;                   // 1: no class has rows in two clusters
  double v_measure = 0.0;                      // harmonic mean of homogeneity and completeness
  double fowlkes_mallows = 0.0;
  double purity = 0.0;  // share of rows in the largest class of their cluster
};

/// How well one class was found: precision is the share of the rows found as this class that are of it, recall the
/// share of its rows that were found as it, and f1 their harmonic mean. A share of no rows is 0.
struct ClassScores {
  double precision = 0.0;
  double recall = 0.0;
  double f1 = 0.0;
  std::int64_t rows = 0;  // of the class
};

/// The scores of a classifier, as scikit-learn's classification_report defines them.
struct Classification {
  std::int64_t rows = 0;
  std::int64_t right = 0;
  std::vector<ClassScores> classes;
  ClassScores mean;  // macro: each class with rows, known or found, counts the same

  double accuracy() const { return static_cast<double>(right) / static_cast<double>(rows); }
};

/// Scores of a table of known classes (`clusters`) and found ones (`classes`), both numbered in the same way.
Classification classification(const Contingency& table);

/// The scores of a table. Pairs of rows are counted in integers; the rest is computed in long double and rounded once.
Agreement agreement(const Contingency& table);

}  // namespace kith
