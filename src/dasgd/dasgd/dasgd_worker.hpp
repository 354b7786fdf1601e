/**
 * @file dasgd_worker.hpp
 *
 * Decentralized asynchronous SGD: what one rank does, Algorithm 1 of the paper
 * over routes with summed relays.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_DASGD_DASGD_WORKER_HPP
#define DASGD_DASGD_DASGD_WORKER_HPP

#include "../core/vector_ops.hpp"
#include "../protocol/participant.hpp"
#include "../algorithms/algorithm_defaults.hpp"
#include "staleness_response.hpp"
#include "update_sums.hpp"


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
 * One rank of DASGD.  The task computes: iterate, gradient and policy are
 * its own.  The endpoint and the sums exchange.
 *
 * One thing is done after the other: Compute() puts this rank's update into the
 * outboxes, and Receive() applies those of others.  A rank that exchanges while
 * it computes has a board instead; see BoardExchange.
 */
template<typename ElemType>
class DasgdWorker : public WorkerDefaults
{
 public:
  /**
   * @param routes The routes of this rank.
   * @param window Frames under way to each neighbour.
   * @param elements Elements of the model.
   * @param task What to train.
   * @param format How updates are written.
   * @param response How steps follow staleness.
   */
  DasgdWorker(const Routes& routes,
              const size_t window,
              const size_t elements,
              RankTask<ElemType>& task,
              const WireFormat& format = WireFormat::Exact,
              const StalenessResponse& response = StalenessResponse()) :
      task(task),
      participant(routes, { Neighbours::Of(routes), window,
          DasgdBuffers(routes, window), false }, elements, task),
      endpoint(participant.Endpoint()),
      sums(endpoint, format),
      response(response)
  {
    participant.Counts().vectorBound = DasgdVectors(routes, window) +
        format.Vectors(sizeof(ElemType));
  }

  dasgd::Participant<ElemType>& Participant() { return participant; }
  const dasgd::Participant<ElemType>& Participant() const
  { return participant; }

  //! Compute one gradient, apply it, hand it to the network.
  void Compute()
  {
    participant.BeginStep();
    participant.Guard([&]()
    {
      ManifestEntry entry;
      if (task.Evaluate(entry))
        StepAndEmit(entry);
      task.CloseEpochs();
    });
    participant.Conclude(*this);
  }

  //! A frame came from a neighbour: relay it, and apply it.
  void Receive(const std::uint8_t* bytes, const size_t size, const size_t from)
  {
    endpoint.Read(bytes, size);
    const DecodedFrame<ElemType>& frame = endpoint.Frame();
    CheckHasVector(frame, size);
    if (frame.vector)
      sums.Relay();
    if (RankHistory* history = endpoint.History())
      history->Apply(from, frame.header.frameBytes, frame.manifest.Entries());
    if (frame.vector)
      Subtract(task.Iterate(), frame.vector, endpoint.Elements());
    participant.Accept(true, *this);
  }

  //! The sum of a channel goes out.
  void PutVector(size_t /* link */,
                 Outbox& box,
                 FrameHeader& header,
                 Buffer& rest)
  { sums.Put(box, header, rest); }

  //! What rounding has left of own updates goes out with the final count.
  void Finish()
  { sums.Emit(sums.Remainder(task.Iterate()), true); }

  void Reserve() { sums.Reserve(); }

  //! Modify how many of its own gradients this rank may have waiting for a
  //! neighbour before it is Ahead() (0: no limit).
  size_t& MaxLead() { return maxLead; }
  size_t MaxLead() const { return maxLead; }

  //! Is this rank so far ahead of a neighbour?
  bool Ahead() const
  { return maxLead > 0 && maxLead <= OwnWaiting(); }

 private:
  //! Apply the update of the gradient, and put it into the outboxes.
  void StepAndEmit(ManifestEntry& entry)
  {
    const ElemType* update = nullptr;
    if (!task.TakeStep(Scale(), sums.Unused(), sums.OnlySum(), update))
      return;
    sums.Round(task.Iterate(), update);
    RecordStep();
    sums.Emit(update);
    participant.Announce(entry, VersionToSend(), task.BatchPoints());
    CountOwn(entry);
  }

  //! The version that the next own gradient was computed at, or null if it is
  //! not among those whose staleness is measured.
  const std::uint64_t* VersionToSend() const
  {
    const VersionVector& version = task.State().Version();
    const size_t rank = task.State().Rank();
    return Manifest::Versioned(version.size(), rank, version[rank] + 1) ?
        version.data() : nullptr;
  }

  //! How the step that is due follows staleness.
  StepScale Scale()
  {
    RankReport& counts = participant.Counts();
    const StepScale scale = response.Next(counts, 0);
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

  void CountOwn(const ManifestEntry& entry)
  {
    if (entry.versioned)
      participant.Counts().staleness.Add(0);
    else
      participant.Counts().staleness.Skip(1);
    participant.ApplyOwn(entry);
  }

  //! Own gradients that wait for the same neighbour at most.
  size_t OwnWaiting() const
  {
    size_t most = 0;
    for (const size_t channel : endpoint.Routes().Emit())
      most = std::max(most, endpoint.Box(channel).own);
    return most;
  }

  RankTask<ElemType>& task;
  dasgd::Participant<ElemType> participant;
  Endpoint<ElemType>& endpoint;
  UpdateSums<ElemType> sums;
  StalenessResponse response;
  size_t maxLead = 0;
};

//! DASGD as an algorithm; see Asynchronous.
struct DasgdTraits : AlgorithmDefaults
{
  static constexpr const char* Name() { return "DASGD"; }
  static constexpr bool formats = true;
  static constexpr bool survives = true;

  template<typename ElemType>
  static auto Make(const Routes& routes,
                   const RunSettings& settings,
                   const Options&,
                   const size_t elements,
                   RankTask<ElemType>& task)
  {
    auto worker = std::make_unique<DasgdWorker<ElemType>>(
        routes, settings.window, elements, task, settings.format,
        StalenessResponse(settings.damping, settings.lookAhead,
        routes.Ranks()));
    worker->MaxLead() = settings.maxLead;
    worker->Participant().Endpoint().Pace().SetShare(settings.share);
    return worker;
  }

  //! Vectors that it may hold at a time.
  static size_t Vectors(const Routes& routes, const RunSettings& settings)
  {
    // The size of an element does not matter here: formats that do not shorten
    // it need nothing, and the others are the same for all.  With an exchange
    // beside computing there is a board, with a sum of its own, and one of what
    // has arrived.
    return DasgdVectors(routes, settings.window) +
        settings.format.Vectors(sizeof(double)) + (settings.overlap ? 3 : 0);
  }
};

} // namespace dasgd

#endif
