/**
 * @file exchange_pace.hpp
 *
 * How often a rank sends, given what a frame costs.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_EXCHANGE_PACE_HPP
#define DASGD_PROTOCOL_EXCHANGE_PACE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dasgd {

/**
 * Keeps the exchange of frames within a share of a rank's time: where a frame
 * costs much, compared with a gradient, more gradients are summed into each.
 *
 * The cost c of a frame is what a rank spends on average on one that it sends
 * or receives.  A frame costs that on both ends, so a rank with k neighbours
 * sends to each of them after 2 k c / share seconds, or once so many of its own
 * gradients wait as limit staleness, whichever is earlier.  (Own are those of
 * its machine, if it sends one sum for them.)
 *
 * To look for messages where there are none costs system calls.  A rank looks
 * again after 4 times that cost / share, which leaves three quarters of the
 * share to the frames, or after as many gradients.
 *
 * Gradients of microseconds never wait.  Such problems are small, and fastest
 * on one rank; on several, they are to end where they do there, which staleness
 * endangers.
 *
 * It has no clock: the driver says what time it is, in seconds, and how the
 * time was spent.  Where ranks share cores, the time is what this rank had of
 * one, or had no use for.
 */
class ExchangePace
{
 public:
  //! A frame waits for at most so many gradients times the ranks whose
  //! gradients are in it, and for no more than half of what a manifest holds.
  static constexpr std::uint64_t longest = 8, most = 512;
  //! Gradients that take less than so many seconds do not wait.
  static constexpr double shortest = 10e-6;

  //! @param links Neighbours to send to.
  explicit ExchangePace(const size_t links) : last(links) { }

  //! Modify the share of the time that exchanging may take; with 1, no frame
  //! waits.
  void SetShare(const double value) { share = value; }

  //! This rank sends the gradients of so many, its own among them.
  void SetRanks(const size_t ranks)
  { gradients = std::min(most, longest * ranks); }

  /**
   * The time since the last call was spent on exchanging.
   *
   * @param now The time.
   * @param frames How many were sent and received up to now.
   * @param busy Is there a frame under way, on which time is spent even if it
   *     was neither begun nor completed?
   * @param looked Was it spent on looking for frames, at a cost that matters?
   */
  void Exchanged(const double now,
                 const std::uint64_t frames,
                 const bool busy,
                 const bool looked)
  {
    if (frames != seen || busy)
    {
      seconds += now - time;
      moved += double(frames - seen);
      seen = frames;
      // What was long ago counts less.
      if (moved > 64)
      {
        moved /= 2;
        seconds /= 2;
        measured = true;
      }
    }
    else if (looked)
      look += ((now - time) - look) / 16;
    time = now;
    if (looked)
    {
      lastLook = now;
      unseen = 0;
    }
  }

  //! The time since the last call was spent on something else ...
  void Other(const double now) { time = now; }

  //! ... namely on a gradient.  A single one may have been interrupted; the
  //! shortest of the last ones were not.
  void Computed(const double now)
  {
    gradient = (gradient > 0) ? std::min(now - time, 1.1 * gradient) :
        now - time;
    time = now;
    ++unseen;
  }

  //! This rank computes no more: nobody gains if frames wait.
  void End() { share = 1; }

  //! Is it time to look for frames?
  bool LookDue() const
  {
    return Free() || unseen >= longest ||
        time - lastLook >= 4 * look / share;
  }

  /**
   * Is it time for a frame?  Rather a little early than a gradient late; the
   * next one makes up for it.
   *
   * @param link The neighbour.
   * @param own How many gradients there are of this rank, or of those whose
   *     gradients it sends.
   */
  bool Due(const size_t link, const std::uint64_t own) const
  {
    return Free() || own >= last[link].own + gradients ||
        time + gradient / 2 >= last[link].next;
  }

  //! A frame is sent: note when the next is due.
  void Sent(const size_t link, const std::uint64_t own)
  {
    last[link].next = std::max(last[link].next, time) + Interval();
    last[link].own = own;
  }

  //! Seconds between two frames to the same neighbour.
  double Interval() const
  {
    return (measured && share < 1) ?
        2 * double(last.size()) * seconds / moved / share : 0;
  }

 private:
  //! Does nothing have to wait?
  bool Free() const
  { return share >= 1 || !measured || gradient < shortest; }

  //! The last frame to a neighbour: when the next is due, and how many
  //! gradients this rank had computed.
  struct Last
  {
    double next = 0;
    std::uint64_t own = 0;
  };

  double share = 1;
  std::uint64_t gradients = longest;
  double time = 0;
  std::vector<Last> last;
  //! Frames that were seen to move, and what the last of them cost; the first,
  //! with cold caches, cost too much to go by.
  std::uint64_t seen = 0;
  bool measured = false;
  double moved = 0;
  double seconds = 0;
  //! What it costs to look for frames if there are none, and when that was done
  //! last.
  double look = 0;
  double lastLook = 0;
  //! Gradients since then: a process that was stopped while it looked is not to
  //! be misled by what that took.
  std::uint64_t unseen = 0;
  //! How long a gradient takes.
  double gradient = 0;
};

} // namespace dasgd

#endif
