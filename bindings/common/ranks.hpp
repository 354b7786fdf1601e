/**
 * @file ranks.hpp
 *
 * One command, several processes: who speaks, who fails, and how they start.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_RANKS_HPP
#define DASGD_BINDINGS_COMMON_RANKS_HPP

#include "supervise.hpp"

#include <dasgd/transport/mpi_communicator.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>
#include <sstream>
#include <thread>

#include <sys/ioctl.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

//! How many ranks there are, without starting MPI where nobody asked for it.
inline size_t Ranks()
{
  if (!Launched())
    return 1;
  mpi::Initialize();
  int size = 1;
  mpi::Check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return size_t(size);
}

//! Which of them this is.
inline size_t Rank()
{
  if (!Launched())
    return 0;
  mpi::Initialize();
  int rank = 0;
  mpi::Check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return size_t(rank);
}

/**
 * What an exception means to a user of the program.
 *
 * @param what Its text.
 * @param memory Was there not enough memory?
 */
inline std::string InWords(const std::string& what, const bool memory)
{
  const std::string words = "out of memory; give fewer ranks or less data";
  // Also in the texts that others have made of such an exception.
  for (const std::string name : { "std::bad_alloc", "std::bad_array_new_length",
      "cannot create std::vector larger than max_size()",
      "vector::_M_default_append", "basic_string::_M_create" })
  {
    const size_t at = what.find(name);
    if (at != std::string::npos && at > 0)
      return what.substr(0, at) + words + what.substr(at + name.size());
    if (at == 0)
      return words;
  }
  // Armadillo's way to say so.
  return memory || what.find("requested size is too large") !=
      std::string::npos ? words : what;
}

inline std::string InWords(const std::exception& e)
{
  return InWords(e.what(), dynamic_cast<const std::bad_alloc*>(&e) ||
      dynamic_cast<const std::length_error*>(&e));
}

/**
 * Only rank 0 speaks: what others write to std::cout is dropped, and what they
 * write to std::cerr is kept for the case that they fail.  On rank 0, too, it is
 * remembered what was said, so that nothing is said twice.
 */
class Voice
{
 public:
  explicit Voice(const size_t rank) :
      out(rank == 0 ? nullptr : std::cout.rdbuf()),
      error(std::cerr.rdbuf()),
      memory(rank == 0 ? error : nullptr)
  {
    if (out)
      std::cout.rdbuf(nullptr);
    std::cerr.rdbuf(&memory);
    Current() = this;
  }

  ~Voice()
  {
    Current() = nullptr;
    if (out)
      std::cout.rdbuf(out);
    std::cerr.rdbuf(error);
  }

  Voice(const Voice&) = delete;
  Voice& operator=(const Voice&) = delete;

  /**
   * What an exception means.  mlpack's Log::Fatal prints its text before it
   * throws, so that is where to look for it.
   */
  std::string Text(const std::exception& e) const
  {
    const std::string mark = "[FATAL] ", colour = "\033[0m";
    const size_t at = memory.kept.rfind(mark);
    if (std::strncmp(e.what(), "fatal error", 11) != 0 ||
        at == std::string::npos)
      return InWords(e);
    std::string text = memory.kept.substr(at + mark.size());
    if (text.compare(0, colour.size(), colour) == 0)
      text.erase(0, colour.size());
    while (!text.empty() && text.back() == '\n')
      text.pop_back();
    return text;
  }

  //! There is not even memory for a text.
  static constexpr const char* NoMemory()
  {
    return "\033[0;31m[FATAL] \033[0mout of memory; give fewer ranks or less "
        "data\n";
  }

  //! The one there is, or null: std::cerr is one for the whole process, too.
  static Voice*& Current()
  {
    static Voice* current = nullptr;
    return current;
  }

  //! Has rank 0 printed this?
  bool Said(const std::string& text) const
  {
    // Others call it by its name; it does not do so itself.
    const std::string name = "rank 0: ";
    const bool named = text.compare(0, name.size(), name) == 0;
    return memory.kept.find(named ? text.substr(name.size()) : text) !=
        std::string::npos;
  }

 private:
  //! Passes on what is written, if to anybody, and keeps the end of it.
  struct Memory : std::streambuf
  {
    explicit Memory(std::streambuf* target) : target(target) { }

    int overflow(const int c) override
    {
      const char letter = char(c);
      return xsputn(&letter, 1) == 1 ? c : traits_type::eof();
    }

