/**
 * @file loss.cpp
 *
 * A training in which ranks die, where the MPI lets the others go on.  Every
 * gradient leaves its mark in the model: the model has an element for each rank
 * and a gradient takes 1 from that of its own.  So the model says which
 * gradients it has.
 *
 * Usage: loss <topology> <static|dynamic> <points> [<rank>:<step>]...: these
 * ranks die at these steps of theirs.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>

#include <csignal>
#include <iostream>

#include <unistd.h>

namespace {

struct Marks
{
  size_t rank;
  std::chrono::microseconds pause;

  size_t NumFunctions() const { return 100; }
  void Shuffle() { }

  double EvaluateWithGradient(const arma::mat& model,
                              const size_t,
                              arma::mat& gradient,
                              const size_t)
  {
    std::this_thread::sleep_for(pause);
    gradient.zeros(model.n_rows, model.n_cols);
    gradient(rank) = 1;
    return arma::accu(model);
  }

  double Evaluate(const arma::mat& model, const size_t, const size_t)
  { return arma::accu(model); }

  void Gradient(const arma::mat& model,
                const size_t begin,
                arma::mat& gradient,
                const size_t size)
  { EvaluateWithGradient(model, begin, gradient, size); }
};

//! Dies at a step, as the system would have it.
struct Death
{
  size_t step = 0;
  size_t steps = 0;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, MatType&)
  {
    if (++steps == step)
      kill(getpid(), SIGKILL);
    return false;
  }
};

} // namespace

int main(int argc, char** argv)
{
  if (argc < 4)
    return 2;
  dasgd::mpi::Initialize();
  if (!dasgd::mpi::Tolerant())
  {
    std::cout << "skipped: this job does not survive the death of a rank; it "
        << "needs Open MPI 5 and mpirun --with-ft ulfm" << std::endl;
    return 77;
  }
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Death death;
  std::vector<std::uint64_t> due;
  for (int i = 4; i < argc; ++i)
  {
    size_t who = 0, when = 0;
    if (std::sscanf(argv[i], "%zu:%zu", &who, &when) != 2)
      return 2;
    due.push_back(who);
    if (who == size_t(rank))
      death.step = when;
  }
  std::sort(due.begin(), due.end());

  // Step 1 along the sum over a batch of 1: whole numbers all along.
  dasgd::DASGD<> optimizer(1, 1, std::strtoull(argv[3], nullptr, 10), -1);
  optimizer.Topology() = argv[1];
  if (std::string(argv[2]) == "dynamic")
    optimizer.Sharing() = dasgd::Sharing::Dynamic;
  Marks marks{ size_t(rank), std::chrono::microseconds(20 * (1 + rank)) };
  arma::mat model(ranks, 1, arma::fill::zeros);
  optimizer.Optimize(marks, model, death);

  const dasgd::Report report = optimizer.Report();
  std::string wrong;
  const double applied = -arma::accu(model);
  if (applied != double(report.Gradients()))
  {
    wrong += "the model has " + std::to_string(applied) + " gradients, the "
        "report " + std::to_string(report.Gradients()) + "; ";
  }
  const bool exact = (optimizer.Sharing() == dasgd::Sharing::Static);
  if (exact ? report.Points() != optimizer.MaxIterations() :
      report.Points() < optimizer.MaxIterations())
    wrong += std::to_string(report.Points()) + " points were counted; ";
  for (const dasgd::RankReport& each : report.ranks)
  {
    if (each.staleness.Measured() + each.staleness.Skipped() !=
        report.Gradients())
      wrong += "staleness is not accounted for; ";
  }
  if (report.Deviation() != 0)
    wrong += "models differ; ";
  // When the work is divided anew, a rank may not get as far as the step at
  // which it dies.
  if (!std::includes(due.begin(), due.end(), report.lost.begin(),
      report.lost.end()))
    wrong += "other ranks were lost; ";

  // Train once more: those that are left can.
  arma::mat again(ranks, 1, arma::fill::zeros);
  optimizer.MaxIterations() = 500;
  optimizer.Optimize(marks, again);
  if (optimizer.Report().ranks.size() + report.lost.size() != size_t(ranks) ||
      -arma::accu(again) != double(optimizer.Report().Gradients()))
    wrong += "the next training went wrong; ";
  // What all have is what each has.
  const dasgd::MpiCommunicator left(MPI_COMM_WORLD);
  for (const std::string& other : left.Gather(std::string(
      reinterpret_cast<const char*>(model.memptr()), 8 * model.n_elem)))
  {
    if (std::memcmp(other.data(), model.memptr(), other.size()) != 0)
      wrong += "ranks returned different models; ";
  }
  if (!wrong.empty())
    std::cerr << "rank " << rank << ": " << wrong << std::endl;
  if (left.Rank() == 0)
  {
    std::cout << argv[1] << ", " << argv[2] << ": " << left.Size()
        << " of " << ranks << " ranks left, " << report.Gradients()
        << " gradients, " << report.gradientsLost << " dropped, model";
    for (const double count : model)
      std::cout << " " << -count;
    std::cout << (wrong.empty() ? ": right" : ": WRONG") << std::endl;
  }
  return wrong.empty() ? 0 : 1;
}
