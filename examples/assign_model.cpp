// Gives points the labels of a model: assign_model MODEL.h5 POINTS. The points have the columns that were clustered.
#include <kith/kith.h>

#include <cstdio>

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: assign_model MODEL.h5 POINTS\n");
    return 2;
  }
  try {
    const kith::Model model = kith::Model::from_file(words[1]);
    const kith::ClusterResult result = model.assign(kith::PointData::from_file(words[2]));
    for (const std::int32_t label : result.labels) std::printf("%d\n", label);
  } catch (const kith::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
