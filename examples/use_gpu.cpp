// Finds neighbours in a file, on a GPU if there is one: use_gpu FILE[:DATASET] K
#include <kith/kith.h>

#include <cstdio>
#include <cstdlib>

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: use_gpu FILE[:DATASET] K\n");
    return 2;
  }
  try {
    const auto points = kith::PointData::from_file(words[1]);
    kith::SearchOptions options;
    std::string reason;
    options.run.backend = kith::is_usable("cuda", &reason) ? "cuda" : "cpu";
    if (!reason.empty()) std::fprintf(stderr, "no GPU: %s\n", reason.c_str());
    const kith::NeighborTable table = kith::neighbors(points, std::atol(words[2]), options);
    for (std::int64_t i = 0; i < table.rows.rows; ++i) {
      for (const std::int64_t row : table.rows.row(i)) std::printf("%ld ", static_cast<long>(row));
      std::printf("\n");
    }
  } catch (const kith::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
