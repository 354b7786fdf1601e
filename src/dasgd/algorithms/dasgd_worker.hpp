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
#include "staleness_response.hpp"
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

//! Throws unless a frame of so many bytes has the sum of the gradients that it
//! names.
template<typename ElemType>
void CheckHasVector(const DecodedFrame<ElemType>& frame, const size_t size)
{
  // A vector without gradients is what rounding has left of them.
  if (frame.vector || frame.manifest.Empty())
    return;
  throw WireError("a frame of " + std::to_string(size) + " bytes has no "
      "elements, but names " + std::to_string(frame.manifest.Gradients()) +
      " gradients");
}

/**
 * One rank of DASGD.  The problem computes: iterate, gradient and policy are
 * its own.  The endpoint and the sums exchange.
 *
 * Without overlap, one thing is done after the other: Compute() puts this rank's
 * update into the outboxes, and Receive() applies those of others.
 *
 * With overlap, frames are received and relayed while a gradient is computed.
 * The driver calls the functions of the exchanging side (Receive(), Exchange(),
 * sending) beside those of the computing side (Compute(), ApplyArrived()), and
 * updates pass between them by a HandOver.  A gradient's version is that of the
 * model it was computed on, whatever has arrived meanwhile.
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
   * @param overlap Is there an exchange while gradients are computed?
   * @param response How steps follow staleness.
   */
  DasgdWorker(const Routes& routes,
              const size_t window,
              const size_t elements,
              Problem<ElemType>& problem,
              const WireFormat& format = WireFormat::Exact,
              const bool overlap = false,
              const StalenessResponse& response = StalenessResponse()) :
      problem(problem),
      handOver(overlap ? std::make_unique<HandOver<ElemType>>(elements,
          routes.Ranks()) : nullptr),
      node(routes, { Neighbours::Of(routes), window,
          DasgdBuffers(routes, window), false }, elements, problem,
          handOver.get()),
      endpoint(node.Endpoint()),
      sums(endpoint, format),
      response(response)
  {
    node.Counts().vectorBound = DasgdVectors(routes, window) +
        format.Vectors(sizeof(ElemType)) + FixedVectors();
  }

  dasgd::Node<ElemType>& Node() { return node; }
  const dasgd::Node<ElemType>& Node() const { return node; }

  static constexpr bool mayOverlap = true;
  //! Is there an exchange while gradients are computed?
  bool Overlaps() const { return bool(handOver); }
  //! Where the two sides meet then.
  HandOver<ElemType>& Meeting() { return *handOver; }

  //! Compute one gradient, apply it, hand it to the network.
  void Compute()
  {
    node.BeginStep();
    node.Guard([&]()
    {
      ManifestEntry entry;
      if (problem.Evaluate(entry))
      {
        if (handOver)
          StepAndHandOver(entry);
        else
          StepAndEmit(entry);
      }
      problem.CloseEpochs();
    });
    node.Conclude(*this);
  }

  //! A frame came from a neighbour: relay it, and apply it or have it applied.
  void Receive(const std::uint8_t* bytes, const size_t size, const size_t from)
  {
    endpoint.Read(bytes, size);
    const DecodedFrame<ElemType>& frame = endpoint.Frame();
    CheckHasVector(frame, size);
    if (frame.vector)
      sums.Relay();
    if (handOver)
    {
      endpoint.Relay();
      gradients += frame.manifest.Gradients();
      {
        auto arrived = handOver->AddArrived();
        if (frame.vector)
          arrived->AddVector(frame.vector);
        arrived->manifest.Add(frame.manifest);
        arrived->other |= !frame.facts.empty() || frame.header.last;
        if (endpoint.History())
        {
          arrived->frames.push_back({ from, frame.header.frameBytes,
              frame.manifest.Entries() });
        }
      }
      Publish();
      return;
    }
    if (RankHistory* history = endpoint.History())
      history->Apply(from, frame.header.frameBytes, frame.manifest.Entries());
    if (frame.vector)
      Subtract(problem.Iterate(), frame.vector, endpoint.Elements());
    node.Accept(true, *this);
  }

  //! With overlap, the exchanging side: take what the other side has for the
  //! network.
  void Exchange()
  {
    const typename HandOver<ElemType>::Requests requests =
        handOver->TakeRequests();
    if (const PendingUpdates<ElemType>* own = handOver->TakeComputed())
    {
      if (own->hasVector)
        sums.Emit(own->sum.data(), own->carry);
      for (size_t i = 0; i < own->manifest.Entries().size(); ++i)
      {
        endpoint.Announce(own->manifest.Entries()[i],
            own->manifest.Version(i));
      }
    }
    if (requests.stop)
      endpoint.AskToStop(*requests.stop);
    if (requests.final)
      endpoint.BroadcastFinal();
    Publish();
  }

  void EndExchange()
  {
    over = true;
    Publish();
  }
  bool ExchangeOver() const { return handOver->Look().over; }

  //! With overlap, the computing side: apply what has arrived; false if nothing
  //! has.
  bool ApplyArrived()
  {
    const PendingUpdates<ElemType>* arrived = handOver->TakeArrived();
    static_cast<Traffic&>(node.Counts()) = handOver->Look().traffic;
    if (!arrived)
      return false;
    for (const ArrivedFrame& frame : arrived->frames)
      endpoint.History()->Apply(frame.from, frame.bytes, frame.entries);
    if (arrived->hasVector)
      Subtract(problem.Iterate(), arrived->sum.data(), endpoint.Elements());
    node.Apply(arrived->manifest, true, *this);
    return true;
  }

  //! The sum of a channel goes out.
  void PutVector(size_t /* link */,
                 Outbox& box,
                 FrameHeader& header,
                 Buffer& rest)
  { sums.Put(box, header, rest); }

  //! What rounding has left of own updates goes out with the final count.
  void Finish()
  {
    const ElemType* rest = sums.Rest(problem.Iterate());
    if (!rest)
      return;
    if (!handOver)
    {
      sums.Emit(rest, true);
      return;
    }
    auto own = handOver->AddComputed();
    own->AddVector(rest);
    own->carry = true;
  }

  void Reserve()
  {
    sums.Reserve();
    if (handOver)
      handOver->Reserve();
  }

  size_t FixedVectors() const
  { return handOver ? HandOver<ElemType>::vectors : 0; }

  //! Modify how many of its own gradients this rank may have waiting for a
  //! neighbour before it is Ahead() (0: no limit).
  size_t& MaxLead() { return maxLead; }
  size_t MaxLead() const { return maxLead; }

  //! Is this rank so far ahead of a neighbour?
  bool Ahead() const
  {
    return maxLead > 0 && maxLead <= (handOver ? handOver->Look().waiting :
        OwnWaiting());
  }

 private:
  //! Apply the update of the gradient, and put it into the outboxes.
  void StepAndEmit(ManifestEntry& entry)
  {
    const ElemType* update = nullptr;
    if (!problem.TakeStep(Scale(), sums.Unused(), sums.OnlySum(), update))
      return;
    sums.Round(problem.Iterate(), update);
    RecordStep();
    sums.Emit(update);
    node.Announce(entry, VersionToSend(), problem.BatchPoints());
    CountStep(entry);
  }

  //! The same for the exchanging side to put it there.
  void StepAndHandOver(ManifestEntry& entry)
  {
    {
      auto own = handOver->AddComputed();
      const ElemType* update = nullptr;
      ElemType* const sum = own->sum.data();
      if (!problem.TakeStep(Scale(), own->hasVector ? nullptr : sum,
          (own->hasVector && sums.Exact()) ? sum : nullptr, update))
        return;
      sums.Round(problem.Iterate(), update);
      RecordStep();
      if (update)
        own->AddVector(update);
      node.Name(entry, problem.BatchPoints());
      const std::uint64_t* const version = VersionToSend();
      entry.versioned = (version != nullptr);
      own->manifest.Add(entry, version);
    }
    handOver->Notify();
    CountStep(entry);
  }

  //! The version that the next own gradient was computed at, or null if it is
  //! not among those whose staleness is measured.
  const std::uint64_t* VersionToSend() const
  {
    const VersionVector& version = problem.State().Version();
    const size_t rank = problem.State().Rank();
    return Manifest::Versioned(version.size(), rank, version[rank] + 1) ?
        version.data() : nullptr;
  }

  //! How the step that is due follows staleness.
  StepScale Scale()
  {
    RankReport& counts = node.Counts();
    // What has been applied may not be published yet.
    const std::uint64_t applied = counts.applied - counts.computed;
    const std::uint64_t come = handOver ? handOver->Look().gradients : applied;
    const StepScale scale = response.Next(counts, std::max(come, applied) -
        applied);
    counts.stepFactors += scale.factor;
    counts.lookAheads += scale.lookAhead;
    return scale;
  }

  //! First of all: nobody may have what is not recorded.
  void RecordStep()
  {
    if (RankHistory* history = endpoint.History())
      history->Compute();
  }

  void CountStep(const ManifestEntry& entry)
  {
    if (entry.versioned)
      node.Counts().staleness.Add(0);
    else
      node.Counts().staleness.Skip(1);
    node.ApplyOwn(entry);
  }

  //! Own gradients that wait for the same neighbour at most.
  size_t OwnWaiting() const
  {
    size_t most = 0;
    for (const size_t channel : endpoint.Routes().Emit())
      most = std::max(most, endpoint.Box(channel).own);
    return most;
  }

  //! The exchanging side says how things stand.
  void Publish()
  {
    endpoint.SetComplete(endpoint.FinalsMissing() == 0);
    handOver->Publish({ endpoint.Stop() != nullptr, OwnWaiting(), gradients,
        node.Exchanged(), over });
  }

  Problem<ElemType>& problem;
  std::unique_ptr<HandOver<ElemType>> handOver;
  dasgd::Node<ElemType> node;
  Endpoint<ElemType>& endpoint;
  UpdateSums<ElemType> sums;
  StalenessResponse response;
  size_t maxLead = 0;
  //! With overlap: gradients of others that have come so far.
  std::uint64_t gradients = 0;
  //! With overlap: is the exchange over?
  bool over = false;
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
        routes, settings.window, elements, problem, settings.format,
        settings.overlap, StalenessResponse(settings.damping,
        settings.lookAhead, routes.Ranks()));
    worker->MaxLead() = settings.maxLead;
    worker->Node().Endpoint().Pace().SetShare(settings.share);
    return worker;
  }

  //! Vectors that it may hold at a time.
  static size_t Vectors(const Routes& routes, const RunSettings& settings)
  {
    // The size of an element does not matter here: formats that do not shorten
    // it need nothing, and the others are the same for all.
    return DasgdVectors(routes, settings.window) +
        settings.format.Vectors(sizeof(double)) +
        (settings.overlap ? HandOver<double>::vectors : 0);
  }
};

} // namespace dasgd

#endif
