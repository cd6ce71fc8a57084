// The table of formats, and the choice of a format for a file.
#include "data/source.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "data/arrays/numpy.h"
#include "data/arrow/arrow_table.h"
#include "data/file_set.h"
#include "data/format/filters.h"
#include "data/format/formats.h"
#include "data/format/table_model.h"
#include "data/io/file_kind.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"
#include "data/text/text_columns.h"
#include "data/text/text_number.h"

namespace kith::data {
namespace {

constexpr FormatEntry kFormats[] = {
    // The first row, which not every build has.
    {"Arrow", ".parquet .feather .arrow",
     "named columns of numbers and of lists of one length; FILE:NAME is one of them", is_arrow, open_arrow, list_arrow},
    {"HDF5", ".h5 .hdf5 .h5ad .mat", "datasets and sparse matrices of a file, named FILE:/path/in/file", is_hdf5,
     open_hdf5, list_hdf5},
    {"NumPy", ".npy", "an array of numbers, in row or column order", is_npy, open_npy, list_npy},
    {"NumPy", ".npz", "arrays of an archive, named FILE:NAME, or a sparse matrix of SciPy", is_npz, open_npz, list_npz},
    {"MATLAB", ".mat", "matrices of a file of save -v6 or -v7, named FILE:NAME; those of -v7.3 are HDF5", is_matlab,
     open_matlab, list_matlab},
    {"MATLAB 4", ".mat", "the same of save -v4", is_matlab4, open_matlab4, list_matlab4},
    {"vectors", ".fvecs .ivecs .bvecs .fbin .u8bin .i8bin .ibin .hbin .f16bin",
     "little-endian rows, each after its length or all after one header", is_vectors, open_vectors, list_vectors},
    {"MatrixMarket", ".mtx .mtx.gz", "a sparse or dense matrix as text", is_matrix_market, open_matrix_market,
     list_matrix_market},
    {"svmlight", ".svm .svmlight .libsvm", "sparse rows, each after its label; FILE:label has the labels", is_svmlight,
     open_svmlight, list_svmlight},
    {"FPS", ".fps .fps.gz", "hexadecimal fingerprints of chemfp, a column for each bit, with identifiers", is_fps,
     open_fps, list_fps},
    {"text", ".csv .tsv .txt .gz .zst", "numbers separated by commas, tabs, semicolons or blanks; - is standard input",
     is_text_table, open_text, list_text},
};
// With -fsanitize=undefined, which comes with it, GCC compares no functions in a constant (bug 71962).
#if !defined(__SANITIZE_ADDRESS__)
static_assert(std::all_of(std::begin(kFormats), std::end(kFormats),
                          [](const FormatEntry& format) {
                            return format.name != nullptr && format.extensions != nullptr &&
                                   format.summary != nullptr && format.recognises != nullptr &&
                                   format.open != nullptr && format.list != nullptr;
                          }),
              "every row of the table of formats needs a name, extensions, a summary and three functions");
#endif

/// Whether the name of the file ends with one of these extensions.
bool has_extension(const std::string& file, std::string_view extensions) {
  while (!extensions.empty()) {
    if (has_ending(file, take_until(extensions, " "))) return true;
  }
  return false;
}

/// The format of the content; else that of the extension, whose open() then reports what is wrong with the file.
const FormatEntry& format_of(const std::string& file) {
  for (const FormatEntry& format : formats()) {
    if (format.recognises(file)) return format;
  }
  // What the content says of a file of another program counts more than the name.
  if (!is_standard_input(file) && !conversion_of(file).empty()) refuse_unknown_kind(file);
  for (const FormatEntry& format : formats()) {
    if (has_extension(file, format.extensions)) return format;
  }
  return kFormats[1];  // HDF5, whose open() says what is wrong with any file
}

}  // namespace

std::span<const FormatEntry> formats() { return std::span(kFormats).subspan(has_arrow() ? 0 : 1); }

bool is_read_as_text(const std::string& file) { return format_of(file).open == open_text; }

namespace {

bool model_fills(const ReadOptions& options) { return options.model && !options.model->fills().empty(); }

/// The rows of one file, without what depends on all rows of a set.
std::unique_ptr<PointSource> open_file(const std::string& name, const ReadOptions& options) {
  const Location location = parse_location(name);
  const FormatEntry& format = format_of(location.file);
  ReadOptions of_file = options, of_features;
  if (options.transpose) {  // the names that points like others have are those of rows of the file
    of_features.like = std::exchange(of_file.like, {});
    of_features.model = std::exchange(of_file.model, nullptr);
  }
  const std::vector<double> absent =
      options.missing == Missing::keep ? numbers_among(options.missing_texts) : std::vector<double>();
  if (!absent.empty()) of_file.keep_bytes = false;  // no byte is NaN
  std::unique_ptr<PointSource> source;
  // What columns that are not chosen lack is no error; text and records choose by themselves.
  const bool chooses = !options.columns.empty() || !options.drop_columns.empty();
  const bool is_text = format.open == open_text || (format.open == open_arrow && makes_features(options));
  if (chooses && !is_text && format.open != open_fps && format.open != open_arrow && !options.transpose) {
    ReadOptions of_all = of_file;
    of_all.missing = Missing::keep;
    source = format.open(location, of_all);
    if (source->has_chosen_columns()) {  // it is opened again, where that is possible
      source = is_standard_input(location.file) ? with_checked_values(std::move(source), options.missing) : nullptr;
    }
  }
  if (!source) source = format.open(location, of_file);
  source = with_columns(std::move(source), of_file);
  if (!absent.empty() && !is_text) source = without_numbers(std::move(source), absent);
  if (options.transpose) {
    source = with_columns(transposed(std::move(source), options.scratch), of_features);
  }
  if (!model_fills(options) || is_text) return source;  // a text table has filled what the model knows
  return filled(std::move(source), options.model);
}

}  // namespace

bool has_known_ending(const std::string& file) {
  return std::any_of(std::begin(kFormats), std::end(kFormats),
                     [&file](const FormatEntry& format) { return has_extension(file, format.extensions); });
}

std::unique_ptr<PointSource> open_points(const std::string& name, const ReadOptions& options) {
  std::unique_ptr<PointSource> source =
      named_set(name) ? std::make_unique<FileSet>(name, options, open_file) : open_file(name, options);
  if (!model_fills(options)) source = filled(std::move(source), options.fill);
  source = in_form(std::move(source), options);
  return options.ids.empty() ? std::move(source) : with_row_ids(std::move(source), options);
}

std::unique_ptr<PointSource> open_text_lines(const std::string& name, const std::string& text, std::int64_t first_line,
                                             const ReadOptions& options) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  InputBytes input = InputBytes::held(name, std::vector<std::byte>(bytes, bytes + text.size()));
  return in_form(with_columns(open_text_bytes(std::move(input), first_line, options), options), options);
}

std::unique_ptr<PointSource> open_centroids(const std::string& name, Header header,
                                            const std::vector<std::string>& like) {
  Location location = parse_location(name);
  const FormatEntry& format = format_of(location.file);
  if (location.dataset.empty() && is_hdf5(location.file) &&
      read_root(location.file).text("format") == "kith-clusters") {
    location.dataset = "/centroids";
  }
  const ReadOptions options{
      .precision = Precision::f64, .vector_as_column = true, .like = like, .header_if_unclear = header};
  return with_columns(format.open(location, options), options);
}

Matrix<double> read_centroids(const std::string& name) {
  return std::get<Matrix<double>>(read_all(*open_centroids(name)));
}

std::vector<DatasetInfo> list_datasets(const Location& location, const ReadOptions& options) {
  return format_of(location.file).list(location, options);
}

std::vector<DatasetInfo> list_datasets(const std::string& file) { return list_datasets(Location{file, ""}); }

}  // namespace kith::data
