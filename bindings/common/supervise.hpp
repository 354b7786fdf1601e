/**
 * @file supervise.hpp
 *
 * A job that is watched: what became of it is said in one line, and it is
 * started again from its checkpoint if so asked.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_SUPERVISE_HPP
#define DASGD_BINDINGS_COMMON_SUPERVISE_HPP

#include "job_channel.hpp"

#include <dasgd/core/whole_file.hpp>
#include <dasgd/transport/mpi_environment.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

//! What stands for the content of a file: another one has another.
inline std::string Mark(const std::string& path)
{
  struct stat status;
  return (stat(path.c_str(), &status) != 0) ? "" :
      std::to_string(status.st_ino) + " " + std::to_string(
      status.st_mtim.tv_sec) + " " + std::to_string(status.st_mtim.tv_nsec);
}

//! How old a file is, in words.
inline std::string Age(const std::string& path)
{
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return "";
  const double seconds = std::max(0.0, std::difftime(std::time(nullptr),
      status.st_mtime));
  return std::to_string(size_t(seconds)) + " s old";
}

//! A signal that has come.
struct SignalNote
{
  int number;
  //! From the terminal: then mpirun, in the same group, has got it as well.
  bool terminal;
};

//! Where a handler writes the signals that come; -1 if nowhere.
inline volatile sig_atomic_t& SignalPipe()
{
  static volatile sig_atomic_t pipe = -1;
  return pipe;
}

//! Let signals come through a pipe, whose other end is returned; -1 if this
//! cannot be done.
inline int ReceiveSignals()
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return -1;
  SignalPipe() = ends[1];
  struct sigaction note = { };
  note.sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP;
  note.sa_sigaction = [](const int number, siginfo_t* info, void*)
  {
    const int before = errno;
    const SignalNote come = { number, info->si_code == SI_KERNEL };
    // A pipe that is full holds enough of them.
    if (write(int(SignalPipe()), &come, sizeof(come)) < 0)
      errno = before;
  };
  for (const int number : { SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2,
      SIGCHLD })
  {
    // What nohup and the like ignore stays ignored.
    struct sigaction before;
    if (number == SIGCHLD || (sigaction(number, nullptr, &before) == 0 &&
        before.sa_handler != SIG_IGN))
      sigaction(number, &note, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
  return ends[0];
}

//! "9, Killed".
inline std::string SignalText(const int number)
{ return std::to_string(number) + ", " + strsignal(number); }

//! How a job ended.
struct JobEnd
{
  //! As of a shell: 128 and more for a signal.
  int status = 0;
  //! The signal that has ended this program, or 0.
  int ended = 0;
  //! Did a rank die, which one, and of what?
  bool died = false;
  std::string rank;
  std::string cause;
  //! Is the cursor at the end of a line of progress?
  bool line = false;
};

/**
 * A command that starts ranks, from its begin to its end.  The ranks connect
 * to this program and tell how they end; so it need not understand what mpirun
 * prints, and drops it where it is about an end that is known already.
 */
class Job
{
 public:
  /**
   * @param command The command; the first word is the program.
   * @param ranks How many ranks it starts.
   * @param signals See ReceiveSignals().
   */
  Job(std::vector<std::string>& command,
      const size_t ranks,
      const int signals) :
      command(command), ranks(ranks), signals(signals) { }

