/**
 * @file job_channel.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "job_channel.hpp"
#include "ranks.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
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

namespace {

/**
 * The address of a socket in the abstract namespace, which needs no file and
 * vanishes with the socket.
 *
 * @return Its length; 0 if the name is too long.
 */
socklen_t ChannelAddress(const std::string& name, sockaddr_un& address)
{
  std::memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof(address.sun_path))
    return 0;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

//! A message of one byte with two file descriptors.
struct StreamsMessage
{
  StreamsMessage()
  {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }

  int streams[2] = { STDOUT_FILENO, STDERR_FILENO };
  char byte = 0;
  iovec part = { &byte, 1 };
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(streams))] = { };
  msghdr header = { };
};

} // namespace

pid_t ChannelPeer(const int socket)
{
  ucred peer;
  socklen_t length = sizeof(peer);
  const bool known = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer,
      &length) == 0;
  return known && peer.uid == geteuid() ? peer.pid : 0;
}

bool SendStreams(const int connection)
{
  StreamsMessage message;
  cmsghdr* head = CMSG_FIRSTHDR(&message.header);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(message.streams));
  std::memcpy(CMSG_DATA(head), message.streams, sizeof(message.streams));
  return sendmsg(connection, &message.header, MSG_NOSIGNAL) == 1;
}

JobChannel& JobChannel::Get()
{
  static JobChannel channel;
  return channel;
}

bool JobChannel::Send(const RankMessage::Kind kind, const int value) const
{
  // A child of fork() shares the connection, but must not use it.
  if (connection < 0 || getpid() != owner)
    return false;
  timespec now = { };
  clock_gettime(CLOCK_MONOTONIC, &now);
  const RankMessage message = { kind, value,
      std::int64_t(now.tv_sec) * 1000000000 + now.tv_nsec };
  return send(connection, &message, sizeof(message), MSG_NOSIGNAL) ==
      ssize_t(sizeof(message));
}

JobChannel::JobChannel() : owner(getpid())
{
  const char* name = std::getenv(ChannelVariable);
  if (!name)
    return;
  sockaddr_un address;
  const socklen_t length = ChannelAddress(name, address);
  const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  // Do not wait for ever if the program does not answer.
  const timeval limit = { 5, 0 };
  setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (made >= 0 && length > 0 && connect(made,
      reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      ChannelPeer(made) > 0)
  {
    connection = made;
    if (Send(RankMessage::Started, LaunchedRank()) && ReceiveStreams())
    {
      // Ranks are not in the terminal's foreground group; without this, writing
      // to it could stop them.
      std::signal(SIGTTOU, SIG_IGN);
      std::signal(SIGPIPE, SIG_IGN);
      return;
    }
    connection = -1;
  }
  if (made >= 0)
    close(made);
}

bool JobChannel::ReceiveStreams() const
{
  StreamsMessage message;
  ssize_t length = 0;
  while ((length = recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC)) < 0
      && errno == EINTR) { }
  const cmsghdr* head = (length == 1) ? CMSG_FIRSTHDR(&message.header) :
      nullptr;
  if (!head || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(sizeof(message.streams)))
    return false;
  std::memcpy(message.streams, CMSG_DATA(head), sizeof(message.streams));
  // mpirun takes the end of a stream for the end of the rank, so its own two
  // are kept open under other numbers.
  for (const int stream : { STDOUT_FILENO, STDERR_FILENO })
  {
    fcntl(stream, F_DUPFD_CLOEXEC, 3);
    dup2(message.streams[stream - STDOUT_FILENO], stream);
    close(message.streams[stream - STDOUT_FILENO]);
  }
  return true;
}

} // namespace cli
} // namespace dasgd
