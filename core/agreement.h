// How far two labelings of the same rows agree: their contingency table, and the scores that are made of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kith {

/// Rows of each pair of a cluster and a class. Pairs without rows are not stored.
struct Contingency {
  struct Cell {
    std::int64_t cluster = 0;
    std::int64_t class_label = 0;  // the class
    std::int64_t rows = 0;         // 1 or more
  };
  std::int64_t rows = 0;
  std::vector<std::int64_t> clusters;  // rows of each cluster; some may have none
  std::vector<std::int64_t> classes;   // rows of each class
  std::vector<Cell> cells;             // by cluster, then by class
};

constexpr std::int64_t kMaxContingencyRows = std::int64_t{1} << 32;

/// Of the labels (n) and the true classes (n) of the same rows, both from 0. copies: (n) how often each row counts, 1
/// or more; empty: once. Costs n + clusters + classes. Throws Error(internal) when the lengths differ, nothing is
/// labelled, a label is negative, or all copies are more than kMaxContingencyRows.
Contingency contingency(std::span<const std::int32_t> labels, std::span<const std::int32_t> classes,
                        std::span<const std::int64_t> copies = {});

/// 1: the labelings are the same but for names. Adjusted scores are 0 on average for labels drawn at random with the
/// same sizes, and can be below 0; the others are 0 to 1.
struct Agreement {
  double adjusted_rand_index = 0.0;
  double adjusted_mutual_information = 0.0;    // by the arithmetic mean of the entropies
  double normalized_mutual_information = 0.0;  // by the same mean
  double homogeneity = 0.0;                    // 1: no cluster has rows of two classes
  double completeness = 0.0;                   // 1: no class has rows in two clusters
  double v_measure = 0.0;                      // harmonic mean of these two
  double fowlkes_mallows = 0.0;
  double purity = 0.0;  // share of rows in the largest class of their cluster
};

/// Pairs of rows are counted in integers; everything else is computed as long double and rounded once.
Agreement agreement(const Contingency& table);

}  // namespace kith
