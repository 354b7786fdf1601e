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

#include "../core/vector_ops.hpp"
#include "../protocol/node.hpp"
#include "algorithm_defaults.hpp"
#include "update_sums.hpp"

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
 * One rank of DASGD.  The problem computes: iterate, gradient and policy are
 * its own.  The node and the sums exchange.  They meet in Compute(), where this
 * rank's update is handed over, and in Receive(), where those of others are
 * applied.
 */
template<typename ElemType>
class DasgdWorker : public WorkerDefaults
{
 public:
  /**
   * @param routes The routes of this rank.
   * @param window Frames under way to each neighbour.
   * @param elements Elements of the model.
   * @param problem What to train.
   * @param format How updates are written.
   */
  DasgdWorker(const Routes& routes,
              const size_t window,
              const size_t elements,
              Problem<ElemType>& problem,
              const WireFormat& format = WireFormat::Exact) :
      problem(problem),
      node(routes, { Neighbours::Of(routes), window,
          DasgdBuffers(routes, window), false }, elements, problem),
      endpoint(node.Endpoint()),
      sums(endpoint, format)
  {
    endpoint.Counts().vectorBound = DasgdVectors(routes, window) +
        format.Vectors(sizeof(ElemType));
  }

  dasgd::Node<ElemType>& Node() { return node; }
  const dasgd::Node<ElemType>& Node() const { return node; }

  //! Compute one gradient, apply it, hand it to the network.
  void Compute()
  {
    endpoint.BeginStep();
    node.Guard([&]()
    {
      ManifestEntry entry;
      const ElemType* update = nullptr;
      if (problem.Compute(entry) && problem.TakeStep(sums.Unused(), update))
      {
        sums.Emit(problem.Iterate(), update);
        endpoint.Announce(entry, endpoint.Version().data(),
            problem.BatchPoints());
        endpoint.Counts().staleness.Add(0);
        node.ApplyOwn(entry);
      }
      problem.CloseEpochs();
    });
    node.Conclude(*this);
  }

  //! Apply a frame that came from a neighbour, and relay it.
  void Receive(const std::uint8_t* bytes, const size_t size, const size_t from)
  {
    endpoint.Read(bytes, size, from);
    const DecodedFrame<ElemType>& frame = endpoint.Frame();
    // A vector without gradients is what rounding has left of them.
    if (!frame.vector && !frame.manifest.Empty())
    {
      throw WireError("a frame of " + std::to_string(size) + " bytes has no "
          "elements, but names " + std::to_string(frame.manifest.Gradients()) +
          " gradients");
    }
    if (frame.vector)
    {
      Subtract(problem.Iterate(), frame.vector, endpoint.Elements());
      sums.Relay();
    }
    node.Accept(true, *this);
  }

  //! The sum of a channel goes out.
  void PutVector(size_t /* link */,
                 Outbox& box,
                 FrameHeader& header,
                 Buffer& rest)
  { sums.Put(box, header, rest); }

  //! What rounding has left of own updates goes out with the final count.
  void Finish() { sums.Flush(problem.Iterate()); }

  void Reserve() { sums.Reserve(); }

  //! Modify how many of its own gradients this rank may have waiting for a
  //! neighbour before it is Ahead() (0: no limit).
  size_t& MaxLead() { return maxLead; }
  size_t MaxLead() const { return maxLead; }

  //! Is this rank so far ahead of a neighbour?
  bool Ahead() const
  {
    const std::vector<size_t>& emit = endpoint.Routes().Emit();
    return maxLead > 0 && std::any_of(emit.begin(), emit.end(),
        [this](const size_t channel)
        { return endpoint.Box(channel).own >= maxLead; });
  }

 private:
  Problem<ElemType>& problem;
  dasgd::Node<ElemType> node;
  Endpoint<ElemType>& endpoint;
  UpdateSums<ElemType> sums;
  size_t maxLead = 0;
};

//! DASGD as an algorithm; see Asynchronous.
struct DasgdTraits : AlgorithmDefaults
{
  static const char* Name() { return "DASGD"; }
  static constexpr bool formats = true;

  template<typename ElemType>
  static auto Make(const Routes& routes,
                   const RunSettings& settings,
                   const Options&,
                   const size_t elements,
                   Problem<ElemType>& problem)
  {
    auto worker = std::make_unique<DasgdWorker<ElemType>>(
        routes, settings.window, elements, problem, settings.format);
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

#endif