    std::streamsize xsputn(const char* text, const std::streamsize length)
        override
    {
      // mlpack ends what is fatal by a line break of its own as well.
      if (length == 1 && *text == '\n' && !kept.empty() &&
          kept.back() == '\n' && kept.find("[FATAL]", kept.rfind('\n',
          kept.size() - 2) + 1) != std::string::npos)
        return length;
      kept.append(text, size_t(length));
      if (kept.size() > 2 * limit)
        kept.erase(0, kept.size() - limit);
      if (target && ProgressShown())
      {
        // Nothing else is written to the end of a line of progress.
        ProgressShown() = 0;
        JobChannel::Get().Tell(RankWord::Line, 0);
        target->sputc('\n');
      }
      return target ? target->sputn(text, length) : length;
    }

    int sync() override { return target ? target->pubsync() : 0; }

    static constexpr size_t limit = 8192;
    std::streambuf* target;
    std::string kept;
  };

  std::streambuf* out;
  std::streambuf* error;
  Memory memory;
};

//! What to say if rank 0, which reads and writes the files, has died.
inline std::string RootLost()
{
  return "rank 0 of " + std::to_string(Ranks()) + " died, which writes the "
      "files; the results are lost; run the program again, with "
      "'--checkpoint_file' to be able to resume";
}

/**
 * All ranks meet here; if any has a problem, all throw, with the text of the
 * lowest such rank.  To be called wherever something may be wrong on one rank
 * only, before the others go where they would wait for it.
 *
 * @param problem What is wrong on this rank; empty if nothing is.
 */
inline void Agree(const std::string& problem)
{
  if (Ranks() == 1)
  {
    if (!problem.empty())
      throw std::runtime_error(problem);
    return;
  }
  const MpiCommunicator comm(MPI_COMM_WORLD);
  // Where the MPI lets the others go on.
  const std::vector<size_t> lost = comm.Lost();
  if (!lost.empty() && lost.front() == 0)
    throw std::runtime_error(RootLost());
  const std::vector<std::string> all = comm.Gather(problem);
  for (size_t i = 0; i < all.size(); ++i)
  {
    if (all[i].empty())
      continue;
    // What is the same everywhere needs no name.
    const bool everywhere = size_t(std::count(all.begin(), all.end(),
        all[i])) == all.size();
    throw std::runtime_error(everywhere ? all[i] : "rank " +
        std::to_string(i) + ": " + all[i]);
  }
}

//! Do something that may fail on one rank only; if so, it fails on all.
template<typename ActionType>
void Together(ActionType&& action)
{
  std::string problem;
  try
  {
    action();
  }
  catch (const std::exception& e)
  {
    problem = Voice::Current() ? Voice::Current()->Text(e) : InWords(e);
  }
  Agree(problem);
}

//! A mistake as mlpack prints it.
inline std::string FatalLine(const std::string& text)
{ return "\033[0;31m[FATAL] \033[0m" + text + "\n"; }

