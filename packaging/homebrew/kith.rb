# Homebrew on Linux: kith relies on calls of Linux. ./dev release fills in @...@.
class Kith < Formula
  desc "Exact k-means and nearest neighbours, the same bytes on every processor"
  homepage "https://pypi.org/project/kith-cluster/"
  url "https://files.pythonhosted.org/packages/source/k/kith-cluster/kith_cluster-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "eigen" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "fmt"
  depends_on "hdf5"
  depends_on "jpeg-turbo"
  depends_on "libaec"
  depends_on "libpng"
  depends_on :linux
  depends_on "zlib"
  depends_on "zstd"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DKITH_TESTS=OFF", "-DKITH_CUDA=off",
           "-DKITH_ARROW=off", *std_cmake_args
    system "cmake", "--build", "build", "--target", "programs"
    system "cmake", "--install", "build", "--component", "kith"
  end

  test do
    (testpath/"points.csv").write((0...20).map { |i| "#{i * i % 7},#{i}\n" }.join)
    system bin/"kith", "cluster", "points.csv", "-k", "3", "-o", "labels.csv"
    assert_equal 21, (testpath/"labels.csv").readlines.size
    assert_match version.to_s, shell_output("#{bin}/kith --version")
  end
end
