/**
 * @file job_channel.hpp
 *
 * What the ranks of a job tell the program that has started them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_JOB_CHANNEL_HPP
#define DASGD_BINDINGS_COMMON_JOB_CHANNEL_HPP

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

//! Was this process started by mpirun, srun or the like?
inline bool Launched()
{
  for (const char* name : { "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_ID",
      "PMIX_RANK" })
  {
    if (std::getenv(name))
      return true;
  }
  return false;
}

//! A message of a rank.
struct RankWord
{
  enum Kind : std::int32_t
  {
    //! It is there; the value is its number, or -1 if it does not know.
    Here,
    //! It has failed and told why; the value is the exit status.
    Failed,
    //! It ends well.
    Ended,
    //! It is about to die of a signal, whose number is the value.
    Signalled,
    //! The value tells whether a line of progress stands on the terminal.
    Line
  };

  std::int32_t kind;
  std::int32_t value;
  //! On the clock that all processes of a machine share.
  std::int64_t nanoseconds;
};

//! The variable that holds the name of the socket.
inline const char* ChannelVariable() { return "DASGD_JOB_SOCKET"; }

/**
 * The address of a socket without a file: its name in the system's own space,
 * which goes when the socket does.
 *
 * @return Its length; 0 if the name is too long.
 */
inline socklen_t ChannelAddress(const std::string& name, sockaddr_un& address)
{
  std::memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof(address.sun_path))
    return 0;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

//! The process at the other end of a socket, if it is the same user's; else 0.
inline pid_t ChannelPeer(const int socket)
{
  ucred peer;
  socklen_t length = sizeof(peer);
  const bool known = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer,
      &length) == 0;
  return known && peer.uid == geteuid() ? peer.pid : 0;
}

/**
 * The rank's end.  Where a program has started its own ranks, each of them gets
 * that program's standard output and standard error, and writes there directly:
 * what comes through mpirun is then mpirun's own.
 */
class JobChannel
{
 public:
  //! The one of this process; made by the first call.
  static JobChannel& Get()
  {
    static JobChannel channel;
    return channel;
  }

  bool Joined() const { return connection >= 0; }

  //! Tell something, from a handler of signals as well.
  bool Tell(const RankWord::Kind kind, const int value) const
  {
    if (connection < 0 || getpid() != owner)
      return false;
    timespec now = { };
    clock_gettime(CLOCK_MONOTONIC, &now);
    const RankWord word = { kind, value,
        std::int64_t(now.tv_sec) * 1000000000 + now.tv_nsec };
    return send(connection, &word, sizeof(word), MSG_NOSIGNAL) ==
        ssize_t(sizeof(word));
  }

  JobChannel(const JobChannel&) = delete;
  JobChannel& operator=(const JobChannel&) = delete;

 private:
  JobChannel() : owner(getpid())
  {
    const char* name = std::getenv(ChannelVariable());
    if (!name)
      return;
    sockaddr_un address;
    const socklen_t length = ChannelAddress(name, address);
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    // Nobody waits for a program that is not there to answer.
    const timeval limit = { 5, 0 };
    setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (made >= 0 && length > 0 && connect(made,
        reinterpret_cast<sockaddr*>(&address), length) == 0 &&
        ChannelPeer(made) > 0)
    {
      connection = made;
      if (Tell(RankWord::Here, Number()) && TakeStreams())
      {
        // These ranks are in the background, whatever the program is, and may
        // write to its terminal all the same.
        std::signal(SIGTTOU, SIG_IGN);
        std::signal(SIGPIPE, SIG_IGN);
        return;
      }
      connection = -1;
    }
    if (made >= 0)
      close(made);
  }

  //! The number of this rank, by what its launcher says.
  static int Number()
  {
    for (const char* name : { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
        "PMI_ID" })
    {
      if (const char* value = std::getenv(name))
        return std::atoi(value);
    }
    return -1;
  }

  //! Receive the two streams, and write to them from now on.
  bool TakeStreams() const
  {
    int streams[2] = { -1, -1 };
    char byte = 0;
    iovec part = { &byte, 1 };
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(streams))];
    msghdr message = { };
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    ssize_t length = 0;
    while ((length = recvmsg(connection, &message, MSG_CMSG_CLOEXEC)) < 0 &&
        errno == EINTR) { }
    const cmsghdr* head = (length == 1) ? CMSG_FIRSTHDR(&message) : nullptr;
    if (!head || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof(streams)))
      return false;
    std::memcpy(streams, CMSG_DATA(head), sizeof(streams));
    // mpirun takes the end of a stream for a sign that the rank ends: its own
    // two stay open elsewhere.
    for (const int stream : { STDOUT_FILENO, STDERR_FILENO })
    {
      fcntl(stream, F_DUPFD_CLOEXEC, 3);
      dup2(streams[stream - STDOUT_FILENO], stream);
      close(streams[stream - STDOUT_FILENO]);
    }
    return true;
  }

  pid_t owner;
  int connection = -1;
};

//! Does a line of progress stand on the terminal, without its end?
inline volatile sig_atomic_t& ProgressShown()
{
  static volatile sig_atomic_t shown = 0;
  return shown;
}

} // namespace cli
} // namespace dasgd

#endif
