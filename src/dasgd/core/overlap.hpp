/**
 * @file overlap.hpp
 *
 * Is there an exchange while gradients are computed?
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_CORE_OVERLAP_HPP
#define DASGD_CORE_OVERLAP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace dasgd {

//! Whether frames are received, relayed and sent by a thread beside computing,
//! rather than between two gradients.
enum class Overlap : std::uint8_t
{
  //! If the topology has relays or frames between machines are long, and there
  //! is a core for each rank.
  Auto,
  //! If that is possible at all.
  Always,
  Never
};

inline const char* ToString(const Overlap overlap)
{
  return overlap == Overlap::Auto ? "auto" : overlap == Overlap::Always ?
      "always" : "never";
}

//! Does a run exchange while it computes, by the setting and circumstances?
struct OverlapChoice
{
  bool used = false;
  //! Why there is none though it was wanted; or nothing.
  std::string obstacle;

  OverlapChoice() = default;

  /**
   * @param wanted The setting.
   * @param useful Are there relays, or long frames?
   * @param crowded Do ranks share cores?
   * @param threads May any thread call MPI?
   * @param recorded Is a history recorded, which is one of a single thread?
   */
  OverlapChoice(const Overlap wanted,
                const bool useful,
                const bool crowded,
                const bool threads,
                const bool recorded)
  {
    used = (wanted == Overlap::Always) ||
        (wanted == Overlap::Auto && useful && !crowded);
    if (used && recorded)
      obstacle = "a history was recorded";
    else if (used && !threads)
      obstacle = "MPI was initialised without MPI_THREAD_MULTIPLE";
    used = used && obstacle.empty();
  }
};

/**
 * Are frames of a model of so many bytes long?  Between machines they move only
 * while MPI is called: between gradients, long ones arrive many gradients
 * later.  The bound lies between 8 MB, which gained little by a thread, and
 * 78 MB, which gained much.  The format of frames does not count: it was not
 * measured.
 */
inline bool LongFrame(const double bytes) { return bytes >= 16e6; }

//! The share of its time that a rank may spend on exchanging, if nothing else
//! is said.
constexpr double DefaultExchangeShare = 0.1;

/**
 * Frames under way to each neighbour.
 *
 * @param wanted The setting; 0 if it is to be chosen.
 * @param overlap Do all ranks exchange while they compute?  Then the next frame
 *     leaves as soon as one has been taken, and one that waits for its turn on
 *     a full link would only keep gradients from being summed.
 */
inline size_t ChooseWindow(const size_t wanted, const bool overlap)
{ return (wanted > 0) ? wanted : overlap ? 1 : 2; }

/**
 * Frames under way to all other machines together.  What a machine sends at the
 * same time shares what it can send, so that each frame arrives when the last
 * of them does; one after the other, they arrive earlier, and hold what was
 * computed until they left.  Small ones take no time but their latency.
 *
 * @param bytes Of a frame.
 * @param overlap Does a thread send the next as soon as one has arrived?
 */
inline size_t FramesAtATime(const double bytes, const bool overlap)
{
  constexpr double enough = 1e6;
  if (!overlap || bytes < 1)
    return std::numeric_limits<size_t>::max();
  return size_t(std::max(1.0, enough / bytes));
}

} // namespace dasgd

#endif
