/**
 * @file program.cpp
 *
 * A training program that comes to grief in the way that its first argument
 * says; run.sh starts it by mpirun and looks at what is left.  It tells how far
 * it is by writing files into the folder that is its second argument.  MPI is
 * left to dasgd, as in most programs.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

std::string folder;

//! Tell run.sh; complete at once, whoever looks.
void Tell(const std::string& event, const std::string& text = "")
{
  const std::string name = folder + "/" + event;
  std::ofstream(name + ".part") << text << std::endl;
  std::rename((name + ".part").c_str(), name.c_str());
}

//! This rank, from the launcher: MPI may not be initialised yet.
size_t LaunchedAs()
{
  for (const char* name : { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK" })
  {
    if (const char* value = std::getenv(name))
      return size_t(std::atoi(value));
  }
  return 0;
}

//! f_i(x) = |x - 1|^2 / 2 for all i.
class Bowl
{
 public:
  Bowl(const size_t points) : points(points) { }

  size_t NumFunctions() const { return points; }
  void Shuffle() { }

  double Evaluate(const arma::mat& x, const size_t, const size_t batchSize)
  { return 0.5 * double(batchSize) * arma::accu(arma::square(x - 1)); }

  double EvaluateWithGradient(const arma::mat& x,
                              const size_t,
                              arma::mat& gradient,
                              const size_t batchSize)
  {
    if (++calls == throwAt)
      throw std::runtime_error("the function gives up");
    gradient = double(batchSize) * (x - 1);
    return 0.5 / double(batchSize) * arma::accu(arma::square(gradient));
  }

  //! The call that throws, if any.
  size_t throwAt = 0;

 private:
  size_t points;
  size_t calls = 0;
};

//! Calls something after each step of this rank, and at the end of each epoch.
struct Watch
{
  std::function<void(size_t)> step, epoch;
  size_t steps = 0;

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool StepTaken(OptimizerType&, FunctionType&, const MatType&)
  {
    ++steps;
    if (step)
      step(steps);
    return false;
  }

  template<typename OptimizerType, typename FunctionType, typename MatType>
  bool EndEpoch(OptimizerType&,
                FunctionType&,
                const MatType&,
                const size_t number,
                const double)
  {
    if (epoch)
      epoch(number);
    return false;
  }
};

//! Seconds of this process on a core.
double CpuSeconds()
{
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time)
  { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

//! Most memory that this process has used so far, in bytes.
double PeakBytes()
{
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
  {
    if (line.compare(0, 6, "VmHWM:") == 0)
      return 1024 * std::atof(line.c_str() + 6);
  }
  return 0;
}

//! Did all ranks say so?
bool All(const bool mine)
{
  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  bool all = true;
  for (const double other : comm.Gather(mine ? 1.0 : 0.0))
    all = all && other == 1;
  return all;
}

void Train(dasgd::DASGD<> optimizer, Bowl bowl, Watch watch = Watch())
{
  arma::mat iterate(100, 1, arma::fill::zeros);
  optimizer.Optimize(bowl, iterate, watch);
}

const dasgd::DASGD<> brief(1e-3, 1, 300, -1), endless(1e-3, 1, 0, -1);

/**
 * The last of the ranks stands still, from its tenth step on, until somebody
 * continues it.  Meanwhile the others do all the work, in bounded memory, and
 * then wait without burning a core.
 */
