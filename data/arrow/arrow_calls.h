// What kith asks of the program kith-arrow, which reads and writes Parquet and Arrow files with Arrow C++: the parser
// of files that are not trusted, and its libraries, are no part of kith.
//
// kith starts the program once, with a socket for connections. Each connection is a socket of its own, an input file
// or none, and memory that both processes share; a thread of kith-arrow serves it. A request is a call and its packed
// arguments; a reply is a packed result or error (data/io/packed.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/format/records.h"

namespace kith::data {

/// Changes with the form of any message: both programs must be of one build.
constexpr std::int64_t kArrowProtocol = 3;
constexpr int kArrowSocket = 3;  // the descriptor of the socket for connections

/// Announces a connection, with its files.
struct ArrowGreeting {
  std::int64_t protocol = kArrowProtocol;
  bool has_input = false;
};

enum class ArrowCall : std::uint8_t {
  describe,      // (limits, name) -> ArrowDescription
  open_rows,     // (limits, name, ArrowRows) -> ArrowOpened
  read_rows,     // (limits, first, rows, place in the shared memory) -> the number of values that were rounded
  find_lists,    // (limits, part) -> the stretches of the part; none if its rows are not lists as ArrowOpened says
  read_lists,    // (limits, first, rows, place in the shared memory) -> whether they are such lists
  read_texts,    // (limits, name, field, first part) -> the texts of a field in this part
  begin_table,   // (limits, ArrowTableForm) -> the first bytes of the file
  append_rows,   // (limits, rows, columns) -> the next bytes
  finish_table,  // (limits) -> the last bytes
};
constexpr ArrowCall last_value(ArrowCall) { return ArrowCall::finish_table; }

/// What a call may use.
struct ArrowLimits {
  std::int64_t memory = 0;   // bytes, as set_memory_limit() takes them
  std::int64_t seconds = 0;  // of processor time
};
template <class Archive>
void each_field(Archive& archive, ArrowLimits& limits) {
  archive(limits.memory, limits.seconds);
}

/// The type of a field whose numbers are stored in another order than they are meant.
inline constexpr const char* kPermutedTensor = "permuted tensor";

struct ArrowDescription {
  Records records;                  // a field for each one of the schema
  std::vector<std::string> index;   // the columns of the index of a table of pandas; none if it is a range
  std::vector<std::int64_t> start;  // the first row of each part (row group, record batch), and the number of rows
  std::string kind;                 // "a Parquet file"
  std::string layout;               // "row groups: 3"
  std::vector<std::string> filters;

  std::int64_t rows() const { return start.back(); }
};
template <class Archive>
void each_field(Archive& archive, ArrowDescription& file) {
  archive(file.records, file.index, file.start, file.kind, file.layout, file.filters);
}

/// Which columns become points, and how.
struct ArrowRows {
  std::vector<std::int64_t> columns;  // of columns_of(records), in the order of the points
  bool are_wide = false;              // float64
  Missing missing = Missing::refuse;
  std::int64_t threads = 1;
};
constexpr Missing last_value(Missing) { return Missing::keep; }
template <class Archive>
void each_field(Archive& archive, ArrowRows& rows) {
  archive(rows.columns, rows.are_wide, rows.missing, rows.threads);
}

struct ArrowOpened {
  std::int64_t decoding_bytes = 0;  // of memory
  /// The rows are the lists of one field of float32 or float64, as far as its type says. If all lists of a part have
  /// the same length, and neither lists nor numbers are missing, their numbers can be had as they are stored.
  bool are_lists = false;
};
template <class Archive>
void each_field(Archive& archive, ArrowOpened& opened) {
  archive(opened.decoding_bytes, opened.are_lists);
}

/// Numbers of lists that follow each other in a part.
struct ArrowStretch {
  std::int64_t first = 0, count = 0;
  std::int64_t at = -1;  // their place in the file, where they are stored as they are; -1: they must be decoded

  std::int64_t end() const { return first + count; }
};
template <class Archive>
void each_field(Archive& archive, ArrowStretch& stretch) {
  archive(stretch.first, stretch.count, stretch.at);
}

/// How the values of a table that is written are stored.
enum class ArrowType : std::uint8_t { int32, int64, float32, float64, flag, text };
constexpr ArrowType last_value(ArrowType) { return ArrowType::text; }

struct ArrowField {
  std::string name;
  ArrowType type = ArrowType::int64;
  std::int64_t length = 0;  // of lists of one length; 0: single values
};
template <class Archive>
void each_field(Archive& archive, ArrowField& field) {
  archive(field.name, field.type, field.length);
}

struct ArrowTableForm {
  std::string name;                // of the file, for messages
  bool is_parquet = false;         // else an Arrow file
  std::vector<ArrowField> fields;  // behind those of the input, if the connection has one
};
template <class Archive>
void each_field(Archive& archive, ArrowTableForm& form) {
  archive(form.name, form.is_parquet, form.fields);
}

/// The values of a field in some rows.
struct ArrowColumnValues {
  std::string bytes;                 // numbers one after another; flags are bytes
  std::vector<std::string> texts;    // if they are texts
  std::vector<std::uint8_t> is_set;  // 0: missing; empty: none is missing
};
template <class Archive>
void each_field(Archive& archive, ArrowColumnValues& values) {
  archive(values.bytes, values.texts, values.is_set);
}

}  // namespace kith::data