  ~Job()
  {
    for (const int file : { server, texts[0], texts[1] })
    {
      if (file >= 0)
        close(file);
    }
    for (const Member& member : members)
    {
      if (member.connection >= 0)
        close(member.connection);
    }
  }

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /**
   * Run it to its end.
   *
   * @return False if it could not be started, with errno set.
   */
  bool Run(JobEnd& end)
  {
    Listen();
    const int reason = Start();
    if (reason != 0)
    {
      errno = reason;
      return false;
    }
    while (!over)
    {
      Wait(1000);
      TakeSignals();
      // A rank says how it ends before mpirun can know: so it is heard first.
      Hear();
      PassOn();
      Enforce();
      over = over || waitpid(child, &status, WNOHANG) == child;
    }
    Gather();
    Judge(end);
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  //! A rank that has connected.
  struct Member
  {
    int connection;
    pid_t process;
    int rank = -1;
    bool failed = false;
    bool ended = false;
    //! The signal that it died of, if it had the time to tell, and when.
    int number = 0;
    std::int64_t when = 0;
    //! The how manieth it was to end without a word; 0: it did not.
    size_t silent = 0;
  };

  //! Open the socket that ranks connect to.  Without it they write through
  //! mpirun, and all that mpirun prints is shown.
  void Listen()
  {
    unsetenv(ChannelVariable());
    server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address = { };
    address.sun_family = AF_UNIX;
    socklen_t length = sizeof(address);
    // The system chooses a name that nobody has.
    if (server < 0 || bind(server, reinterpret_cast<sockaddr*>(&address),
        sizeof(sa_family_t)) != 0 || getsockname(server,
        reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
        listen(server, 1024) != 0)
      return;
    const size_t before = offsetof(sockaddr_un, sun_path) + 1;
    if (length > before)
    {
      setenv(ChannelVariable(), std::string(address.sun_path + 1,
          length - before).c_str(), 1);
    }
  }

  //! Start the command: why it cannot be done, as in errno, or 0.
  int Start()
  {
    int started[2], outs[2], errors[2];
    if (pipe2(started, O_CLOEXEC) != 0 || pipe2(outs, O_CLOEXEC) != 0 ||
        pipe2(errors, O_CLOEXEC) != 0)
      return errno;
    // A signal in between must reach the right one of the two.
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    child = fork();
    if (child == 0)
    {
      for (const int number : { SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGUSR1,
          SIGUSR2, SIGCHLD })
      {
        struct sigaction action;
        if (sigaction(number, nullptr, &action) == 0 &&
            action.sa_handler != SIG_IGN)
          std::signal(number, SIG_DFL);
      }
      std::signal(SIGPIPE, SIG_DFL);
      sigprocmask(SIG_SETMASK, &before, nullptr);
      // Whatever happens to this program, its job does not outlive it.
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      dup2(outs[1], STDOUT_FILENO);
      dup2(errors[1], STDERR_FILENO);
      std::vector<char*> argv;
      for (std::string& word : command)
        argv.push_back(&word[0]);
      argv.push_back(nullptr);
      execvp(argv[0], argv.data());
      const int reason = errno;
      _exit(write(started[1], &reason, sizeof(reason)) < 0 ? 126 : 127);
    }
    int reason = (child < 0) ? errno : 0;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    for (const int file : { started[1], outs[1], errors[1] })
      close(file);
    texts[0] = outs[0];
    texts[1] = errors[0];
    for (const int file : texts)
      fcntl(file, F_SETFL, O_NONBLOCK);
    while (child > 0 && read(started[0], &reason, sizeof(reason)) < 0 &&
        errno == EINTR) { }
    close(started[0]);
    if (child > 0 && reason != 0)
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) { }
    return reason;
  }

  //! Wait until something happens.
  void Wait(const int milliseconds)
  {
    std::vector<pollfd> look;
    for (const int file : { signals, texts[0], texts[1], server })
    {
      if (file >= 0)
        look.push_back({ file, POLLIN, 0 });
    }
    for (const Member& member : members)
    {
      if (member.connection >= 0)
        look.push_back({ member.connection, POLLIN, 0 });
    }
    poll(look.data(), nfds_t(look.size()), milliseconds);
  }

  //! See to the signals that have come.
  void TakeSignals()
  {
    SignalNote note;
    while (signals >= 0 && read(signals, &note, sizeof(note)) ==
        ssize_t(sizeof(note)))
    {
      if (note.number == SIGCHLD)
        continue; // It has woken us up.
      if (note.number == SIGTSTP)
      {
        Pause();
        continue;
      }
      if (note.number != SIGUSR1 && note.number != SIGUSR2)
      {
        if (ended == 0)
          deadline = Clock::now() + std::chrono::seconds(20);
        ended = note.number;
        trouble = true;
      }
      // mpirun takes a second one for a reason to leave at once, without its
      // ranks.
      if (!note.terminal)
        kill(child, note.number);
    }
  }

  //! Send a signal to mpirun and to all ranks that are connected.
  void SignalAll(const int number)
  {
    for (const Member& member : members)
    {
      if (member.connection >= 0)
        kill(member.process, number);
    }
    if (!over)
      kill(child, number);
  }

  //! Stop the whole job, and go on with it when this program is continued.
  void Pause()
  {
    Hear();
    SignalAll(SIGSTOP);
    if (line && write(STDERR_FILENO, "\n", 1) < 0)
      line = false; // The terminal is gone.
    kill(getpid(), SIGSTOP);
    SignalAll(SIGCONT);
  }

  //! Let ranks in, and listen to what they say.
  void Hear()
  {
    for (int made; server >= 0 && (made = accept4(server, nullptr, nullptr,
        SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0; )
    {
      const pid_t process = ChannelPeer(made);
      if (process <= 0 || !GiveStreams(made))
      {
        close(made);
        continue;
      }
      Member member;
      member.connection = made;
      member.process = process;
      members.push_back(member);
    }
    if (server >= 0 && (errno == EMFILE || errno == ENFILE))
    {
      close(server); // The others write through mpirun, then.
      server = -1;
    }
    for (Member& member : members)
    {
      RankWord word;
      ssize_t length = -1;
      while (member.connection >= 0 && (length = recv(member.connection, &word,
          sizeof(word), 0)) == ssize_t(sizeof(word)))
        Note(member, word);
      if (member.connection < 0 || (length < 0 && (errno == EAGAIN ||
          errno == EINTR)))
        continue;
      close(member.connection);
      member.connection = -1;
      if (!member.failed && !member.ended && member.number == 0)
      {
        member.silent = ++silents;
        trouble = true;
      }
    }
  }

  void Note(Member& member, const RankWord& word)
  {
    switch (word.kind)
    {
      case RankWord::Here:
        member.rank = word.value;
        break;
      case RankWord::Failed:
        member.failed = failed = trouble = true;
        break;
      case RankWord::Ended:
        member.ended = true;
        break;
      case RankWord::Signalled:
        member.number = word.value;
        member.when = word.nanoseconds;
        trouble = true;
        break;
      case RankWord::Line:
        line = (word.value != 0);
        break;
    }
  }

  //! Hand standard output and standard error to a rank.
  static bool GiveStreams(const int connection)
  {
    int streams[2] = { STDOUT_FILENO, STDERR_FILENO };
    char byte = 0;
    iovec part = { &byte, 1 };
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(streams))] = { };
    msghdr message = { };
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(streams));
    std::memcpy(CMSG_DATA(head), streams, sizeof(streams));
    return sendmsg(connection, &message, MSG_NOSIGNAL) == 1;
  }

