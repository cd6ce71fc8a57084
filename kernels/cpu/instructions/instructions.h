// The table of instruction sets: the kernels of the inner loops, implemented once per instruction set.
//
// A screen packs rows in panels of `lanes` rows, one row per vector lane, so that the running minimum of a row needs no
// reduction. It packs columns of the product (centroids, or base rows of a search) in column panels, whose columns are
// multiplied together. A tile holds the products of one panel and several column panels: tile[column * lanes + lane].
// The layout and precision of packed panels differ between screens; packing returns the rounding error of each row.
//
// The files of instructions/ are compiled with their own -m flags. They must include nothing that instantiates shared
// inline code with external linkage (no standard containers): the linker would keep one copy, possibly one that this
// processor cannot run.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "core/numbers/distance.h"
#include "core/numbers/fixed_point.h"

namespace kith::cpu {

/// A class template instantiated for each point type (KITH_FOR_POINT_TYPES of core/points/matrix.h).
template <template <class> class Template>
struct ForPointTypes {
  Template<float> f32;
  Template<double> f64;
  Template<std::uint8_t> uint8;
  Template<std::int8_t> int8;

  template <class T>
  const Template<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else if constexpr (std::is_same_v<T, double>) {
      return f64;
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      return uint8;
    } else {
      static_assert(std::is_same_v<T, std::int8_t>);
      return int8;
    }
  }
};

inline constexpr int kMarks = 16;                     // columns numbered by the last bits of their scores
inline constexpr double kMarking = kMarks * 0x1p-23;  // the relative change of a score by its number
inline constexpr int kMaxLanes = 64;
inline constexpr int kTileColumns = 64;      // columns of one tile, which stays in the first-level cache
inline constexpr int kColumnBlock = kMarks;  // columns of a column block, of which a row keeps the best score
inline constexpr int kTileColumnBlocks = kTileColumns / kColumnBlock;

/// A score that is not above the limit of its row: its column in the tile and the lane of its row.
struct Hit {
  float score;
  std::int32_t column;
  std::int32_t lane;
};

/// The grid of integer sums: factors of ColumnScales, and 2^bits of the second limb (0: one limb).
struct GridView {
  const double* first;   // (d)
  const double* second;  // (d)
  double low_scale;
};

/// Where the magnitudes of columns are added up (ColumnMagnitudes of core/points/data_plan.h), and the limits of small
/// and lost values.
struct MagnitudeView {
  std::int64_t *sum, *absolute_sum, *small, *lost;  // (columns)
  double* off_grid;                                 // (columns) above 0: some value is not on the grid
  double small_limit, lost_limit;
};

/// Norms of the packed rows of a panel, per lane. x~ = float(x'); x^ is the packed row.
struct PanelNorms {
  float norm[kMaxLanes];      // |x~|
  float residual[kMaxLanes];  // |x~ - x^|
};

/// Norms of a centred row: |c'|^2 and |c' - c~|^2, c~ = float(c').
struct CentredNorms {
  double squared_norm;
  double squared_residual;
};

/// Result of packing columns: the quantization step (the value of a packed 1) and the largest |c~ - c^|^2.
struct PackedColumns {
  float step;
  float squared_residual;
};

/// E of a row for a tile of columns: constant + n (linear + n quadratic) + per_residual residual, n = norm + residual.
struct TileError {
  float constant = 0.0F, linear = 0.0F, quadratic = 0.0F, per_residual = 0.0F;
};

/// The best scores of a panel's rows so far, negated (products less half squared norms), so that larger is nearer. The
/// true score of a column is within `error` of its score; bounds include that error.
struct BestScores {
  float* block_best;    // [column block][lane] upper bound of its best, with the column in the lowest four bits
  float* best_lower;    // (lanes) lower bound of the best score
  float* best_upper;    // (lanes) largest of block_best
  float* second_upper;  // (lanes) second largest of block_best
  float* others_upper;  // (lanes) upper bound of all scores that are not the best of their column block
};

