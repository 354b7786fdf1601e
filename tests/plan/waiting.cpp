/**
 * @file waiting.cpp
 *
 * DASGD with gradients that only wait, so that a few cores can carry many
 * ranks: what plans are compared with.  Started by mpirun; prints one line of
 * JSON.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

double Seconds(const Clock::duration time)
{ return std::chrono::duration<double>(time).count(); }

//! A function whose gradient is there after a while, and is 0.
class Waiting
{
 public:
  Waiting(const size_t points, const double seconds, const double spread,
          const size_t seed) :
      points(points), random(seed), seconds(seconds * (1 - spread),
      seconds * (1 + spread)) { }

  size_t NumFunctions() const { return points; }
  void Shuffle() { }
  double Evaluate(const arma::mat&, const size_t, const size_t) { return 0; }
  void Gradient(const arma::mat&, const size_t, arma::mat& gradient,
                const size_t)
  {
    const Clock::time_point begin = Clock::now();
    gradient.zeros();
    std::this_thread::sleep_until(begin + std::chrono::duration_cast<
        Clock::duration>(std::chrono::duration<double>(seconds(random))));
    spent += Seconds(Clock::now() - begin);
    if (count++ == 0)
      first = begin;
    last = Clock::now();
  }

  //! Gradients in a second, from the first to the last; and what one took.
  double Rate() const { return double(count) / Seconds(last - first); }
  double Took() const { return spent / double(count); }

 private:
  size_t points;
  std::mt19937 random;
  std::uniform_real_distribution<double> seconds;
  size_t count = 0;
  double spent = 0;
  Clock::time_point first, last;
};

} // namespace

int main(int argc, char** argv)
{
  size_t elements = 10000, gradients = 100;
  double seconds = 0.05, spread = 0.1;
  std::string topology = "auto", overlap = "auto";
  CLI::App app("DASGD with gradients that only wait.");
  app.add_option("--elements", elements, "of the model");
  app.add_option("--gradients", gradients, "of each rank");
  app.add_option("--seconds", seconds, "that each takes");
  app.add_option("--spread", spread, "give or take this part of it, by chance");
  app.add_option("--topology", topology);
  app.add_option("--overlap", overlap, "auto, always or never");
  CLI11_PARSE(app, argc, argv);

  dasgd::mpi::Initialize();
  const dasgd::MpiCommunicator comm(MPI_COMM_WORLD);
  Waiting function(gradients * comm.Size(), seconds, spread, comm.Rank());
  dasgd::DASGD<> optimizer(0.01, 1, gradients * comm.Size(), 0);
  // These hosts are one machine, which must not matter.
  optimizer.SharedMemory() = false;
  optimizer.Topology() = topology;
  optimizer.Overlap() = (overlap == "auto") ? dasgd::Overlap::Auto :
      (overlap == "always") ? dasgd::Overlap::Always : dasgd::Overlap::Never;
  arma::mat iterate(elements, 1);
  optimizer.Optimize(function, iterate);

  double rate = 0;
  for (const double one : comm.Gather(function.Rate()))
    rate += one;
  double took = 0;
  for (const double one : comm.Gather(function.Took()))
    took += one / double(comm.Size());
  if (comm.Rank() == 0)
  {
    const dasgd::Report& report = optimizer.Report();
    std::uint64_t bytes = 0;
    for (const dasgd::RankReport& rank : report.ranks)
      bytes += rank.bytesSent;
    std::printf("{\"ranks\": %zu, \"gradients_per_second\": %.6g, "
        "\"gradient_seconds\": %.6g, \"staleness\": %.6g, "
        "\"bytes_per_second\": %.6g, \"topology\": \"%s\", \"overlap\": %s}\n",
        comm.Size(), rate, took, report.StalenessAverage(),
        double(bytes) / report.seconds / double(comm.Size()),
        report.topology.c_str(), report.overlap.used ? "true" : "false");
  }
  return 0;
}
