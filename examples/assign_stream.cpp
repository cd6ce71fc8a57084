// Gives each line of numbers on standard input the label of a model, as soon as it comes: assign_stream MODEL.h5 <ROWS
#include <kith/kith.h>

#include <cstdio>
#include <iostream>
#include <sstream>

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: assign_stream MODEL.h5 <ROWS\n");
    return 2;
  }
  try {
    const kith::Model model = kith::Model::from_file(words[1]);
    const kith::OpenDevice device = kith::open({.backend = "cpu", .threads = 1});
    for (std::string line; std::getline(std::cin, line);) {
      std::vector<double> row;
      std::istringstream numbers(line);
      for (double number; numbers >> number;) row.push_back(number);
      const auto columns = static_cast<std::int64_t>(row.size());
      const kith::ClusterResult found = model.assign(kith::PointData(std::move(row), columns, "line"), device);
      std::printf("%d\n", found.labels[0]);
      std::fflush(stdout);
    }
  } catch (const kith::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
