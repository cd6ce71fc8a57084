// The interface that every file format implements: open a table of numbers, read its rows, list all datasets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/points/matrix.h"
#include "data/format/element.h"
#include "data/io/location.h"

namespace kith::data {

class FileSet;
struct TableModel;

/// Lines of a text file that are no rows, before its last row.
struct SkippedLines {
  std::int64_t comments = 0;
  std::int64_t blank = 0;
};

/// One dataset, as `kith info` shows it.
struct DatasetInfo {
  std::string path = {};  // "/train"
  std::vector<std::int64_t> shape = {};
  std::string type = {};                  // "float32", "uint8", "string", "compound", ...
  std::string byte_order = {};            // "little", "big"; "" for single bytes and for types that are not numbers
  std::string layout = {};                // "contiguous", "chunked 256 x 64", "compact", "external", "virtual"
  std::vector<std::string> filters = {};  // "shuffle", "deflate 9", "fletcher32", ...
  std::int64_t stored_bytes = 0;
  std::string unreadable = {};                 // why it cannot be read as points; empty if it can
  bool is_readable = true;                     // as points, or a vector as one column
  bool is_damaged = false;                     // so that it cannot even be described
  std::vector<std::string> columns = {};       // their names, if the file has names
  std::vector<std::string> column_types = {};  // of each of them, if they have types of their own
  std::string text_columns = {};               // the chosen columns that hold text, as a list for --drop-columns
  SkippedLines skipped = {};
  std::vector<std::string> remarks = {};  // about lines that may have another meaning, as PointSource::remarks()
};

/// The columns of svmlight files, which name features by numbers and leave out those that are 0.
struct IndexedColumns {
  std::int64_t base = -1;  // the index of the first column, 0 or 1; -1: unknown
  std::int64_t count = 0;  // up to the largest index
  bool operator==(const IndexedColumns&) const = default;
};

enum class Precision { automatic, f32, f64 };

/// What replaces a missing value: nothing, or the mean or median of its column.
enum class Fill { none, mean, median };

/// What becomes of a column of text: nothing; the place of each text among all of them; a column for each text; days
/// since 1970, whose order of day and month is found in the column or given; 1 and 0; the numbers before or behind one
/// unit, as in "165 cm"; or the hours of times and durations.
enum class Encode { none, ordinal, onehot, date, date_day_first, date_month_first, yesno, unit, time };
/// Whether the column becomes one column of numbers, which has its name.
inline bool is_one_number(Encode how) { return how >= Encode::date; }
struct EncodeRule {
  std::string column;  // its name or number; empty: every column of such texts for which there is no other rule
  Encode how = Encode::none;
  bool keeps_missing = false;  // of onehot: a missing value is a text like others, "missing"
  std::vector<std::string> order =
      {};  // of ordinal: its texts; none: all that are found, in a known order or that of the alphabet
};

/// How rows are held: in the type of their class or as float64: as they are, scaled to length 1, less their mean and
/// then scaled, or as points of the unit sphere, of latitudes and longitudes; or as bits, eight in a byte.
enum class RowForm { as_read, wide, directions, deviations, places, bits };

/// How rows of bits are stored in their file.
struct RowBits {
  std::int64_t count = 0;   // of a row; 0: the rows are numbers
  bool are_packed = false;  // eight in a byte, else each is a column
};

/// Whether the first line of a text file names its columns.
enum class Header { automatic, yes, no };

struct ReadOptions {
  Precision precision = Precision::automatic;
  bool vector_as_column = false;  // accept rank 1 as n rows of one column
  int threads = 1;                // maximum number of threads in read()
  bool keep_bytes = false;        // hold uint8 and int8 of class f32 as bytes, not as float32
  /// Columns of the file by name or by number from 1, "a,b,3-7": the columns to read (empty: all; "numeric": all of
  /// numbers), and those to drop.
  std::string columns = {}, drop_columns = {};
  /// Names of columns to take, in this order, if the file has each of them once and none of the options above is given.
  std::vector<std::string> like = {};
  // Text files only: columns that are kept as text and are not part of the points.
  std::string id_column = {}, label_column = {}, weight_column = {};
  /// Tables only: columns that are shown beside answers. They are not part of the points unless `columns` names them.
  std::string joined = {};
  /// A file with the identifiers of the rows, and perhaps further columns, for formats that have none
  /// (data/row_texts.cpp); empty: the file of the points has them.
  std::string ids = {};
  /// svmlight only: the index of the first column (-1: 0 if that index occurs, else 1), and how many columns there are
  /// at least.
  IndexedColumns indexed = {};
  std::string delimiter = {};            // text files only: one character, ' ' for blanks; empty: detected
  char decimal = '.', thousands = '\0';  // text files only: NumberStyle; decimal '\0': '.', unless asked
  Header header = Header::automatic;
  /// Text files only: lines that begin with this character are skipped, '\0': none. Nothing: lines that begin with #
  /// before the first record.
  std::optional<char> comment = {};
  Header header_if_unclear = Header::automatic;  // text files only: instead of a question
  std::int64_t skip_lines = 0;                   // text files only: lines before the table
  std::optional<bool> quotes = {};  // text files only: quotation marks are ones; nothing: unless signs say otherwise
  bool transpose = false;           // the columns of the file become rows
  /// A folder for decoded data that would take more than a part of the memory; empty: they are held in memory.
  std::string scratch = {};
  /// Whether read() accepts NaN, infinities and empty fields of text, which become NaN.
  Missing missing = Missing::refuse;
  Fill fill = Fill::none;  // what replaces the values that Missing::keep keeps
  RowForm form = RowForm::as_read;
  std::int64_t bits = 0;  // of RowForm::bits: how many a row has; 0: as many as its columns hold
  /// Text files only: fields that stand for a missing value, besides the usual ones ("NA", "null" ...).
  std::vector<std::string> missing_texts = {};
  std::vector<EncodeRule> encode = {};  // text files only
  bool offers_prepare = false;          // the command has --prepare auto, which messages about texts propose
  /// How another table became points: its columns are found by their names, or by their numbers if they have none,
  /// unless options choose columns; and become features as they did there, also where a value is missing. Null: none.
  std::shared_ptr<const TableModel> model = {};
  /// Text files only, with a model: a value that it does not know (a text it lacks, a word in place of a number) is a
  /// missing value without a replacement. Needs Missing::keep. Else it is refused.
  bool keep_unknown = false;
};

/// Columns of a text file that are not part of the points.
enum class Kept { id, label, weight };

/// The parts of a text table: the line that names the columns and the rows, without their line ends; and what is
/// between them: line ends, blank lines, comments, a byte order mark.
enum class TextPart { header, row, between };

/// How a text file separates its columns, all of which it names or none.
struct TableForm {
  char delimiter = ',';  // ' ': runs of blanks
  std::vector<std::string> names = {};
};

/// A text for each row.
struct RowTexts {
  std::string name;  // of the column; empty: it has none
  std::vector<std::string> texts;
};

/// An open dataset of n rows and d columns.
class PointSource {
 public:
  virtual ~PointSource() = default;
  virtual std::string name() const = 0;  // "points.h5:/train", as shown and stored
  /// What opens the same source again.
  virtual std::string location() const { return name(); }
  virtual std::string element_type() const = 0;  // "uint8", as in the file
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;
  virtual ValueClass value_class() const = 0;   // from the element type and ReadOptions::precision
  virtual std::int64_t file_bytes() const = 0;  // size of the dataset in the file
  /// The type in which to hold the values: by class, or uint8 or int8 if ReadOptions::keep_bytes asks for it.
  virtual Number held_as() const { return value_class() == ValueClass::f32 ? Number::float32 : Number::float64; }
  /// Places have fewer than columns(), which are those of points of the sphere.
  virtual std::int64_t columns_in_file() const { return columns(); }
  /// The bits of a row with RowForm::bits, whose columns() are bytes.
  virtual RowBits row_bits() const { return {}; }
  /// Reads rows first .. first + out.rows - 1. The overload must match value_class() or held_as(). Throws Error(data)
  /// for the first NaN or infinity unless they are kept, for values that the class cannot hold (both with row and
  /// column), and for damaged data.
  virtual void read(std::int64_t first, MatrixView<float> out) = 0;
  virtual void read(std::int64_t first, MatrixView<double> out) = 0;
  /// Sources that never hold bytes keep these, which throw Error(internal).
  virtual void read(std::int64_t first, MatrixView<std::uint8_t> out);
  virtual void read(std::int64_t first, MatrixView<std::int8_t> out);
  /// Reads rows of int64 or uint64 as their bits, for labels: float64 does not hold all of these numbers, and labels
  /// are names. Returns false, and reads nothing, if the values have another type or the source cannot; then read() has
  /// them.
  virtual bool read_integers(std::int64_t /*first*/, MatrixView<std::int64_t> /*out*/) { return false; }
  /// Number of values that --precision f32 has rounded so far.
  virtual std::int64_t changed_values() const = 0;
  /// Host memory in bytes that the source itself uses while rows are read.
  virtual std::int64_t held_bytes() const { return 0; }
  /// What these rows are, if they cannot be read at any time as fast as in order, with a verb: "text is ..."; empty if
  /// they can.
  virtual std::string only_in_order() const { return ""; }
  /// Whether reading a row takes much longer than reading its bytes.
  virtual bool is_compressed() const { return false; }
  /// From now on, rows from this one on are read past the page cache, where that is possible.
  virtual void bypass_cache_from(std::int64_t /*row*/) {}
  /// The file whose change would change the rows; empty if nobody else can change them.
  virtual std::string watched_file() const { return parse_location(name()).file; }
  /// Whether several threads may call read() at the same time.
  virtual bool is_shared() const { return false; }
  /// One name for each column, or none.
  virtual std::vector<std::string> column_names() const { return {}; }
  /// The columns of the file, whichever are chosen, if its columns have indices.
  virtual std::optional<IndexedColumns> indexed_columns() const { return std::nullopt; }
  /// Whether the options about columns have been applied.
  virtual bool has_chosen_columns() const { return false; }
  virtual SkippedLines skipped_lines() const { return {}; }
  /// How many of the rows that were read have a value that the model does not know, of which remarks() has a sentence.
  virtual std::int64_t unknown_rows() const { return 0; }
  /// What a reader of the result should know about the input, one sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }
  /// The text of each row in ReadOptions::id_column, label_column or weight_column; empty if there is no such column.
  virtual std::vector<std::string> kept(Kept) const { return {}; }
  /// The name of ReadOptions::id_column in the file; empty if it has none.
  virtual std::string id_name() const { return ""; }
  /// The fields of any column of the table, which `column` gives by name or by number from 1. Throws Error(usage) if it
  /// does not exist, or if the source has no columns of text.
  virtual RowTexts texts_of(const std::string& column) const;
  /// How the columns of the file become points, if some are chosen, encoded or filled, or have names; else null. Fills
  /// are known once a row has been read.
  virtual std::shared_ptr<const TableModel> table() const { return nullptr; }
  /// The files, if the source is a set of several (data/file_set.h); else null.
  virtual const FileSet* set() const { return nullptr; }
  /// The form of a text table, if the source is one.
  virtual std::optional<TableForm> table_form() const { return std::nullopt; }
  /// Calls visit(part, bytes) for the parts of a text table, in order, until all its bytes have been visited.
  virtual void visit_text(const std::function<void(TextPart part, std::string_view bytes)>& /*visit*/) const {}
};

/// The columns that users know: of rows of bits, the bits.
inline std::int64_t shown_columns(const PointSource& source) {
  const RowBits bits = source.row_bits();
  return bits.count > 0 ? bits.count : source.columns_in_file();
}

/// The element type of formats that name every row besides its bits.
inline constexpr const char* kFingerprint = "fingerprint";

/// A row of the table of formats, which `kith devices` and the help show.
struct FormatEntry {
  const char* name;        // "HDF5"
  const char* extensions;  // ".h5 .hdf5"
  const char* summary;
  /// Whether the content has this format. A file that no format recognises is opened by its extension.
  bool (*recognises)(const std::string& file);
  std::unique_ptr<PointSource> (*open)(const Location&, const ReadOptions&);
  /// All datasets of the file, or of the group that the location names.
  std::vector<DatasetInfo> (*list)(const Location&, const ReadOptions&);
};

/// Throws Error(internal) unless the source has rows first .. first + out.rows - 1, of this width, and may be read as
/// the type of `out`.
template <class T>
void check_request(const PointSource& source, std::int64_t first, const MatrixView<T>& out);

/// The class of values with this natural class under --precision.
inline ValueClass class_for(ValueClass natural, Precision precision) {
  if (precision == Precision::automatic) return natural;
  return precision == Precision::f32 ? ValueClass::f32 : ValueClass::f64;
}

/// Memory for all rows of a source, in the type held_as(), not initialised. Throws std::bad_alloc.
PointsMatrix allocate_points(const PointSource& source);
/// The same for `rows` of its rows.
PointsMatrix allocate_points(const PointSource& source, std::int64_t rows);

/// Reads a whole dataset.
PointsMatrix read_all(PointSource& source);

}  // namespace kith::data