  //! Print what has come from mpirun; once something is wrong, keep it.
  void PassOn()
  {
    for (size_t i = 0; i < 2; ++i)
    {
      char bytes[4096];
      ssize_t length = 0;
      while (texts[i] >= 0 && (length = read(texts[i], bytes,
          sizeof(bytes))) > 0)
      {
        if (!trouble)
          Print(i, std::string(bytes, size_t(length)));
        else if (held[i].size() < 65536)
          held[i].append(bytes, size_t(length));
      }
      if (texts[i] >= 0 && length == 0)
      {
        close(texts[i]);
        texts[i] = -1;
      }
    }
  }

  static void Print(const size_t stream, const std::string& text)
  {
    size_t done = 0;
    while (done < text.size())
    {
      const ssize_t length = write(stream == 0 ? STDOUT_FILENO : STDERR_FILENO,
          text.data() + done, text.size() - done);
      if (length > 0)
        done += size_t(length);
      else if (errno == EAGAIN)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      else if (errno != EINTR)
        return; // Nobody reads it.
    }
  }

  //! Who does not end when told to is ended.
  void Enforce()
  {
    if (ended == 0 || Clock::now() < deadline)
      return;
    SignalAll(SIGCONT);
    SignalAll(SIGKILL);
    deadline = Clock::now() + std::chrono::seconds(20);
  }

