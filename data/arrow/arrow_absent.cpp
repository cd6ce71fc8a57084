// A build without Arrow C++: Parquet and Arrow files are refused by name, as other formats that kith does not read.
#include "core/error.h"
#include "data/arrow/arrow_table.h"

namespace kith::data {
namespace {

[[noreturn]] void refuse() { throw Error(ExitCode::internal, "Arrow C++: not in this build"); }

}  // namespace

bool has_arrow() { return false; }

bool is_arrow(const std::string&) { return false; }

std::unique_ptr<PointSource> open_arrow(const Location&, const ReadOptions&) { refuse(); }

std::vector<DatasetInfo> list_arrow(const Location&, const ReadOptions&) { refuse(); }

std::optional<ArrowTexts> read_arrow_texts(Location&, const ReadOptions&, const std::string&) { refuse(); }

}  // namespace kith::data
