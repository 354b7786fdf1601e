/**
 * @file probe.cpp
 *
 * The parts of probe.hpp that need to be compiled only once.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "probe.hpp"

#include <cstring>

namespace tests {

size_t Rank(const MPI_Comm comm)
{
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return size_t(rank);
}

size_t Ranks(const MPI_Comm comm)
{
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size_t(size);
}

std::vector<double> Gather(const double mine, const MPI_Comm comm)
{
  std::vector<double> all(Ranks(comm));
  MPI_Request request;
  MPI_Iallgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, comm,
      &request);
  dasgd::mpi::Await(request);
  return all;
}

double Sum(const double mine, const MPI_Comm comm)
{
  double sum = 0;
  for (const double value : Gather(mine, comm))
    sum += value;
  return sum;
}

void SumUp(std::vector<size_t>& counts, const MPI_Comm comm)
{
  std::vector<std::uint64_t> mine(counts.begin(), counts.end());
  std::vector<std::uint64_t> sums(mine.size());
  MPI_Request request;
  MPI_Iallreduce(mine.data(), sums.data(), int(mine.size()), MPI_UINT64_T,
      MPI_SUM, comm, &request);
  dasgd::mpi::Await(request);
  counts.assign(sums.begin(), sums.end());
}

bool All(const bool mine, const MPI_Comm comm)
{
  return Sum(mine ? 1 : 0, comm) == double(Ranks(comm));
}

bool Same(const void* bytes, const size_t size, const MPI_Comm comm)
{
  const std::vector<double> sizes = Gather(double(size), comm);
  std::vector<char> root(static_cast<size_t>(sizes[0]));
  if (Rank(comm) == 0)
    std::memcpy(root.data(), bytes, size);
  MPI_Request request;
  MPI_Ibcast(root.data(), int(root.size()), MPI_BYTE, 0, comm, &request);
  dasgd::mpi::Await(request);
  return All(size == root.size() &&
      std::memcmp(root.data(), bytes, size) == 0, comm);
}

double Optimize(dasgd::DASGD<>& optimizer,
                Probe& probe,
                arma::mat& iterate,
                Hooks& hooks)
{
  return optimizer.Optimize(probe, iterate, hooks);
}

std::ostream& operator<<(std::ostream& stream, const Ending& ending)
{
  const char* kinds[] = { "returned", "threw OwnError",
      "threw std::invalid_argument", "threw std::runtime_error",
      "threw something else" };
  return stream << kinds[ending.kind] << " " << ending.value << " \""
      << ending.text << "\"";
}

Ending Try(const std::function<double()>& action)
{
  Ending ending;
  try
  {
    ending.value = action();
  }
  catch (const OwnError& e)
  {
    ending.kind = Ending::Own;
    ending.value = e.code;
  }
  catch (const std::invalid_argument& e)
  {
    ending.kind = Ending::InvalidArgument;
    ending.text = e.what();
  }
  catch (const std::runtime_error& e)
  {
    ending.kind = Ending::RuntimeError;
    ending.text = e.what();
  }
  catch (const std::exception& e)
  {
    ending.kind = Ending::Other;
    ending.text = e.what();
  }
  return ending;
}

std::vector<dasgd::Topology> Topologies(const size_t ranks)
{
  std::vector<dasgd::Topology> all = { "auto", "complete", "ring",
      "exponential", "tree:2", "tree:3" };
  size_t rows = 1;
  for (size_t i = 2; i * i <= ranks; ++i)
    rows = (ranks % i == 0) ? i : rows;
  all.push_back(dasgd::Topology::Mesh(rows, ranks / rows));

  // Every rank is linked to one before it, and then some more.
  std::vector<std::pair<size_t, size_t>> edges;
  dasgd::Random random(ranks);
  for (size_t i = 1; i < ranks; ++i)
    edges.emplace_back(i, random.Below(i));
  for (size_t i = 0; i < ranks / 2; ++i)
  {
    const size_t from = random.Below(ranks), to = random.Below(ranks);
    if (from != to)
      edges.emplace_back(from, to);
  }
  if (!edges.empty())
    all.push_back(dasgd::Topology::Graph(edges));
  return all;
}

bool StillWorks()
{
  Probe probe(4 * Ranks(), 3, Probe::Linear);
  arma::mat iterate(3, 1, arma::fill::zeros);
  const arma::mat expected = -probe.FullGradient(iterate);
  FixedDASGD optimizer(1, 1, probe.NumFunctions(), -1, true);
  const Ending ending = Try([&]()
  { return Optimize(optimizer, probe, iterate); });
  return All(ending.kind == Ending::Returned &&
      arma::approx_equal(iterate, expected, "absdiff", 0));
}

} // namespace tests
