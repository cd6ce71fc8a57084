// Tables that kith writes as Parquet or Arrow files: in the program kith-arrow, which returns their bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/arrow/arrow_calls.h"
#include "data/arrow/arrow_file.h"

namespace kith::data {

class ArrowWriter {
 public:
  /// input: its columns come first, a part with each append(); null: none.
  ArrowWriter(const ArrowTableForm& form, std::shared_ptr<ArrowFile> input);
  ~ArrowWriter();
  /// Writes a row group or a record batch: values of each field of the form. Throws UnpackError if they do not fit.
  void append(std::int64_t rows, std::vector<ArrowColumnValues> columns);
  void finish();
  /// The bytes of the file since the last call.
  std::string take_bytes();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kith::data