/// Operations on the scores of a tile of products.
struct ScoreKernels {
  /// error (lanes) = E of each row of a panel.
  void (*errors)(const PanelNorms& norms, const TileError& of_tile, float* error);
  /// Updates `best` with columns 0 .. count - 1 of a tile. error: (lanes) of this tile. best.block_best: of this tile.
  void (*update_best)(const float* tile, const float* half_sq_norm, std::int64_t count, const float* error,
                      BestScores best);
  /// Lists every column of the tile with !(score > limit[lane]), score = half_sq_norm[column] - tile. Returns their
  /// number. hits: capacity count * lanes.
  std::int64_t (*collect)(const float* tile, const float* half_sq_norm, std::int64_t count, const float* limit,
                          Hit* hits);
  /// smallest [column block][lane] = smallest score (half_sq_norm[column] - tile) of each column block; the last
  /// may be shorter.
  void (*block_minima)(const float* tile, const float* half_sq_norm, std::int64_t count, float* smallest);
  /// limit (lanes): slightly above the k-th smallest of the column block minima of each lane, never below it. minima:
  /// [column block][lane], 1 <= k <= column blocks.
  void (*kth_limit)(const float* minima, std::int64_t column_blocks, std::int64_t k, float* limit);
  /// lower (lanes) = sum over the columns of the root of max(score + low, 0), upper the same with high, for rows with
  /// terms low and high (lanes). Relative rounding: below 2^-17 for a tile.
  void (*root_sums)(const float* tile, const float* half_sq_norm, std::int64_t count, const float* low,
                    const float* high, float* lower, float* upper);
};

/// A screen: packing, products, and operations on the scores of a tile.
struct ScreenKernels {
  const char* arithmetic;  // type of the products, for `kith bench limits`
  int lanes;               // rows of a panel
  int panel_columns;       // centroids (or queries) that are packed side by side and multiplied together
  int padding;             // the length of packed rows is a multiple of this
  int value_bytes;         // size of a packed value
  double smallest;         // largest error of one operation by underflow
  int scan_cost;           // cost of another scan of a product, in columns of the points (self_join.cpp)
  /// A(d) of core/numbers/screen.h.
  double (*accumulation)(std::int64_t d);

  /// Packs x' = rows[lane] * scale - center. rows: `lanes` pointers, all valid. panel: panel_bytes(d).
  template <class T>
  using PackRows = void (*)(const T* const* rows, std::int64_t d, double scale, const float* center, void* panel,
                            PanelNorms* norms);
  ForPointTypes<PackRows> pack_rows;
  /// Packs rows c~ (count, d), |c~| <= largest_norm, in column panels and fills the last one with zeros. column_panels:
  /// column_bytes(d) per column.
  PackedColumns (*pack_columns)(const float* rows, std::int64_t count, std::int64_t d, float largest_norm,
                                void* column_panels);
  /// tile[column * lanes + lane] = x^ . c^. step: PackedColumns::step.
  void (*products)(const void* panel, const void* columns, float step, std::int64_t d, std::int64_t column_panels,
                   float* tile);
  ScoreKernels scores;
  /// Benchmark: multiply-adds in registers, `rounds` times. Returns the number of operations; *result keeps the
  /// compiler from removing them.
  double (*multiply_adds)(std::int64_t rounds, float* result);

  std::int64_t column_bytes(std::int64_t d) const { return (d + padding - 1) / padding * padding * value_bytes; }
  std::int64_t panel_bytes(std::int64_t d) const {
    return lanes * (column_bytes(d) + static_cast<std::int64_t>(sizeof(float)));  // plus a quantization step per row
  }
};

/// Kernels for points of type T.
template <class T>
struct RowKernels {
  /// out (d) = float(row * scale - center).
  CentredNorms (*centre)(const T* row, std::int64_t d, double scale, const float* center, float* out);
  /// D by the definition (core/numbers/distance.h).
  using Distance = double (*)(const T* x, const double* c, std::int64_t d);
  Distance distance, inner_product, manhattan, chebyshev;
  /// high[j] += sum of the high limbs of rows[i][j]; low[j] likewise unless low is null.
  void (*add_rows)(const T* const* rows, std::int64_t count, std::int64_t d, GridView grid, std::int64_t* high,
                   std::int64_t* low);
  /// Adds a value of each of `count` columns.
  void (*add_magnitudes)(const T* values, std::int64_t count, GridView grid, const MagnitudeView& magnitudes);

  Distance distance_by(Measure measure) const {
    static_assert(Measure::last == Measure::jaccard, "choose the kernel of the new measure here");
    if (measure == Measure::inner_product) return inner_product;
    if (measure == Measure::manhattan) return manhattan;
    return measure == Measure::chebyshev ? chebyshev : distance;
  }
};

