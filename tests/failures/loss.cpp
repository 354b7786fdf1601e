/**
 * @file loss.cpp
 *
 * A training in which ranks die, where the MPI lets the others go on.  Every
 * gradient leaves its mark in the model: the model has an element for each rank
 * and a gradient takes 1 from that of its own.  So the model says which
 * gradients it has.
 *
 * Usage: loss <folder> <topology> <kind> <points> [<rank>:<when>]...
 *
 * The kind is "static" or "dynamic", with "-history" to record one, "-large"
 * for a model in many chunks of a board, so that ranks die in the middle of an
 * update, "-nan" for gradients that become infinite, "-baseline" for another
 * algorithm, which does not go on, "-program" for a command-line program, whose
 * files one rank writes.  Ranks die at a step of theirs, or at "start",
 * "handshake", "end", "between", "exit", or in one of MPI's functions:
 * "histories", "agree", "shrink", "finalize".  Or somebody kills them, if one
 * of these words is "outside".  At "stop" and a step a rank stands still.
 *
 * A rank writes "pid.<rank>" into the folder once MPI is there, "end.<rank>"
 * when it has computed its last gradient, and "right.<rank>" if all is right.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>

#include <ranks/failure.hpp>
#include <ranks/ranks.hpp>

#include <csignal>
#include <fstream>
#include <iostream>

#include <unistd.h>

namespace {

//! When this rank dies: a step, or a word.
std::string fate;
std::string folder, name;

//! Tell loss.sh; complete at once, whoever looks.
void Tell(const std::string& event)
{
  const std::string part = folder + "/part." + name;
  std::ofstream(part) << getpid() << std::endl;
  std::rename(part.c_str(), (folder + "/" + event + "." + name).c_str());
}

void Die() { kill(getpid(), SIGKILL); }

void DieAt(const char* word)
{
  if (fate == word)
    Die();
}

//! Has this rank computed anything?
bool computed = false;

struct Marks
{
  size_t rank;
  std::chrono::microseconds pause;
  size_t finite;
  size_t calls = 0;

  size_t NumFunctions() const
  {
    DieAt("handshake");
    return 100;
  }

  void Shuffle() { }

  double EvaluateWithGradient(const arma::mat& model,
                              const size_t,
                              arma::mat& gradient,
                              const size_t)
  {
    computed = true;
    std::this_thread::sleep_for(pause);
    gradient.zeros(model.n_rows, model.n_cols);
    gradient.row(rank).fill((++calls > finite) ? arma::datum::nan : 1);
    return arma::accu(model.col(0));
  }

  double Evaluate(const arma::mat& model, const size_t, const size_t)
  { return arma::accu(model.col(0)); }

  void Gradient(const arma::mat& model,
                const size_t begin,
                arma::mat& gradient,
                const size_t size)
  { EvaluateWithGradient(model, begin, gradient, size); }
};

//! Dies at a step, as the system would have it.
struct Death
{
  size_t steps = 0;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, MatType&)
  {
    DieAt(std::to_string(++steps).c_str());
    if (fate == "stop" + std::to_string(steps))
      raise(SIGSTOP);
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  void EndOptimization(OptimizerType&, FunctionType&, MatType&)
  {
    Tell("end");
    DieAt("end");
  }
};

//! Train; once more if a rank has died before it began.
template<typename OptimizerType>
arma::mat Train(OptimizerType& optimizer,
                Marks& marks,
                const size_t ranks,
                const size_t copies = 1)
{
  Death death;
  for (size_t again = 0; ; ++again)
  {
    arma::mat model(ranks, copies, arma::fill::zeros);
    try
    {
      optimizer.Optimize(marks, model, death);
      return model;
    }
    catch (const dasgd::mpi::RankLost& e)
    {
      std::cerr << "rank " << marks.rank << " was told: " << e.what()
          << std::endl;
      if (again == ranks)
        throw;
    }
  }
}

//! What a command-line program does; see bindings/front_end.
int Program(const size_t points, Marks& marks, const size_t ranks)
{
  using namespace dasgd;
  cli::RankOutput output(cli::Rank());
  try
  {
    cli::OnAllRanks([]() { });
    DASGD<> optimizer(1, 1, points, -1);
    optimizer.StalenessDamping() = 0; // Sums are whole numbers.
    Train(optimizer, marks, ranks);
    cli::OnAllRanks([]()
    {
      if (cli::Writes())
        Tell("right");
    });
    return 0;
  }
  catch (const std::exception& e)
  {
    cli::ReportFailure(output.Text(e), output);
    return 1;
  }
}

} // namespace

// These come before MPI's own.
extern "C" int MPI_Isend(const void* data,
                         int count,
                         MPI_Datatype type,
                         int to,
                         int tag,
                         MPI_Comm comm,
                         MPI_Request* request)
{
  // Nothing but histories is sent in this way.
  DieAt("histories");
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

#if DASGD_ULFM
extern "C" int MPIX_Comm_iagree(MPI_Comm comm, int* bits, MPI_Request* request)
{
  if (computed)
    DieAt("agree");
  return PMPIX_Comm_iagree(comm, bits, request);
}

extern "C" int MPIX_Comm_agree(MPI_Comm comm, int* bits)
{
  if (computed)
    DieAt("agree");
  return PMPIX_Comm_agree(comm, bits);
}

extern "C" int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* made)
{
  if (computed)
    DieAt("shrink");
  return PMPIX_Comm_shrink(comm, made);
}
#endif

extern "C" int MPI_Finalize()
{
  DieAt("finalize");
  return PMPI_Finalize();
}

int main(int argc, char** argv)
{
  if (argc < 5)
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
  folder = argv[1];
  name = std::to_string(rank);
  const std::string kind = argv[3];
  const auto is = [&](const char* word)
  { return kind.find(word) != std::string::npos; };
  bool outside = false;
  std::vector<std::uint64_t> due;
  for (int i = 5; i < argc; ++i)
  {
    const std::string text = argv[i];
    const size_t colon = text.find(':');
    outside = outside || text == "outside";
    if (colon == std::string::npos)
      continue;
    due.push_back(std::stoull(text));
    if (due.back() == size_t(rank))
      fate = text.substr(colon + 1);
  }
  std::sort(due.begin(), due.end());
  Tell("pid");
  DieAt("start");

  Marks marks{ size_t(rank), std::chrono::microseconds(20 * (1 + rank)),
      is("nan") ? size_t(50) : size_t(-1) };
  const size_t points = std::strtoull(argv[4], nullptr, 10);
  if (is("program"))
    return Program(points, marks, size_t(ranks));
  if (is("baseline"))
  {
    dasgd::AllreduceSGD<> baseline(1, 1, points, -1);
    Train(baseline, marks, size_t(ranks));
    return 0;
  }

  // Step 1 along the sum over a batch of 1: whole numbers all along.
  dasgd::DASGD<> optimizer(1, 1, points, -1);
  optimizer.StalenessDamping() = 0; // Sums are whole numbers.
  optimizer.Topology() = argv[2];
  optimizer.RecordHistory() = is("history");
  if (is("dynamic"))
    optimizer.Sharing() = dasgd::Sharing::Dynamic;
  const arma::mat all = Train(optimizer, marks, size_t(ranks),
      is("large") ? 30000 : 1);
  const arma::mat model = all.col(0);

  const dasgd::Report report = optimizer.Report();
  std::string wrong;
  const double applied = -arma::accu(model);
  // If all that are left were in the middle of an update, they go on from a
  // model that has a part of the last ones.
  const arma::vec parts = arma::max(all, 1) - arma::min(all, 1);
  const double most = arma::accu(parts);
  if (most > double(report.lost.size()) * double(ranks))
    wrong += "more than the last updates is there in parts; ";
  if (std::abs(applied - double(report.Gradients())) > most)
  {
    wrong += "the model has " + std::to_string(applied) + " gradients, the "
        "report " + std::to_string(report.Gradients()) + "; ";
  }
  if (is("nan"))
  {
    if (report.reason != dasgd::StopReason::NonFinite)
      wrong += "it did not stop for what is not finite; ";
  }
  else if (is("static") ? report.Points() != optimizer.MaxIterations() :
      report.Points() < optimizer.MaxIterations())
    wrong += std::to_string(report.Points()) + " points were counted; ";
  for (const dasgd::RankReport& each : report.ranks)
  {
    // A history begins anew after a death.
    if (!is("history") && each.staleness.Measured() +
        each.staleness.Skipped() != report.Gradients())
      wrong += "staleness is not accounted for; ";
  }
  if (is("history") && !report.recorded)
    wrong += "there is no history; ";
  if (report.Deviation() != 0)
    wrong += "models differ; ";
  // When the work is divided anew, a rank may not get as far as the step at
  // which it dies.
  if (!outside && !std::includes(due.begin(), due.end(), report.lost.begin(),
      report.lost.end()))
    wrong += "other ranks were lost; ";

  // Train once more: those that are left can.
  DieAt("between");
  optimizer.MaxIterations() = 500;
  marks.finite = size_t(-1);
  const arma::mat again = Train(optimizer, marks, size_t(ranks));
  if (-arma::accu(again) != double(optimizer.Report().Gradients()))
    wrong += "the next training went wrong; ";
  // What all have is what each has.
  dasgd::MpiCommunicator left(MPI_COMM_WORLD);
  std::string differ;
  while (!left.Survive([&]()
  {
    differ.clear();
    for (const std::string& other : left.Gather(std::string(
        reinterpret_cast<const char*>(model.memptr()), 8 * model.n_elem)))
    {
      if (std::memcmp(other.data(), model.memptr(), other.size()) != 0)
        differ = "ranks returned different models; ";
    }
  }))
    left.Shrink();
  wrong += differ;
  if (!wrong.empty())
    std::cerr << "rank " << rank << ": " << wrong << std::endl;
  else
    std::ofstream(folder + "/right." + name) << report << std::endl;
  if (left.Rank() == 0)
  {
    std::cout << argv[2] << ", " << argv[3] << ": " << left.Size()
        << " of " << ranks << " ranks left, " << report.Gradients()
        << " gradients, " << report.gradientsLost << " dropped, model";
    for (const double count : model)
      std::cout << " " << -count;
    std::cout << (most > 0 ? ", a part of the last updates" : "")
        << (wrong.empty() ? ": right" : ": WRONG") << std::endl;
  }
  if (fate == "exit")
  {
    // As the exit handler of MPI comes to its turn.
    static struct Last { ~Last() { Die(); } } last;
  }
  return wrong.empty() ? 0 : 1;
}
