/**
 * @file job_channel.hpp
 *
 * What the ranks of a job tell the program that has started them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_RANKS_JOB_CHANNEL_HPP
#define DASGD_BINDINGS_RANKS_JOB_CHANNEL_HPP

#include <cstdint>

#include <sys/types.h>

namespace dasgd {
namespace cli {

//! A message of a rank.
struct RankMessage
{
  enum Kind : std::int32_t
  {
    //! It has started; the value is its number, or -1 if it does not know.
    Started,
    //! It has failed and said why; the value is the exit status.
    Failed,
    //! It ends without an error.
    Finished,
    //! It is about to die of a signal, whose number is the value.
    Signalled,
    //! The value tells whether a progress line is on the terminal.
    ProgressLine,
    //! A signal, whose number is the value, has ended its training, which can
    //! be resumed.
    Interrupted
  };

  std::int32_t kind;
  std::int32_t value;
  //! On the clock that all processes of a machine share.
  std::int64_t nanoseconds;
};

//! The environment variable that holds the name of the socket.
constexpr const char* ChannelVariable = "DASGD_JOB_SOCKET";

//! The process at the other end of a socket, if it is the same user's; else 0.
pid_t ChannelPeer(const int socket);

//! Send standard output and standard error to a rank that has connected.
bool SendStreams(const int connection);

/**
 * The rank's end.  A program that starts its own ranks hands each of them its
 * standard output and standard error, and they write there directly: whatever
 * comes through mpirun is then mpirun's own.
 */
class JobChannel
{
 public:
  //! The one of this process; made by the first call.
  static JobChannel& Get();

  bool Connected() const { return connection >= 0; }

  //! Send a message; signal handlers may do so, too.
  bool Send(const RankMessage::Kind kind, const int value) const;

  JobChannel(const JobChannel&) = delete;
  JobChannel& operator=(const JobChannel&) = delete;

 private:
  JobChannel();

  //! Receive the two streams, and write to them from now on.
  bool ReceiveStreams() const;

  pid_t owner;
  int connection = -1;
};

} // namespace cli
} // namespace dasgd

#endif