/// Sums of distances from several queries to many rows.
struct RootSumKernels {
  int queries;  // per panel
  int rows;     // per group
  /// sums (queries) += to_fixed(root of D(query, row)) over `count` rows. panel: [column][query]; groups:
  /// [group][column][row], the last one filled with any rows; columns in the order of core/neighbors/tree_order.h.
  void (*add)(const double* panel, const double* groups, std::int64_t count, std::int64_t d, FixedScale scale,
              std::int64_t* sums);
};

// Searches of rows of bits. D follows from the number of bits that a row and a query have in common. Rows are packed in
// panels of kBitLanes rows, 32 bits in a word: panel[word][lane].

inline constexpr int kBitLanes = 16;  // rows of a panel
inline constexpr int kWordBits = 32;

/// A row that may be near a query: its place in the panels, and the number of bits that both have.
struct BitHit {
  std::int32_t row, query, common;
};

/// Some panels and some queries, to be compared with each other. Hits are rows with common >= slope x their bits -
/// bound.
struct BitTask {
  const void* rows;              // panels, expanded if the kernels expand them
  const float* row_bits;         // [panel][lane] the number of bits of each row; of lanes without a row infinity
  std::int64_t panels, words;    // words: of a row
  const void* queries;           // [query][word], or expanded
  const float *slopes, *bounds;  // [query]
  std::int64_t count;            // of queries: a multiple of BitKernels::queries
};

struct BitKernels {
  const char* name;  // "popcount", for decisions
  bool (*supported)();
  const BitKernels* otherwise;  // where these are not supported; null: always supported
  int queries;                  // that are compared together
  int panels;                   // the same, or a multiple of it that suits the first-level cache
  /// Bytes of a row, or query, of so many words in the form in which it is compared; null: the words are compared.
  std::int64_t (*expanded_bytes)(std::int64_t words);
  /// Panels, or as many queries as are compared together, in that form. queries: [query][word].
  void (*expand_rows)(const std::uint32_t* panels, std::int64_t count, std::int64_t words, void* out);
  void (*expand_queries)(const std::uint32_t* queries, std::int64_t words, void* out);
  /// Writes the hits; hits: capacity panels * kBitLanes * count. Returns their number.
  std::int64_t (*collect)(const BitTask&, BitHit* hits);
  /// out [panel][lane] = the number of bits of each row.
  void (*count)(const std::uint32_t* panels, std::int64_t count, std::int64_t words, std::int32_t* out);
  /// The number of bits that two rows of so many bytes have in common.
  std::int64_t (*common)(const std::uint8_t* x, const std::uint8_t* y, std::int64_t bytes);
};

extern const BitKernels kPlainBits;
#if defined(__x86_64__)
extern const BitKernels kAvx2Bits;
extern const BitKernels kPopcountBits;
extern const BitKernels kTileBits;
#endif

// The narrow screen, for rows of few columns and for small problems (narrow.h). Rows are packed in panels: panel[j *
// lanes + lane] is column j, centred and scaled, of the row in that lane. The best score of a row stays in its lane of
// a register; there is no tile of products.

inline constexpr float kNarrowLongest = 0x1p60F;  // differences of longer rows might overflow
inline constexpr int kNarrowPanelColumns = 4;     // centroids that are multiplied together
static_assert(kMarks % kNarrowPanelColumns == 0);

/// What the score of a row and a centroid is.
enum class NarrowScores {
  products,    // half squared norm - product: errors grow with the longest centroid
  differences  // squared distance: errors grow with it and with the length of the row
};

/// Packed centroids of the narrow screen, and its margin: that of core/numbers/screen.h for products. For differences,
/// the roots of two scores must differ by constant + linear |x^| + quadratic (their sum).
struct NarrowColumns {
  NarrowScores scores;
  const float* column_panels;  // [panel][2 + d][kNarrowPanelColumns]: first terms of scores, numbers, values
  const float* by_column;      // (1 + d, padded): first terms, then values
  std::int64_t count;          // k
  std::int64_t padded;         // k rounded up to whole vectors
  std::int64_t d;
  float constant, linear, quadratic;  // of the margin
};

/// A row that the screening pass did not certify. Its candidates are the centroids whose score is not above the limit.
struct NarrowAmbiguousRow {
  std::int32_t position;
  float limit;
};

/// Sums of reassigned rows: for each cluster the high limbs of `pitch` columns, then the low limbs if there are two.
struct ReassignmentTable {
  std::int64_t* sums;    // (k, limbs, pitch)
  std::int64_t* counts;  // (k)
  const double* first;   // (pitch) factors of the grid, zero beyond d
  const double* second;  // (pitch)
  double low_scale;      // 2^bits of the second limb
  std::int64_t pitch;
  int limbs;
};