//! End the job from here, after what is wrong has been told.
inline void AbortJob()
{
  std::fflush(stderr);
  if (JobChannel::Get().Tell(RankWord::Failed, 1))
  {
    // Some MPIs print that they do as they are told.
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
      dup2(nowhere, STDERR_FILENO);
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/**
 * This process fails.  If the others do as well, within some seconds, rank 0
 * prints each text once and all may end; this is the case for everything that
 * is wrong with the arguments.  Otherwise this rank prints its own text and
 * takes the job down, since others may wait for it.
 *
 * @return The status to exit with: 0 if whoever has started the ranks knows
 *     that all of them have failed, so that mpirun has nothing to add.
 */
inline int FailTogether(const std::string& text, const Voice& voice)
{
  const size_t ranks = Ranks(), rank = Rank();
  if (ranks > 1 && mpi::Deaths(MPI_COMM_WORLD) > 0)
  {
    // Texts cannot be gathered any more: the first that is left speaks.
    size_t first = 0;
    while (first < rank && mpi::IsDead(MPI_COMM_WORLD, first))
      ++first;
    const bool all = mpi::MeetAtExit(true);
    if (rank == first || !all)
    {
      std::fputs(FatalLine("rank " + std::to_string(rank) + ": " +
          text).c_str(), stderr);
      std::fflush(stderr);
    }
    if (!all)
      AbortJob();
    return 1;
  }
  // The first byte tells whether this rank can tell who has started it.
  constexpr size_t length = 4096;
  const bool joined = JobChannel::Get().Joined();
  std::string mine = (joined ? "+" : "-") + text.substr(0, length - 2),
      all(ranks * length, '\0');
  mine.resize(length, '\0');
  all.replace(rank * length, length, mine);
  if (ranks > 1)
  {
    MPI_Request request;
    int done = 0;
    // Not on MPI_COMM_WORLD, on which the others may be about to meet.
    if (MPI_Iallgather(mine.data(), int(length), MPI_BYTE, &all[0],
        int(length), MPI_BYTE, mpi::ExitCommunicator(), &request) ==
        MPI_SUCCESS)
    {
      // Longer where many share few cores.
      const auto limit = std::chrono::steady_clock::now() +
          std::chrono::milliseconds(2000 + 50 * ranks);
      while (!done && std::chrono::steady_clock::now() < limit)
      {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        {
          done = 0; // One more has died.
          break;
        }
      }
    }
    if (!done)
    {
      if (rank != 0 || !voice.Said(text))
      {
        std::fputs(FatalLine("rank " + std::to_string(rank) + ": " +
            text).c_str(), stderr);
      }
      AbortJob();
    }
  }
  // A text that says of another rank what that rank says itself adds nothing.
  std::string printed;
  bool known = true;
  for (size_t i = 0; i < ranks; ++i)
  {
    known = known && all[i * length] == '+';
    const std::string theirs = all.c_str() + i * length + 1;
    if (rank == 0 && !voice.Said(theirs) &&
        printed.find(theirs) == std::string::npos)
    {
      std::fputs(FatalLine((i == 0) ? theirs : "rank " + std::to_string(i) +
          ": " + theirs).c_str(), stderr);
    }
    printed += theirs;
  }
  std::fflush(stderr);
  return JobChannel::Get().Tell(RankWord::Failed, 1) && known ? 0 : 1;
}

//! What could not be written though the training has gone well: it is told at
//! the end, when all else has been written.
inline std::vector<std::string>& NotWritten()
{
  static std::vector<std::string> texts;
  return texts;
}

//! Is there a front end that does so?
inline bool& ToldAtEnd()
{
  static bool told = false;
  return told;
}

//! The output of an option, as messages name it.
inline std::string OutputText(const std::string& path,
                              const std::string& option)
{ return "The output '" + path + "', given with " + option; }

//! Does somebody watch what this process prints?
inline bool OnTerminal()
{
  if (isatty(STDERR_FILENO) || std::getenv("DASGD_TERMINAL"))
    return true;
  // Under mpirun standard error is a pipe to mpirun; look where that writes.
  const std::string theirs = "/proc/" + std::to_string(getppid()) + "/fd/2";
  char target[256];
  const ssize_t length = readlink(theirs.c_str(), target, sizeof(target));
  const std::string name(target, length > 0 ? size_t(length) : 0);
  return Launched() && (name.rfind("/dev/pts/", 0) == 0 ||
      name.rfind("/dev/tty", 0) == 0);
}

//! How many columns the terminal has that this process prints to; 80 if nobody
//! knows.
inline size_t TerminalColumns()
{
  winsize size = { };
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  // Under mpirun standard error is a pipe to mpirun; look where that writes.
  const std::string theirs = "/proc/" + std::to_string(getppid()) + "/fd/2";
  const int terminal = Launched() ? open(theirs.c_str(), O_WRONLY | O_NOCTTY |
      O_NONBLOCK | O_CLOEXEC) : -1;
  if (terminal >= 0)
  {
    ioctl(terminal, TIOCGWINSZ, &size);
    close(terminal);
  }
  const char* given = std::getenv("COLUMNS");
  const int columns = given ? std::atoi(given) : 0;
  return size.ws_col > 0 ? size.ws_col : columns > 0 ? size_t(columns) : 80;
}

//! Where this very program is; empty if the system does not tell.
inline std::string SelfPath()
{
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  return (length <= 0 || size_t(length) == sizeof(self)) ? "" :
      std::string(self, size_t(length));
}

/**
 * Set the environment up for mpirun, which inherits it, and find mpirun.
 *
 * @param ranks How many are to be started.
 * @return The name of mpirun.
 */
inline std::string PrepareMpirun(const size_t ranks)
{
  // Unless set otherwise: root may start it, as it was root who asked for it;
  // and ranks that share cores neither insist on slots nor keep a core busy.
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  setenv("PRTE_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  if (ranks > cores)
  {
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);
  }
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 0);

  const char* chosen = std::getenv("DASGD_MPIRUN");
#if defined(DASGD_MPIEXEC)
  const std::string fixed = DASGD_MPIEXEC;
#else
  const std::string fixed = "mpirun";
#endif
  const std::string mpirun = chosen ? chosen : fixed;
  if (!chosen && mpirun.find('/') != std::string::npos &&
      access(mpirun.c_str(), X_OK) != 0)
    return "mpirun"; // Built on another machine.
  return mpirun;
}

//! Why mpirun did not start, and what to do.
inline std::string MpirunProblem(const std::string& mpirun,
                                 const std::string& reason)
{
  return "'" + mpirun + "' cannot be started (" + reason + "); install "
      "openmpi-bin, or set DASGD_MPIRUN to the mpirun of the MPI that this "
      "program was built with";
}

/**
 * Start mpirun with this very command under it, and exit as it does.  Returns
 * only if that cannot be done, with the reason.
 *
 * @param ranks How many to start.
 * @param checkpoint Where the training keeps its checkpoints, if it does.
 * @param restarts How often to start it again if a rank dies.
 */
inline std::string Launch(const size_t ranks,
                          const std::string& checkpoint,
                          const size_t restarts)
{
  // The command line as the system has it: bindings are not told of it.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string words{ std::istreambuf_iterator<char>(file),
      std::istreambuf_iterator<char>() };
  const std::string self = SelfPath();
  if (words.empty() || self.empty())
    return "cannot read /proc/self/cmdline, which '--ranks' needs; use mpirun";

  const std::string mpirun = PrepareMpirun(ranks);
  if (isatty(STDERR_FILENO))
  {
    // For ranks that cannot be given the terminal itself.
    setenv("DASGD_TERMINAL", "1", 1);
    setenv("COLUMNS", std::to_string(TerminalColumns()).c_str(), 1);
  }

  std::vector<std::string> command = { mpirun, "-n", std::to_string(ranks),
      self };
  size_t begin = words.find('\0') + 1;
  while (begin < words.size())
  {
    const size_t end = words.find('\0', begin);
    command.push_back(words.substr(begin, end - begin));
    if (end == std::string::npos)
      break;
    begin = end + 1;
  }
  std::cout << std::flush;
  const int status = Supervise(command, ranks, checkpoint, restarts);
  if (status >= 0)
    _exit(status);
  return MpirunProblem(mpirun, std::strerror(errno));
}

