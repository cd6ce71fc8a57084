// The options that commands share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "core/numbers/metric.h"
#include "data/results/result.h"
#include "data/source.h"

namespace kith::app {

struct CommonOptions {
  std::string backend = "auto";
  std::int64_t device = 0;
  std::string devices = {};  // "all", a number of them, or a list; empty: `device`
  std::string screen = "auto";
  std::int64_t threads = 0;        // 0: all that this process may use
  std::int64_t memory = 0;         // bytes, 0: what is free
  std::int64_t device_memory = 0;  // bytes, 0: as `memory`
  std::string scratch;             // a folder for temporary files; empty: none
  std::int64_t block_rows = 0;     // 0: chosen from sizes
  std::uint64_t seed = 0;
  std::string precision = "auto";
  std::string metric = "euclidean";
  std::int64_t bits = 0;  // of a row, for metrics of bits; 0: as many as its columns hold
  std::string columns, drop_columns, id_column, label_column;  // empty: none named
  std::string ids, join;                                       // texts of rows; empty: none named
  std::string index_base = "auto";                             // of svmlight files
  std::string weights, weight_column;                          // empty: every row weighs 1
  std::string delimiter = "auto";
  bool no_advice = false, append = false;
  std::string labels_format = "npy";  // of the files in a folder of labels
  std::string decimal = "auto", thousands = "none";
  std::string header = "auto";
  std::string comment = "auto", quote = "auto";
  std::int64_t skip_lines = 0;  // of text files, before the header
  bool transpose = false;
  std::string scale = "none";
  std::string column_weights;  // a list of NAME=W; empty: every column weighs 1
  std::string prepare = "none";
  bool has_prepare = false;        // the command has --prepare
  std::int64_t pca = 0;            // principal components to keep; 0: none are computed
  std::string nan;                 // of commands that have --nan: error, drop, mean or median
  std::string encode;              // what becomes of columns of text: a list of rules
  std::string na_values;           // texts for missing values, with commas between them
  std::string unknown = "ignore";  // what becomes of a row with a value that a model does not know
  std::string output;              // empty: none
  bool force = false;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
  std::string json_file;  // empty: none
  bool dry_run = false;
  std::string progress = "auto";
  std::string config;
  const OptionSet* set = nullptr;  // that fills these, if it has --backend

  bool weighted() const { return !weights.empty() || !weight_column.empty(); }
};

/// The columns of a model, or of the other input of a run, which points must have.
struct ExpectedColumns {
  std::vector<std::string> names = {};                 // to be found in the points; empty: not known
  data::IndexedColumns indexed = {};                   // of svmlight files
  std::shared_ptr<const data::TableModel> model = {};  // ReadOptions::model
  bool keep_unknown = false;                           // ReadOptions::keep_unknown
  bool are_queries = false;                            // --ids names the rows of the other input
};

/// Groups of common options; a command declares those it needs, after OptionSet::begin_common().
inline constexpr const char* kOutputHelp = "Write the result to this HDF5 file; it appears only when it is complete.";
void add_output_options(OptionSet& set, CommonOptions& common, const char* help = kOutputHelp);
/// --ids, the file that names the rows of the points.
void add_ids_option(OptionSet& set, CommonOptions& common);
/// POINTS, the positional of commands that cluster or assign. required: its description if it is missing.
void add_points(OptionSet& set, std::string& points, const char* required, const char* name = "POINTS");
void add_precision_option(OptionSet& set, CommonOptions& common);
/// --columns, --drop-columns, --id-column, --label-column, the form of text files, --transpose
void add_input_options(OptionSet& set, CommonOptions& common);
void add_text_options(OptionSet& set, CommonOptions& common);          // the form of text files
void add_missing_texts_option(OptionSet& set, CommonOptions& common);  // --na-values
/// Whether degrees of --metric haversine would be scaled, which is refused with this text.
bool transforms_places(const CommonOptions& common);
inline constexpr const char* kTransformedPlaces =
    "--metric haversine cannot be combined with --scale, --pca, --column-weights or --prepare: it takes latitudes and "
    "longitudes in degrees as they are; leave these options out";
void add_metric_option(OptionSet& set, CommonOptions& common);
/// --bits, of commands that have metrics of bits, after --metric.
void add_bits_option(OptionSet& set, CommonOptions& common);
void add_seed_option(OptionSet& set, CommonOptions& common);
void add_thread_option(OptionSet& set, CommonOptions& common);
/// The help of --memory of commands that read points in passes.
inline constexpr const char* kStreamingHelp =
    "Maximum memory of the run, as in 4GB or 512MiB. Points that do not fit are read again in each pass, from their "
    "file "
    "or from --scratch.";
void add_memory_option(OptionSet& set, CommonOptions& common);
void add_scratch_option(OptionSet& set, CommonOptions& common);
/// --backend, --device, --device-memory, --screen, --block-rows
void add_backend_options(OptionSet& set, CommonOptions& common);
void add_message_options(OptionSet& set,
                         CommonOptions& common);  // --quiet, --verbose, --json, --progress, --config, --dry-run
/// All of the above, for commands that compute.
void add_common_options(OptionSet& set, CommonOptions& common, const char* output_help = kOutputHelp);

/// "--backend" and so on: names that may come before the first section of a configuration file.
std::vector<std::string> common_option_names();

/// "--device 7" or "KITH_SCREEN=mma" if the user named one, so that only a backend with GPUs will do; else empty. A
/// --backend that outweighs them, such as a flag where KITH_DEVICE is set, takes their place.
std::string named_gpu(const CommonOptions& common);

/// Euclidean for other names.
Metric metric_named(const std::string& name);
Metric metric_of(const CommonOptions& common);
inline bool compares_bits(const CommonOptions& common) { return is_of_bits(measure_of(metric_of(common))); }
/// Throws Error(usage) if --bits, or an option that is about numbers, cannot be combined with the metric.
void check_bit_options(const CommonOptions& common);
/// Why k-means does not support the metric; empty: it does.
std::string metric_without_means(const CommonOptions& common);
data::ReadOptions read_options(const CommonOptions& common, const ExpectedColumns& expected = {});
/// Puts --delimiter, --decimal, --thousands, --header, --quote, --skip-lines and --comment into the options of readers.
/// Throws Error(usage) if they cannot be meant.
void read_text_options(const CommonOptions& common, data::ReadOptions& options);
/// The same with --na-values.
void read_missing_texts(const CommonOptions& common, data::ReadOptions& options);
/// What --header says.
data::Header header_of(const CommonOptions& common);
/// Options for readers of labels, with these alone: labels and classes are separate columns, and --columns applies to
/// the points.
data::ReadOptions text_form(const CommonOptions& common);
/// `inputs`: locations whose files must never be overwritten, besides the configuration. Empty texts are skipped.
data::OutputOptions output_options(const CommonOptions& common, const std::vector<std::string>& inputs);

}  // namespace kith::app