/// Labels of rows: the current one, and the one contained in the sums.
struct KeptLabels {
  std::int32_t* label;
  std::int32_t* summed;
};

template <class T>
struct NarrowRowKernels {
  /// Centres and scales `count` rows (count, d) and transposes them into panels. centers: (lanes, d), the centre
  /// repeated. flat: workspace for one panel and a vector. Lanes without a row get finite values.
  void (*pack)(const T* rows, std::int64_t count, std::int64_t d, double scale, const float* centers, float* flat,
               float* panels);
  /// out[i] = D(row i, centroid label[i]) by the definition. centroids: (k, d)
  void (*label_distances)(const T* rows, std::int64_t count, std::int64_t d, const double* centroids,
                          const std::int32_t* label, double* out);
  /// Moves the rows with now[i] != kept.summed[i] from the sums and counts of that cluster (-1: none) to those of
  /// now[i], and stores that label. Returns their number.
  std::int64_t (*reassign)(const T* rows, std::int64_t count, std::int64_t d, const std::int32_t* now, KeptLabels kept,
                           const ReassignmentTable& table);
};

struct NarrowKernels {
  int lanes;                     // rows of a panel
  int floats;                    // of a vector
  double roundings_per_product;  // 1 with fused multiply-add, else 2

  /// Screens `count` rows: writes label[i] in whole panels and lists the ambiguous rows. Returns their number.
  std::int64_t (*screen)(const float* panels, std::int64_t count, const NarrowColumns& columns, std::int32_t* label,
                         NarrowAmbiguousRow* ambiguous);
  /// Candidates of an ambiguous row (`position` in the panels), ascending. Returns their number.
  std::int64_t (*candidates)(const float* panels, const NarrowColumns& columns, NarrowAmbiguousRow row,
                             std::int32_t* found);
  /// Stores labels and counts them: counts[(i % ways) * k + now[i]]. Returns how many differ from those in the sums.
  std::int64_t (*store_labels)(const std::int32_t* now, std::int64_t count, KeptLabels kept, std::int64_t* counts,
                               std::int64_t clusters, std::int64_t ways);

  ForPointTypes<NarrowRowKernels> row_kernels;

  template <class T>
  const NarrowRowKernels<T>& rows() const {
    return row_kernels.of<T>();
  }
};

// Searches of a k-d tree for a group of queries (tree.h). Each query of a group has a lane.

inline constexpr int kTreeQueries = 16;    // queries of a group
inline constexpr int kTreeMaxColumns = 8;  // rows of up to so many columns have kernels of their own
inline constexpr int kTreeMaxDepth = 48;   // of nodes, which halve the number of rows

/// A node of a tree in preorder: its first child is the next node.
struct TreeNode {
  double split;               // rows of the first child are at most this in the column of the split, others at least
  std::int32_t column;        // of the split; -1: a leaf
  std::int32_t second;        // number of the second child
  std::int32_t first;         // position of its first row
  std::int32_t last;          // position after its last row
  std::int32_t lowest;        // lowest row number
  std::int32_t equal_before;  // if all rows of the node are equal: rows equal to them with lower numbers, or fewer
};

struct TreeView {
  const TreeNode* nodes;        // preorder
  const double* boxes;          // [node][smallest, largest][column] of its rows
  const float* narrow_rows;     // [position][column], or null
  const double* wide_rows;      // the same if there are no narrow rows
  const std::int32_t* numbers;  // [position] row number
  std::int64_t columns;
};

/// A row that may belong to the list of a query.
struct TreeHit {
  double distance;
  std::int64_t row;
};

/// Queries that search a tree together. Rows are relevant to a lane if D <= limit and, if they are ties at tie_limit,
/// their number is below tie_row.
struct TreeGroup {
  const double* queries;        // [column][lane]
  const float* narrow_queries;  // the same rounded
  const double* rounding;       // (lanes) at least the distance between a query and its rounded values
  bool is_rounded;              // a rounding is not 0
  const double* center;         // (columns) of the queries
  double* limit;                // (lanes) -infinity for a lane without a query
  float* narrow_limit;          // (lanes) above D in float32 of rows within the limit
  double* tie_limit;            // (lanes)
  double* tie_row;              // (lanes)
  double* nearest;  // [neighbors][lane] the smallest D so far, ascending, of which the last is the limit; or null
  std::int64_t neighbors;
  double* logged;            // [entry][lane] D of rows that were relevant to a lane
  std::int32_t* logged_row;  // [entry]
  std::int64_t log_size, log_capacity;
  TreeHit* hits;  // [lane][hit_capacity] rows from the log
  std::int64_t hit_count[kTreeQueries];
  std::int64_t hit_capacity;
  const std::int32_t* seeds;  // leaves to be searched first
  std::int64_t seed_count;
  void (*on_full)(void* owner);  // called when the log is full; empties it and may lower limits
  void* owner;
  std::int64_t distances;  // increased by the rows that were compared with the group
  std::int64_t visited;    // increased by the nodes that were compared with the group
};

