/**
 * @file failure.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "failure.hpp"
#include "job_channel.hpp"
#include "ranks.hpp"
#include "termination.hpp"

#include <terminal/terminal.hpp>

#include <dasgd/mpi/mpi_communicator.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

namespace {

const char* FatalPrefix()
{
  return Colours(STDERR_FILENO) ? "\033[0;31m[FATAL] \033[0m" : "[FATAL] ";
}

//! Print an error as mlpack does.
void PrintFatal(const std::string& text)
{ std::fputs((FatalPrefix() + (text + "\n")).c_str(), stderr); }

void PrintFatal(const size_t rank, const std::string& text)
{ PrintFatal("rank " + std::to_string(rank) + ": " + text); }

//! Some rank has died, so texts cannot be gathered: the first that is left
//! prints.
int ReportAfterDeath(const std::string& text, const size_t rank)
{
  size_t first = 0;
  while (first < rank && mpi::IsDead(MPI_COMM_WORLD, first))
    ++first;
  const bool all = mpi::MeetAtExit(true);
  if (rank == first || !all)
  {
    PrintFatal(rank, text);
    std::fflush(stderr);
  }
  if (!all)
    AbortJob();
  return 1;
}

//! How many bytes of a text are gathered.
constexpr size_t textLength = 4096;

/**
 * Gather the texts of all ranks, but wait for them some seconds only.
 *
 * @param all Each rank's text, `textLength` bytes each; holds that of this one.
 * @return Have all come?
 */
bool GatherTexts(const size_t rank, const size_t ranks, std::string& all)
{
  const std::string mine = all.substr(rank * textLength, textLength);
  MPI_Request request;
  int done = 0;
  // Not on MPI_COMM_WORLD: the other ranks may be in collective calls there.
  if (MPI_Iallgather(mine.data(), int(textLength), MPI_BYTE, &all[0],
      int(textLength), MPI_BYTE, mpi::ExitCommunicator(), &request) !=
      MPI_SUCCESS)
    return false;
  // Longer where many share few cores.
  const auto limit = std::chrono::steady_clock::now() +
      std::chrono::milliseconds(2000 + 50 * ranks);
  while (!done && std::chrono::steady_clock::now() < limit)
  {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return false; // One more has died.
  }
  return done != 0;
}

} // namespace

std::string CurrentErrorText(const std::exception& e)
{
  return RankOutput::Current() ? RankOutput::Current()->Text(e) : ErrorText(e);
}

void CheckAllRanks(const std::string& problem)
{
  if (Ranks() == 1)
  {
    if (!problem.empty())
      throw std::runtime_error(problem);
    return;
  }
  const MpiCommunicator comm(MPI_COMM_WORLD);
  const std::vector<std::string> all = comm.Gather(problem);
  for (size_t i = 0; i < all.size(); ++i)
  {
    if (all[i].empty())
      continue;
    // An error that all ranks have needs no rank's name.
    const bool everywhere = size_t(std::count(all.begin(), all.end(),
        all[i])) == all.size();
    throw std::runtime_error(everywhere ? all[i] : "rank " +
        std::to_string(i) + ": " + all[i]);
  }
}

void AbortJob()
{
  std::fflush(stderr);
  if (JobChannel::Get().Send(RankMessage::Failed, 1))
  {
    // Some MPIs print that MPI_Abort() was called, which adds nothing.
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
      dup2(nowhere, STDERR_FILENO);
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int ReportFailure(const std::string& text, const RankOutput& output)
{
  const size_t ranks = Ranks(), rank = Rank();
  if (ranks > 1 && mpi::Deaths(MPI_COMM_WORLD) > 0)
    return ReportAfterDeath(text, rank);
  // The first byte tells whether the program that started this rank hears it.
  const bool connected = JobChannel::Get().Connected();
  std::string mine = (connected ? "+" : "-") + text.substr(0, textLength - 2);
  mine.resize(textLength, '\0');
  std::string all(ranks * textLength, '\0');
  all.replace(rank * textLength, textLength, mine);
  if (ranks > 1 && !GatherTexts(rank, ranks, all))
  {
    if (rank != 0 || !output.Printed(text))
      PrintFatal(rank, text);
    AbortJob();
  }
  std::string printed;
  bool known = true;
  for (size_t i = 0; i < ranks; ++i)
  {
    known = known && all[i * textLength] == '+';
    const std::string theirs = all.c_str() + i * textLength + 1;
    // Ranks may quote each other's errors; each is printed once.
    if (rank == 0 && !output.Printed(theirs) &&
        printed.find(theirs) == std::string::npos)
    {
      if (i == 0)
        PrintFatal(theirs);
      else
        PrintFatal(i, theirs);
    }
    printed += theirs;
  }
  std::fflush(stderr);
  return JobChannel::Get().Send(RankMessage::Failed, 1) && known ? 0 : 1;
}

int ReportInterruption(const Interrupted& why)
{
  // srun ends the others when the first rank exits with a status that is not 0.
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);
  // Whoever has started the ranks knows what is done about it.
  if (JobChannel::Get().Send(RankMessage::Interrupted, why.Number()))
    return 0;
  if (Rank() == 0)
  {
    // How to resume is said once, but where it ended is known only now.
    const std::string text = why.what();
    std::fputs(((TerminationNotice::Told() ? text.substr(0, text.find(';')) :
        text) + "\n").c_str(), stderr);
    std::fflush(stderr);
  }
  return ToBeResumed;
}

int ReportOutOfMemory()
{
  // Without memory of its own.
  std::fputs(FatalPrefix(), stderr);
  std::fputs("out of memory; give fewer ranks or less data\n", stderr);
  if (Ranks() > 1)
    AbortJob();
  return 1;
}

} // namespace cli
} // namespace dasgd
