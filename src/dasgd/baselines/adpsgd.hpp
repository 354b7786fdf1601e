/**
 * @file adpsgd.hpp
 *
 * Asynchronous decentralized parallel SGD: after each step a rank averages its
 * model with that of one neighbour, chosen at random.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_ADPSGD_HPP
#define DASGD_BASELINES_ADPSGD_HPP

#include "../core/random.hpp"
#include "../protocol/participant.hpp"
#include "../algorithms/algorithm_defaults.hpp"

#include <memory>

namespace dasgd {

/**
 * One rank of AD-PSGD (Lian et al., 2018).  Ranks i and j are to become
 * (x_i + x_j) / 2 both.  Rank i sends x_i and goes on; rank j works out the
 * difference d = (x_j - x_i) / 2, subtracts it from its own model and sends it
 * back; rank i adds it, whatever its model is by then.  So the mean of all
 * models is kept, nobody waits for anybody, and there is no deadlock on any
 * topology, nor need it be bipartite.
 */
template<typename ElemType>
class AdpsgdWorker : public WorkerDefaults
{
 public:
  //! @param seed For the choice of neighbours.
  AdpsgdWorker(const Routes& routes,
               const std::uint64_t seed,
               const size_t window,
               const size_t elements,
               RankTask<ElemType>& task) :
      task(task),
      participant(routes, { Neighbours::BothWays(routes), window,
          (window + 1) * routes.BothWays().size() + 1, true }, elements,
          task),
      endpoint(participant.Endpoint()),
      random(Mix(seed, routes.Rank())),
      replies(routes.BothWays().size())
  {
    participant.Counts().vectorBound = endpoint.MaxBuffers() +
        window * replies.size();
  }

  dasgd::Participant<ElemType>& Participant() { return participant; }
  const dasgd::Participant<ElemType>& Participant() const
  { return participant; }

  //! Compute one gradient, step along it, and ask a neighbour for its model.
  void Compute()
  {
    participant.BeginStep();
    participant.Guard([&]()
    {
      ManifestEntry entry;
      if (task.Compute(entry))
      {
        participant.Announce(entry, nullptr, task.BatchPoints());
        task.Step(double(task.BatchPoints()));
        participant.ApplyOwn(entry);
      }
      task.CloseEpochs();
    });
    if (request == Request::None && !replies.empty())
    {
      request = Request::Wanted;
      partner = size_t(random.Below(replies.size()));
    }
    participant.Conclude(*this);
  }

  void Receive(const std::uint8_t* bytes, const size_t size, const size_t from)
  {
    endpoint.Read(bytes, size);
    const DecodedFrame<ElemType>& frame = endpoint.Frame();
    if (frame.vector && frame.header.kind == model)
    {
      Answer(frame.vector, from);
    }
    else if (frame.vector)
    {
      if (request != Request::UnderWay)
      {
        throw WireError("rank " + std::to_string(from) + " answers what it was "
            "not asked");
      }
      Add(task.Iterate(), frame.vector, endpoint.Elements());
      request = Request::None;
    }
    participant.Accept(false, *this);
  }

  bool HasVector(const size_t link) const
  {
    return bool(replies[link]) || (request == Request::Wanted &&
        partner == link);
  }

  void PutVector(const size_t link, Outbox& box, FrameHeader& header, Buffer&)
  {
    if (!HasVector(link))
      return;
    header.elements = endpoint.Elements();
    if (replies[link])
    {
      box.buffer = std::move(replies[link]);
      header.kind = difference;
      return;
    }
    box.buffer = endpoint.Pool().Take();
    std::copy(task.Iterate(), task.Iterate() + endpoint.Elements(),
        FrameVector<ElemType>(box.buffer));
    header.kind = model;
    request = Request::UnderWay;
  }

  //! A question that was not sent yet is dropped.
  void Finish()
  {
    if (request == Request::Wanted)
      request = Request::None;
  }

  //! A rank has not finished before its answer is here: so once all have, there
  //! is nothing left to answer.
  bool MayAnnounceFinal() const { return request == Request::None; }

 private:
  enum class Request { None, Wanted, UnderWay };

  //! Kinds of vectors: one's own model, or what to add to the other's.
  static constexpr std::uint32_t model = 1;
  static constexpr std::uint32_t difference = 2;

  //! Meet a neighbour's model halfway.
  void Answer(const ElemType* its, const size_t from)
  {
    const size_t link = endpoint.LinkTo(from);
    if (replies[link])
    {
      throw WireError("rank " + std::to_string(from) + " asks for another "
          "model before it has got one");
    }
    replies[link] = endpoint.Pool().Take();
    ElemType* reply = FrameVector<ElemType>(replies[link]);
    ElemType* iterate = task.Iterate();
    for (size_t i = 0; i < endpoint.Elements(); ++i)
    {
      reply[i] = (iterate[i] - its[i]) / 2;
      iterate[i] -= reply[i];
    }
  }

  RankTask<ElemType>& task;
  dasgd::Participant<ElemType> participant;
  Endpoint<ElemType>& endpoint;
  Random random;
  Request request = Request::None;
  size_t partner = 0;
  //! Per link: what to answer, if anything.
  std::vector<Buffer> replies;
};

/**
 * Asynchronous decentralized parallel SGD (Lian et al., "Asynchronous
 * decentralized parallel stochastic gradient descent", 2018): after each step a
 * rank averages its model with that of a neighbour, chosen at random, and does
 * not wait for it.  In the end all models become their mean.
 */
struct AdpsgdTraits : AlgorithmDefaults
{
  static constexpr const char* Name() { return "ADPSGD"; }
  static constexpr bool averages = true;

  template<typename ElemType>
  static auto Make(const Routes& routes,
                   const RunSettings& settings,
                   const Options&,
                   const size_t elements,
                   RankTask<ElemType>& task)
  {
    return std::make_unique<AdpsgdWorker<ElemType>>(
        routes, settings.seed, settings.window, elements, task);
  }

  //! Vectors that it may hold at a time.
  static size_t Vectors(const Routes& routes, const RunSettings& settings)
  { return 1 + (1 + 2 * settings.window) * routes.BothWays().size(); }
};

} // namespace dasgd

#endif