struct TreeKernels {
  using Search = void (*)(const TreeView&, TreeGroup&);
  /// Logs all rows of a tree that are relevant to a lane, and maybe others.
  template <class Row>
  struct OfRows {
    Search euclidean[kTreeMaxColumns + 1];  // [columns]; [0]: any number of columns
    Search manhattan, chebyshev;
    Search of(Measure measure, std::int64_t columns) const {
      static_assert(Measure::last == Measure::jaccard, "choose the search of the new measure here");
      if (measure == Measure::manhattan) return manhattan;
      if (measure == Measure::chebyshev) return chebyshev;
      return euclidean[columns <= kTreeMaxColumns ? columns : 0];
    }
  };
  OfRows<float> narrow;
  OfRows<double> wide;
  /// Moves the log to the hits, without rows above the limit.
  void (*drain)(TreeGroup&);
};

struct Instructions {
  const char* name;     // "avx512", as in KITH_CPU
  const char* summary;  // for `kith devices`
  bool (*supported)();

  ScreenKernels float32;
  ScreenKernels low_precision;  // in the type that the set multiplies fastest, possibly float32

  /// Both limbs of each value (to_limbs of core/numbers/fixed_point.h). If low is null: one rounded limb (to_fixed).
  void (*to_grid)(const double* values, std::int64_t count, FixedScale scale, double low_scale, std::int64_t* high,
                  std::int64_t* low);

  /// squared (asked, count) = the float32 sums of (step[i] values[i] - query)^2 for rows of `pitch` values, a multiple
  /// of 16, and `asked` queries, 1, 2 or 4, which share the conversion of the values.
  void (*quantized_distances)(const std::int8_t* values, const float* step, std::int64_t count, std::int64_t pitch,
                              const float* const* queries, int asked, float* squared);

  /// Benchmark: out (count) = a + b.
  void (*add)(const float* a, const float* b, std::int64_t count, float* out);

  RootSumKernels root_sums;
  NarrowKernels narrow;
  TreeKernels tree;
  ForPointTypes<RowKernels> row_kernels;
  const BitKernels* bits;
  const BitKernels* bit_tiles = nullptr;  // products of tiles, which many queries fill; null: none
  const Instructions* finer = nullptr;    // a set whose low-precision screen certifies more rows, or null

  template <class T>
  const RowKernels<T>& rows() const {
    return row_kernels.of<T>();
  }
  const BitKernels& bit_kernels() const { return bits->supported() ? *bits : *bits->otherwise; }
  /// The faster screen for rows of d columns against k others.
  const ScreenKernels& screen_for(std::int64_t d, std::int64_t k) const {
    // For smaller problems, padding and ambiguous rows cost more than low precision saves.
    constexpr std::int64_t kFewColumns = 8, kFewOthers = 16, kLittle = 2048;
    return d > kFewColumns && k > kFewOthers && d * k > kLittle ? low_precision : float32;
  }
  /// The screen to use if the low-precision one certifies too few rows.
  const ScreenKernels& finer_screen() const {
    return finer != nullptr && finer->supported() ? finer->low_precision : float32;
  }
};

/// The low-precision screen of a processor whose vectors are those of another set.
struct LowPrecision {
  const char* name;
  const char* summary;
  bool (*supported)();
  ScreenKernels screen;
};

extern const Instructions kPlain;
#if defined(__x86_64__)
extern const Instructions kAvx2;
extern const Instructions kAvx512;
extern const LowPrecision kBf16;
extern const LowPrecision kVnni;
extern const LowPrecision kAmx;
#elif defined(__aarch64__)
extern const Instructions kNeon;
#endif

/// All compiled sets, best first, including those that this processor does not support.
std::span<const Instructions* const> instruction_sets();

/// The best set that this processor supports, or the one named by the environment variable KITH_CPU. Throws
/// Error(usage) for an unknown or unsupported name.
const Instructions& instructions();

}  // namespace kith::cpu
