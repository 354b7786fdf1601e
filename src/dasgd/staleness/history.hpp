/**
 * @file history.hpp
 *
 * Who computed, applied and sent what, and when: recorded on request.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_STALENESS_HISTORY_HPP
#define DASGD_STALENESS_HISTORY_HPP

#include "../core/config.hpp"
#include "manifest.hpp"

namespace dasgd {

//! Consecutive gradients of one origin, counted from 1.
struct GradientRange
{
  std::uint32_t origin = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

//! Something that one rank did.
struct HistoryEvent
{
  enum class Kind : std::uint8_t
  {
    //! Computed its next gradient and applied it.
    Compute,
    //! Applied a frame, and added it to what goes on to others.
    Apply,
    //! Handed a frame to the network.
    Send,
    //! Waited, with nothing to do.
    Idle
  };

  Kind kind = Kind::Idle;
  //! Seconds since all ranks began.
  double begin = 0;
  double end = 0;
  //! Of a frame: the rank at its other end, its number on the link between the
  //! two, counted from 1, and its bytes.
  std::uint32_t peer = 0;
  std::uint64_t frame = 0;
  std::uint64_t bytes = 0;
  //! Of an applied frame: its ranges are [firstRange, lastRange).
  size_t firstRange = 0;
  size_t lastRange = 0;
};

/**
 * The events of one rank in the order in which they happened.  The worker says
 * what happens, and whoever drives it when: Stamp() gives the time to all that
 * has been noted since the last call.
 */
class RankHistory
{
 public:
  explicit RankHistory(const size_t ranks = 0) :
      framesFrom(ranks, 0), framesTo(ranks, 0) { }

  //! A gradient was computed here.
  void Compute() { Add(HistoryEvent::Kind::Compute); }

  //! A frame came from a peer and was applied.
  void Apply(const size_t from,
             const std::uint64_t bytes,
             const std::vector<ManifestEntry>& entries);

  //! A frame was handed to the network.
  void Send(const size_t to, const std::uint64_t bytes)
  { AddFrame(HistoryEvent::Kind::Send, to, ++framesTo[to], bytes); }

  //! Nothing could be done for a while.
  void Idle(const double begin, const double end);

  //! When what was noted since the last call happened.
  void Stamp(const double begin, const double end);

  //! Add an event as it is, to rebuild a history from a file.
  void Push(const HistoryEvent& event);

  //! Add a range to the last event, which is an applied frame.
  void AddRange(const GradientRange& range);

  const std::vector<HistoryEvent>& Events() const { return events; }
  //! All ranges, one frame's after the other's.
  const std::vector<GradientRange>& Ranges() const { return ranges; }

  //! How many gradients were computed here?
  std::uint64_t Computed() const;

 private:
  HistoryEvent& Add(const HistoryEvent::Kind kind);

  void AddFrame(const HistoryEvent::Kind kind,
                const size_t peer,
                const std::uint64_t frame,
                const std::uint64_t bytes);

  std::vector<HistoryEvent> events;
  std::vector<GradientRange> ranges;
  //! How many events have their time.
  size_t stamped = 0;
  //! Per peer, frames so far.
  std::vector<std::uint64_t> framesFrom;
  std::vector<std::uint64_t> framesTo;
};

//! The histories of all ranks of a run; empty if none was recorded.
using History = std::vector<RankHistory>;

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "history_impl.hpp"
#endif

#endif