int StandStill()
{
  using Clock = std::chrono::steady_clock;
  const size_t elements = 50000, points = 1000, epochs = 10;
  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  const size_t rank = comm.Rank(), sleeper = comm.Size() - 1;

  Bowl bowl(points);
  arma::mat iterate(elements, 1, arma::fill::zeros);
  dasgd::DASGD<> optimizer(1e-4, 1, points * epochs, -1);
  optimizer.Sharing() = dasgd::Sharing::Dynamic;
  Watch watch;
  double cpu = 0;
  Clock::time_point begin;
  watch.step = [&](const size_t step)
  {
    if (rank != sleeper || step != 10)
      return;
    Tell("stopped", std::to_string(getpid()));
    std::raise(SIGSTOP);
  };
  watch.epoch = [&](const size_t epoch)
  {
    if (epoch != epochs)
      return;
    // All points that were asked for have been visited, as this rank knows.
    Tell("done." + std::to_string(rank));
    cpu = CpuSeconds();
    begin = Clock::now();
  };
  Tell("pid." + std::to_string(rank), std::to_string(getpid()));
  const double before = PeakBytes();
  optimizer.Optimize(bowl, iterate, watch);
  const double waited = std::chrono::duration<double>(Clock::now() -
      begin).count();
  const double burnt = CpuSeconds() - cpu;
  const double grown = PeakBytes() - before;

  bool good = true;
  const auto check = [&](const bool holds, const std::string& what)
  {
    good = good && holds;
    if (!holds)
      std::cerr << "rank " << rank << ": " << what << std::endl;
  };
  const dasgd::Report& report = optimizer.Report();
  for (const dasgd::RankReport& each : report.ranks)
  {
    check(each.peakVectors <= each.vectorBound, "more vectors than the bound");
    check(each.applied == report.Gradients(), "gradients are missing");
  }
  arma::mat root = iterate;
  comm.Broadcast(root.memptr(), elements * sizeof(double));
  check(std::memcmp(root.memptr(), iterate.memptr(), elements *
      sizeof(double)) == 0, "the model differs from rank 0's");
  check(iterate.is_finite(), "the model is not finite");
  if (rank != sleeper)
  {
    check(report.Points() - report.ranks[sleeper].points + 10 >=
        points * epochs, "not all the work was done by the others");
#if !defined(__SANITIZE_ADDRESS__)
    // Vectors up to the bound, gradient, update and the gradients of a function
    // that makes copies; and for MPI's own buffers and the manifests 64 MB.  If
    // every update that the sleeper has not taken were kept, it would be 4 GB.
    const double bound = double(report.ranks[rank].vectorBound + 6) *
        double(elements * sizeof(double)) + 64e6;
    check(grown <= bound, "memory grew by " + std::to_string(grown) +
        " bytes, beyond " + std::to_string(bound));
#endif
    // Looking for frames every half millisecond takes a few percent of a core.
    if (waited > 5)
    {
      check(burnt < 0.4 * waited, "used a core for " + std::to_string(burnt) +
          " of " + std::to_string(waited) + " s of waiting");
    }
  }
  if (rank == 0)
  {
    std::cout << report << "rank 0 waited " << waited << " s (on a core for "
        << burnt << " s); memory grew by " << grown / 1e6 << " MB"
        << std::endl;
  }
  return All(good) ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace

int main(int argc, char** argv)
{
  if (argc < 3)
  {
    std::cerr << "usage: " << argv[0] << " <way> <folder>" << std::endl;
    return EXIT_FAILURE;
  }
  const std::string way = argv[1];
  folder = argv[2];
  const size_t rank = LaunchedAs();
  Tell("pid." + std::to_string(rank), std::to_string(getpid()));

  Bowl bowl(60);
  Watch watch;
  if (way == "exception" || way == "caught")
  {
    // Nobody catches it, or main() does.
    bowl.throwAt = (rank == 1) ? 20 : 0;
    if (way == "exception")
      Train(endless, bowl);
    try
    {
      Train(endless, bowl);
    }
    catch (const std::exception& e)
    {
      // Into a file: what ranks print may come in pieces.
      Tell("caught." + std::to_string(rank), e.what());
      return EXIT_FAILURE;
    }
  }
  else if (way == "exit" || way == "early-exit")
  {
    // With MPI in use, or before.
    if (way == "exit")
      dasgd::RootStream() << "about to train" << std::endl;
    if (rank == 1)
      std::exit(3);
    Train(endless, bowl);
  }
  else if (way == "exit-within" || way == "exit-within-all")
  {
    // In the middle of a training, and as if all were well.
    watch.step = [&](const size_t step)
    {
      if (step == 20 && (rank == 1 || way == "exit-within-all"))
        std::exit(0);
    };
    Train(endless, bowl, watch);
  }
  else if (way == "finalize-within")
  {
    // One rank has done with MPI, as it thinks.
    watch.step = [&](const size_t step)
    {
      if (step == 20 && rank == 1)
        MPI_Finalize();
    };
    Train(endless, bowl, watch);
  }
  else if (way == "fork")
  {
    // A child ends by exit(), in the middle of its parent's training.
    watch.step = [&](const size_t step)
    {
      if (step != 20)
        return;
      const pid_t child = fork();
      if (child == 0)
      {
        Tell("pid.child." + std::to_string(rank), std::to_string(getpid()));
        std::exit(7);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 7)
        Tell("child." + std::to_string(rank));
    };
    Train(brief, bowl, watch);
    return EXIT_SUCCESS;
  }
  else if (way == "late-exit")
  {
    // Between two runs: the others are in the second one.
    Train(brief, bowl);
    if (rank == 1)
      std::exit(3);
    Train(endless, bowl);
  }
  else if (way == "late-exception")
  {
    Train(brief, bowl);
    if (rank == 1)
      throw std::runtime_error("of the program's own");
    Train(endless, bowl);
  }
  else if (way == "success")
  {
    Train(brief, bowl);
    return EXIT_SUCCESS;
  }
  else if (way == "endless")
  {
    watch.step = [rank](const size_t step)
    {
      if (step == 100)
        Tell("running." + std::to_string(rank));
    };
    Train(endless, bowl, watch);
  }
  else if (way == "standstill")
  {
    return StandStill();
  }
  return EXIT_FAILURE;
}