  //! mpirun has ended: so do its ranks, and what they said is heard.
  void Gather()
  {
    const auto left = [this]()
    {
      return std::any_of(members.begin(), members.end(), [](const Member& m)
          { return m.connection >= 0; });
    };
    Hear();
    PassOn();
    if (WIFSIGNALED(status))
      SignalAll(SIGTERM);
    const Clock::time_point begin = Clock::now();
    for (int limit : { 3, 6 })
    {
      while (left() && Clock::now() < begin + std::chrono::seconds(limit))
      {
        Wait(50);
        Hear();
        PassOn();
      }
      SignalAll(SIGKILL);
    }
  }

  //! Draw the conclusions.
  void Judge(JobEnd& end)
  {
    end.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
        WEXITSTATUS(status);
    end.ended = ended;
    end.line = line;
    int number = (end.status > 128 && end.status < 160) ? end.status - 128 : 0;
#if !defined(OPEN_MPI)
    // MPICH's mpirun ends with the number itself.
    if (!failed && !members.empty() && end.status > 1 && end.status < 32)
      number = end.status;
#endif
    // mpirun ends all ranks when one dies: the first that died of the signal
    // that it tells by its status is the one, or else the first that could not
    // tell anything.
    const Member* victim = nullptr;
    for (const Member& member : members)
    {
      if (member.number == number && number != 0 && (!victim ||
          member.when < victim->when))
        victim = &member;
    }
    const bool told = (victim != nullptr);
    for (const Member& member : members)
    {
      if (!told && member.silent > 0 && (!victim ||
          member.silent < victim->silent))
        victim = &member;
    }
    const bool whole = size_t(std::count_if(members.begin(), members.end(),
        [](const Member& member) { return member.rank >= 0; })) == ranks;
    if (number != 0 && victim && (victim->silent > 0 || !failed))
    {
      end.status = 128 + number;
      end.died = true;
      end.rank = (victim->rank < 0) ? "" : std::to_string(victim->rank);
      end.cause = "signal " + SignalText(number);
    }
    else if (failed)
      end.status = 1;
    else
      end.died = (number != 0);
    // What is not known otherwise, mpirun may know.
    if (!whole || !(end.died || failed || ended != 0))
    {
      Print(0, held[0]);
      Print(1, held[1]);
    }
  }

  std::vector<std::string>& command;
  size_t ranks;
  int signals;
  pid_t child = 0;
  int status = 0;
  bool over = false;
  int server = -1;
  //! What mpirun prints, on either stream.
  int texts[2] = { -1, -1 };
  std::string held[2];
  std::vector<Member> members;
  size_t silents = 0;
  bool failed = false;
  bool line = false;
  //! Is there anything that mpirun may have something to say about?
  bool trouble = false;
  int ended = 0;
  Clock::time_point deadline;
};

/**
 * Run a command until it ends otherwise than by the death of a rank, or has
 * been started again often enough.
 *
 * @param command The command; the first word is the program.
 * @param ranks How many ranks it starts.
 * @param checkpoint The file that it goes on from when it is started again;
 *     empty if there is none.
 * @param restarts How often at most.
 * @return Its exit status; -1 if it could not be started, with errno set.
 */
