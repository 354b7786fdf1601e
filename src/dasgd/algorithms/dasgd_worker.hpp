/**
 * @file dasgd_worker.hpp
 *
 * Decentralized asynchronous SGD: what one rank does, Algorithm 1 of the paper
 * over routes with summed relays.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_DASGD_WORKER_HPP
#define DASGD_ALGORITHMS_DASGD_WORKER_HPP

#include "courier.hpp"
#include "run_settings.hpp"

#include <memory>

namespace dasgd {

//! The most frames that a rank has begun and not yet got rid of.
inline size_t DasgdBuffers(const Routes& routes, const size_t window)
{ return routes.Channels().size() + window * routes.SendTo().size(); }

/**
 * The most vectors that a rank holds besides iterate and gradient.
 *
 * @param window Frames under way to each neighbour, and receives posted for
 *     each.
 */
inline size_t DasgdVectors(const Routes& routes, const size_t window)
{
  return DasgdBuffers(routes, window) + window * routes.ReceiveFrom().size();
}

/**
 * One rank of DASGD: the vectors are sums of updates, which everyone applies.
 * See Courier for who calls it and what a problem is.
 */
template<typename ElemType, typename ProblemType>
class DasgdWorker : public Courier<DasgdWorker<ElemType, ProblemType>, ElemType,
    ProblemType>
{
 public:
  /**
   * @param routes The routes of this rank.
   * @param window Frames under way to each neighbour.
   * @param iterate The model, updated in place.
   * @param elements Its number of elements.
   * @param problem What to train.
   * @param format How updates are written.
   */
  DasgdWorker(const Routes& routes,
              size_t window,
              ElemType* iterate,
              const size_t elements,
              ProblemType& problem,
              const WireFormat& format = WireFormat::Exact);

  //! Make room, so that nothing is allocated on the way.
  void Reserve();

  //! Modify how many of its own gradients this rank may have waiting for a
  //! neighbour before it is Ahead() (0: no limit).
  size_t& MaxLead() { return maxLead; }
  size_t MaxLead() const { return maxLead; }

  //! Is this rank so far ahead of a neighbour?
  bool Ahead() const
  {
    const std::vector<size_t>& emit = routes.Emit();
    return maxLead > 0 && std::any_of(emit.begin(), emit.end(),
        [this](const size_t channel) { return boxes[channel].own >= maxLead; });
  }

  //! Compute one gradient, apply it, hand it to the network.
  void Compute();

  //! Apply a frame that came from a neighbour, and relay it.
  void Receive(const std::uint8_t* bytes, size_t size, size_t from);

 private:
  using BaseType = Courier<DasgdWorker, ElemType, ProblemType>;
  friend BaseType;
  using typename BaseType::Box;
  using BaseType::boxes;
  using BaseType::counts;
  using BaseType::frame;
  using BaseType::history;
  using BaseType::iterate;
  using BaseType::limits;
  using BaseType::pool;
  using BaseType::problem;
  using BaseType::routes;
  using BaseType::version;
  static constexpr bool lazy = false;

  //! Where an own update can be formed right where it is sent from, or null.
  ElemType* IdleBuffer();
  //! Add an update to a box, unless it was formed right there.
  void AddUpdate(Box& box, const ElemType* update);
  //! The sum of a box goes out; shorter, if it may be, and what that leaves is
  //! kept.
  void Load(size_t link, Box& box, FrameHeader& header, Buffer& rest);
  //! What rounding has left of own updates goes out with the last word.
  void Finish();

  //! How own updates become what is sent of them.
  Rounding<ElemType> rounding;
  WireFormat::Kind format;
  std::vector<std::uint32_t> places;
  size_t maxLead = 0;
};

//! DASGD as an algorithm; see Asynchronous.
struct DasgdRule : PlainRule
{
  static const char* Name() { return "DASGD"; }
  static constexpr bool formats = true;

  template<typename ElemType, typename ProblemType>
  static auto Make(const Routes& routes,
                   const RunSettings& settings,
                   const Options& ,
                   ElemType* iterate,
                   const size_t elements,
                   ProblemType& problem)
  {
    auto worker = std::make_unique<DasgdWorker<ElemType, ProblemType>>(
        routes, settings.window, iterate, elements, problem,
        settings.format);
    worker->MaxLead() = settings.maxLead;
    return worker;
  }

  //! Vectors that it may hold at a time.
  static size_t Vectors(const Routes& routes, const RunSettings& settings)
  {
    // The size of an element does not matter here: formats that do not shorten
    // it need nothing, and the others are the same for all.
    return DasgdVectors(routes, settings.window) +
        settings.format.Vectors(sizeof(double));
  }
};

} // namespace dasgd

#include "dasgd_worker_impl.hpp"

#endif