//! How many ranks may be started on this machine: more than anybody has a use
//! for, and fewer than bring it down.
inline size_t MostRanks()
{
  return std::max<size_t>(64, 16 * std::max(1u,
      std::thread::hardware_concurrency()));
}

/**
 * Check the parameter "ranks".  Bindings without it, or with a list of numbers
 * for it, pass.
 *
 * @return How many are asked for; 1 if the parameter was not given.
 */
template<typename ParamsType>
size_t CheckRanks(ParamsType& params)
{
  const auto& known = params.Parameters();
  const auto found = known.find("ranks");
  if (found == known.end() || !params.Has("ranks") ||
      found->second.cppType != "int")
    return 1;
  const int ranks = params.template Get<int>("ranks");
  const std::string invalid = "Invalid value of '--ranks' specified (" +
      std::to_string(ranks) + "): ";
  if (ranks < 1 || ranks > 65536)
    throw std::invalid_argument(invalid + "must be 1 to 65536!");
  if (Launched() && size_t(ranks) != Ranks())
  {
    throw std::invalid_argument(invalid + "mpirun has started " +
        std::to_string(Ranks()) + " ranks; leave '--ranks' out under mpirun!");
  }
  if (!Launched() && size_t(ranks) > MostRanks())
  {
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    throw std::invalid_argument(invalid + "this machine has " +
        std::to_string(cores) + (cores == 1 ? " core" : " cores") +
        "; start at most " + std::to_string(MostRanks()) + " here, or use "
        "mpirun with several machines!");
  }
  return size_t(ranks);
}

/**
 * If the parameter "ranks" asks for it and nobody has done so, start the ranks:
 * this process does not return then.
 */
template<typename ParamsType>
void StartRanks(ParamsType& params)
{
  const size_t ranks = CheckRanks(params);
  if (ranks == 1 || Launched())
    return;
  const auto& known = params.Parameters();
  const auto has = [&](const char* name)
  { return known.find(name) != known.end() && params.Has(name); };
  throw std::runtime_error(Launch(ranks, has("checkpoint_file") ?
      params.template Get<std::string>("checkpoint_file") : "",
      has("restarts") ? size_t(params.template Get<int>("restarts")) : 0));
}

} // namespace cli
} // namespace dasgd

#endif