inline int Supervise(std::vector<std::string> command,
                     const size_t ranks,
                     const std::string& checkpoint,
                     const size_t restarts)
{
  setenv("DASGD_SUPERVISED", "1", 1);
  const int signals = ReceiveSignals();

  // What is to be ignored is what there is now.
  const bool anew = std::find(command.begin(), command.end(), "--restart") !=
      command.end();
  const std::string ignored = anew ? Mark(checkpoint) : "";
  for (size_t again = 0; ; ++again)
  {
    JobEnd end;
    if (!Job(command, ranks, signals).Run(end))
      return -1;
    const std::string mark = Mark(checkpoint);
    const bool there = !mark.empty() && mark != ignored;
    if (end.ended == 0 && !end.died)
      return end.status;

    std::string line = (end.line ? "\ndasgd: " : "dasgd: ");
    if (end.ended != 0)
      line += "ended by signal " + SignalText(end.ended);
    else
      line += end.cause.empty() ? "the job died (status " +
        std::to_string(end.status) + ")" : (end.rank.empty() ? "a rank" :
        "rank " + end.rank) + " died (" + end.cause + "), and the job with it";
    if (!checkpoint.empty())
    {
      line += there ? "; the last checkpoint is " + checkpoint + ", " +
          Age(checkpoint) : "; there is no checkpoint in " + checkpoint +
          " yet";
    }
    const bool more = (again < restarts && end.ended == 0);
    if (more)
    {
      line += "; starting again" + std::string(there ? " from it" : "") + " (" +
          std::to_string(again + 1) + " of " + std::to_string(restarts) + ")";
    }
    else
    {
      if (again > 0)
      {
        line += "; restarted " + std::to_string(again) +
            (again == 1 ? " time" : " times") + " before";
      }
      if (there)
        line += "; run the same command to resume";
    }
    std::fputs((line + "\n").c_str(), stderr);
    std::fflush(stderr);
    if (!more)
      return (end.ended != 0) ? 128 + end.ended : end.status;
    if (there)
    {
      command.erase(std::remove(command.begin(), command.end(), "--restart"),
          command.end());
    }
  }
}

//! What a handler of signals says of the checkpoint, if that is there.
struct LastWords
{
  char path[4096];
  char text[8192];
};

inline LastWords& TheLastWords()
{
  static LastWords words = { };
  return words;
}

/**
 * The last moments of a process that is told to end: it removes what it has
 * begun to write, and tells whoever has started it, or else the user.  Signals
 * that are ignored stay so.
 */
inline void EndWell()
{
  static const pid_t owner = getpid();
  static const bool alone = !Launched();
  JobChannel::Get();
  TheLastWords();
  struct sigaction before, last = { };
  last.sa_handler = [](const int number)
  {
    PartFiles::Remove();
    // A child of fork() has the same handler, but nothing to say.
    if (getpid() == owner && !JobChannel::Get().Tell(RankWord::Signalled,
        number))
    {
      const LastWords& words = TheLastWords();
      struct stat status;
      const bool there = words.path[0] && stat(words.path, &status) == 0;
      // One piece: several ranks may speak.
      char line[sizeof(words.text) + 100] = "";
      if (ProgressShown())
        std::strcat(line, "\n");
      if (alone)
      {
        std::strcat(line, "dasgd: ended by signal ");
        std::strcat(line, number == SIGINT ? "2, Interrupt" :
            number == SIGHUP ? "1, Hangup" : "15, Terminated");
      }
      else if (there)
        std::strcat(line, "dasgd: the job was ended");
      if (there)
        std::strcat(line, words.text);
      if (alone || there)
        std::strcat(line, "\n");
      if (write(STDERR_FILENO, line, std::strlen(line)) < 0)
        PartFiles::Remove(); // Nobody is there any more.
    }
    std::signal(number, SIG_DFL);
    raise(number);
  };
  // UCX, which some MPIs use, takes SIGHUP for a wish to hear more of it, as
  // soon as it is loaded: so whatever there is makes way.
  for (const int number : { SIGTERM, SIGINT, SIGHUP })
  {
    if (sigaction(number, nullptr, &before) == 0 &&
        before.sa_handler != SIG_IGN)
      sigaction(number, &last, nullptr);
  }
}

//! Let this process say where the checkpoint is if it is told to end.
inline void SayOnTermination(const std::string& checkpoint)
{
  LastWords& words = TheLastWords();
  if (checkpoint.size() >= sizeof(words.path))
    return;
  std::snprintf(words.text, sizeof(words.text), "; the last checkpoint is %s; "
      "run the same command to resume", checkpoint.c_str());
  std::strcpy(words.path, checkpoint.c_str());
  EndWell();
}

} // namespace cli
} // namespace dasgd

#endif
