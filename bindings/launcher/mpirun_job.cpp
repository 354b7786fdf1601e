/**
 * @file mpirun_job.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "mpirun_job.hpp"
#include "signals.hpp"
#include "spawn.hpp"

#include <ranks/termination.hpp>

#include <dasgd/core/stop_signals.hpp>

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

namespace {

void Print(const size_t stream, const std::string& text)
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

} // namespace

MpirunJob::~MpirunJob()
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

bool MpirunJob::Run(JobEnd& end, const std::function<bool()>& changed)
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
    Wait(250);
    HandleSignals();
    if (!changes && ended == 0 && changed())
    {
      changes = true;
      Interrupt(SIGUSR1, std::chrono::seconds(60));
    }
    // A rank says how it ends before mpirun can know, so read messages first.
    ReceiveMessages();
    ForwardOutput();
    // mpirun, which is stopped by the terminal as well, may not have passed
    // that on before, and do so now.
    if (Clock::now() < continued + std::chrono::seconds(3))
      SignalRanks(SIGCONT);
    KillOverdue();
    over = over || waitpid(child, &status, WNOHANG) == child;
  }
  CollectLastMessages();
  Conclude(end);
  return true;
}

void MpirunJob::Listen()
{
  unsetenv(ChannelVariable);
  server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address = { };
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof(address);
  // With an address of this length the system chooses an unused name.
  if (server < 0 || bind(server, reinterpret_cast<sockaddr*>(&address),
      sizeof(sa_family_t)) != 0 || getsockname(server,
      reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      listen(server, 1024) != 0)
    return;
  const size_t before = offsetof(sockaddr_un, sun_path) + 1;
  if (length > before)
  {
    setenv(ChannelVariable, std::string(address.sun_path + 1,
        length - before).c_str(), 1);
  }
}

int MpirunJob::Start()
{
  int outs[2], errors[2];
  if (pipe2(outs, O_CLOEXEC) != 0)
    return errno;
  if (pipe2(errors, O_CLOEXEC) != 0)
  {
    const int reason = errno;
    close(outs[0]);
    close(outs[1]);
    return reason;
  }
  SpawnSettings settings;
  settings.out = outs[1];
  // mpirun takes Ctrl-C for an order to end its ranks at once; and in a group
  // of its own it would be stopped if it read from the terminal.
  settings.group = true;
  if (isatty(STDIN_FILENO))
    settings.in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  settings.error = errors[1];
  const int reason = Spawn(command, settings, child);
  if (settings.in >= 0)
    close(settings.in);
  close(outs[1]);
  close(errors[1]);
  texts[0] = outs[0];
  texts[1] = errors[0];
  for (const int file : texts)
    fcntl(file, F_SETFL, O_NONBLOCK);
  return reason;
}

void MpirunJob::Wait(const int milliseconds) const
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

void MpirunJob::HandleSignals()
{
  SignalNote note;
  while (signals >= 0 && read(signals, &note, sizeof(note)) ==
      ssize_t(sizeof(note)))
  {
    if (note.number == SIGCHLD)
      continue; // Its only purpose is to end Wait().
    if (note.number == SIGTSTP)
    {
      Pause();
      continue;
    }
    const bool asks = resumable && (note.number == SIGTERM ||
        note.number == SIGUSR1 || note.number == SIGINT);
    const bool again = ended != 0;
    if (asks || (note.number != SIGUSR1 && note.number != SIGUSR2))
    {
      ended = note.number;
      trouble = true;
    }
    if (again && note.number == SIGINT)
      deadline = Clock::now(); // Whoever repeats it does not want to wait.
    if (asks)
    {
      Interrupt(note.number, std::chrono::seconds(20));
      continue;
    }
    if (ended != 0 && deadline == Clock::time_point::max())
      deadline = Clock::now() + std::chrono::seconds(20);
    // At a second signal mpirun would exit at once and leave its ranks behind.
    if (!again)
      kill(child, note.number);
  }
}

void MpirunJob::Interrupt(const int number, const std::chrono::seconds patience)
{
  trouble = true;
  interrupt = number;
  if (deadline == Clock::time_point::max())
    deadline = Clock::now() + patience;
  // One rank is enough.  mpirun, which ends ranks a second after SIGTERM and
  // passes SIGUSR1 on, is asked only if all are on other machines.
  ReceiveMessages();
  SignalRanks(number);
  const bool none = std::none_of(members.begin(), members.end(),
      [](const Member& member) { return member.connection >= 0; });
  if (none && !over)
    kill(child, SIGUSR1);
}

void MpirunJob::SignalRanks(const int number) const
{
  for (const Member& member : members)
  {
    if (member.connection >= 0)
      kill(member.process, number);
  }
}

void MpirunJob::SignalAll(const int number) const
{
  SignalRanks(number);
  if (!over)
    kill(child, number);
}

void MpirunJob::Pause()
{
  ReceiveMessages();
  SignalAll(SIGSTOP);
  if (progressLine && write(STDERR_FILENO, "\n", 1) < 0)
    progressLine = false; // The terminal is gone.
  kill(getpid(), SIGSTOP);
  SignalAll(SIGCONT);
  continued = Clock::now();
}

void MpirunJob::Accept()
{
  for (int made; server >= 0 && (made = accept4(server, nullptr, nullptr,
      SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0; )
  {
    const pid_t process = ChannelPeer(made);
    if (process <= 0 || !SendStreams(made))
    {
      close(made);
      continue;
    }
    Member member;
    member.connection = made;
    member.process = process;
    members.push_back(member);
    if (interrupt != 0)
      kill(process, interrupt);
  }
  if (server >= 0 && (errno == EMFILE || errno == ENFILE))
  {
    close(server); // The other ranks write through mpirun.
    server = -1;
  }
}

void MpirunJob::ReceiveMessages()
{
  Accept();
  for (Member& member : members)
  {
    RankMessage message;
    ssize_t length = -1;
    while (member.connection >= 0 && (length = recv(member.connection,
        &message, sizeof(message), 0)) == ssize_t(sizeof(message)))
      HandleMessage(member, message);
    if (member.connection < 0 || (length < 0 && (errno == EAGAIN ||
        errno == EINTR)))
      continue;
    close(member.connection);
    member.connection = -1;
    if (!member.failed && !member.finished && member.number == 0)
    {
      member.silent = ++silents;
      trouble = true;
    }
  }
}

void MpirunJob::HandleMessage(Member& member, const RankMessage& message)
{
  switch (message.kind)
  {
    case RankMessage::Started:
      member.rank = message.value;
      break;
    case RankMessage::Failed:
      member.failed = failed = trouble = true;
      break;
    case RankMessage::Finished:
      member.finished = true;
      break;
    case RankMessage::Signalled:
      member.number = message.value;
      member.when = message.nanoseconds;
      trouble = true;
      break;
    case RankMessage::Interrupted:
      member.finished = trouble = true;
      interrupted = message.value;
      break;
    case RankMessage::ProgressLine:
      progressLine = (message.value != 0);
      break;
  }
}

void MpirunJob::ForwardOutput()
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

void MpirunJob::KillOverdue()
{
  if (Clock::now() < deadline)
    return;
  SignalAll(SIGCONT);
  SignalAll(SIGKILL);
  deadline = Clock::now() + std::chrono::seconds(20);
}

void MpirunJob::CollectLastMessages()
{
  const auto left = [this]()
  {
    return std::any_of(members.begin(), members.end(), [](const Member& m)
        { return m.connection >= 0; });
  };
  ReceiveMessages();
  ForwardOutput();
  if (WIFSIGNALED(status))
    SignalAll(SIGTERM);
  const Clock::time_point begin = Clock::now();
  for (int limit : { 3, 6 })
  {
    while (left() && Clock::now() < begin + std::chrono::seconds(limit))
    {
      Wait(50);
      ReceiveMessages();
      ForwardOutput();
    }
    SignalAll(SIGKILL);
  }
}

const MpirunJob::Member* MpirunJob::FirstVictim(const int number) const
{
  // mpirun ends all ranks when one dies: the first that died of the signal in
  // mpirun's status is the cause, or else the first that ended without a
  // message.
  const Member* victim = nullptr;
  for (const Member& member : members)
  {
    if (member.number == number && number != 0 && (!victim ||
        member.when < victim->when))
      victim = &member;
  }
  if (victim)
    return victim;
  for (const Member& member : members)
  {
    if (member.silent > 0 && (!victim || member.silent < victim->silent))
      victim = &member;
  }
  return victim;
}

void MpirunJob::Conclude(JobEnd& end)
{
  end.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
      WEXITSTATUS(status);
  end.ended = ended;
  end.interrupted = interrupted;
  end.changed = changes;
  end.progressLine = progressLine;
  int number = (end.status > 128 && end.status < 160) ? end.status - 128 : 0;
#if !defined(OPEN_MPI)
  // MPICH's mpirun exits with the number itself.
  if (!failed && !members.empty() && end.status > 1 && end.status < 32)
    number = end.status;
#endif
  if (resumable && end.status == ToBeResumed && interrupted == 0)
    end.interrupted = SIGUSR1;
  const Member* victim = FirstVictim(number);
  const bool complete = size_t(std::count_if(members.begin(), members.end(),
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
  // Where the ranks' messages do not explain the end, mpirun's text may.
  if (!complete || !(end.died || failed || ended != 0 || interrupted != 0))
  {
    Print(0, held[0]);
    Print(1, held[1]);
  }
}

} // namespace cli
} // namespace dasgd
