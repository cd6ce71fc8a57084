// Searches points that a device holds, again and again and from several threads: search_again FILE[:DATASET] K
#include <kith/kith.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: search_again FILE[:DATASET] K\n");
    return 2;
  }
  try {
    const auto points = kith::PointData::from_file(words[1]);
    const kith::Index index(kith::open().hold(points));
    const std::int64_t k = std::atol(words[2]);
    const kith::NeighborTable lists = index.search(points, k);
    std::vector<int> equal(4);
    std::vector<std::jthread> threads;  // their searches take turns on the device
    for (std::size_t i = 0; i < equal.size(); ++i) {
      threads.emplace_back([&, i] { equal[i] = index.search(points, k).rows.values == lists.rows.values ? 1 : 0; });
    }
    threads.clear();
    for (const int is_equal : equal) std::printf(is_equal != 0 ? "equal\n" : "different\n");
  } catch (const kith::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
