/**
 * @file custom_topology.cpp
 *
 * Trains the same model over four networks: a graph by its edges, the same from
 * a file, a mesh, and one by its name; and prints what each costs.
 *
 *     mpirun -n 4 custom_topology
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <mlpack.hpp>

#include <dasgd.hpp>

#include <cstdio>
#include <fstream>

#include "example.hpp"
#include "fashion_mnist.hpp"

using namespace mlpack;

int main(int argc, char** argv) try
{
  const example::Options options(argc, argv, 5, 60000);
  example::FashionMnist train("train", options.points), test("t10k");
  train.Keep(2, 4);
  test.Keep(2, 4);
  const dasgd::MpiCommunicator world(MPI_COMM_WORLD);
  const size_t n = world.Size();

  // A wheel: rank 0 is the hub, all others form the rim.  Each edge carries
  // gradients both ways, and any connected graph will do.
  std::vector<std::pair<size_t, size_t>> edges;
  for (size_t i = 1; i < n; ++i)
  {
    edges.push_back({ 0, i });
    if (i + 1 < n)
      edges.push_back({ i, i + 1 });
  }
  const dasgd::Topology wheel = dasgd::Topology::Graph(edges);

  // The same from a file, with one edge in each line.  Ranks compare what they
  // have read, so it does not matter whether they read the same file.
  const std::string path = "wheel-" + std::to_string(world.Rank()) + ".txt";
  {
    std::ofstream file(path);
    file << "# A wheel of " << n << " ranks.\n";
    for (const std::pair<size_t, size_t>& edge : edges)
      file << edge.first << " " << edge.second << "\n";
  }
  const dasgd::Topology fromFile = dasgd::Topology::FromFile(path);
  std::remove(path.c_str());

  // The mesh that is closest to a square.
  size_t rows = 1;
  for (size_t i = 1; i * i <= n; ++i)
    rows = (n % i == 0) ? i : rows;
  const dasgd::Topology mesh = dasgd::Topology::Mesh(rows, n / rows);

  for (const dasgd::Topology& topology : { wheel, fromFile, mesh,
      dasgd::Topology(options.topology) })
  {
    LogisticRegression<> model(train.images.n_rows, 0.001);
    dasgd::DASGD optimizer(example::Step(0.02, 32), 32,
        options.epochs * train.images.n_cols);
    optimizer.Topology() = topology;
    model.Train(train.images, train.labels, optimizer);

    const dasgd::Report& report = optimizer.Report();
    std::uint64_t bytes = 0;
    for (const dasgd::RankReport& rank : report.ranks)
      bytes += rank.bytesSent;
    dasgd::RootStream() << topology.Name() << ": at most "
        << topology.Hops(n) << " hops, "
        << bytes / std::max<size_t>(1, report.Gradients())
        << " bytes sent for each gradient, staleness "
        << report.StalenessAverage() << ", test accuracy "
        << model.ComputeAccuracy(test.images, test.labels) << " %" << std::endl;
  }
}
catch (const std::exception& e)
{
  return example::Failed(e);
}
