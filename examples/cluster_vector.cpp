// Clusters a std::vector: three points on the left, three on the right.
#include <kith/kith.h>

#include <cstdio>

int main() {
  const std::vector<float> values{0, 0, 0, 1, 1, 0, 9, 9, 9, 8, 8, 9};
  const kith::ClusterResult result = kith::cluster(kith::PointData(values, 2), 2);
  for (const std::int32_t label : result.labels) std::printf("%d\n", label);
  std::printf("inertia %g\n", result.inertia);
}
