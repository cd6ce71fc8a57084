// The recipes for containers: what they install is what ./dev names, and the program runs without privileges.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace {

/// The steps of a recipe, each in one line, without comments.
std::vector<std::string> steps_of(const std::string& recipe) {
  std::ifstream file(std::string(KITH_SOURCE_DIR) + "/containers/" + recipe);
  REQUIRE(file);
  std::vector<std::string> steps;
  bool continues = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.pop_back();
    if (continues) {
      steps.back() += line.substr(line.find_first_not_of(' '));
    } else {
      steps.push_back(line);
    }
    continues = goes_on;
  }
  return steps;
}

}  // namespace

TEST_CASE("recipes for containers install what ./dev names, and run without privileges") {
  const std::string install =
      "RUN --mount=type=bind,from=build,source=/source/build-package,target=/packages apt-get update && "
      "apt-get install -y --no-install-recommends /packages/";
  const auto recipe = [&](const std::string& from, const std::string& run_from, const std::string& package,
                          const std::string& settings) {
    return std::vector<std::string>{
        "FROM docker.io/" + from + " AS build",
        "WORKDIR /source",
        "COPY dev ./",
        "RUN ./dev setup",
        "COPY . .",
        "ARG KITH_COMMIT=",
        "RUN ./dev package " + settings + "-DKITH_COMMIT=\"$KITH_COMMIT\"",
        "FROM docker.io/" + run_from,
        install + package + "_*.deb && rm -rf /var/lib/apt/lists/*",
        "USER 1000:1000",
        "WORKDIR /data",
        "ENTRYPOINT [\"kith\"]",
    };
  };
  CHECK(steps_of("Containerfile") == recipe("library/debian:12", "library/debian:12-slim", "kith", ""));
  const std::vector<std::string> cuda = steps_of("Containerfile.cuda");
  const std::string tag = cuda[0].substr(0, cuda[0].find("-devel-")).substr(std::string("FROM docker.io/").size());
  CHECK(cuda == recipe(tag + "-devel-ubuntu24.04", tag + "-base-ubuntu24.04", "kith-cuda",
                       "-DKITH_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=many "));
}
