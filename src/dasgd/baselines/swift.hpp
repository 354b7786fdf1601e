/**
 * @file swift.hpp
 *
 * SWIFT: each rank averages its model with the latest that its neighbours have
 * sent, without waiting for any.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_SWIFT_HPP
#define DASGD_BASELINES_SWIFT_HPP

#include "../topology/mixing.hpp"
#include "../protocol/participant.hpp"
#include "../algorithms/algorithm_defaults.hpp"

#include <memory>

namespace dasgd {

/**
 * One rank of SWIFT (Bornstein et al., 2023).  It keeps the latest model of
 * each neighbour.  After every so many gradients it becomes the weighted mean
 * of these and its own, and sends the result to its neighbours; a neighbour
 * that has not taken the last one yet gets the newest one later, and none in
 * between. A step changes one model only, so the mean is kept in expectation
 * and not exactly.
 */
template<typename ElemType>
class SwiftWorker : public WorkerDefaults
{
 public:
  /**
   * @param mixing The weights of this rank's neighbours.
   * @param period Average after so many gradients.
   */
  SwiftWorker(const Routes& routes,
              const Mixing& mixing,
              const size_t period,
              const size_t window,
              const size_t elements,
              RankTask<ElemType>& task) :
      task(task),
      participant(routes, { Neighbours::BothWays(routes), window,
          window * mixing.Neighbours().size() + 1, true }, elements, task),
      endpoint(participant.Endpoint()),
      mixing(mixing),
      period(period),
      // All begin at the same model.
      models(mixing.Neighbours().size(), std::vector<ElemType>(
          task.Iterate(), task.Iterate() + elements)),
      dirty(mixing.Neighbours().size(), false)
  {
    participant.Counts().vectorBound = models.size() * (1 + 2 * window) + 1;
  }

  dasgd::Participant<ElemType>& Participant() { return participant; }
  const dasgd::Participant<ElemType>& Participant() const
  { return participant; }

  //! Compute one gradient, average if it is time to, and step along it.
  void Compute()
  {
    participant.BeginStep();
    const bool now = (participant.Step() % period == 0);
    participant.Guard([&]()
    {
      ManifestEntry entry;
      if (task.Compute(entry))
      {
        participant.Announce(entry, nullptr, task.BatchPoints());
        if (now)
          Average(task.Iterate());
        task.Step(double(task.BatchPoints()));
        participant.ApplyOwn(entry);
      }
      task.CloseEpochs();
    });
    if (now)
      dirty.assign(dirty.size(), true);
    participant.Conclude(*this);
  }

  //! Keep a neighbour's model.
  void Receive(const std::uint8_t* bytes, const size_t size, const size_t from)
  {
    endpoint.Read(bytes, size);
    if (const ElemType* model = endpoint.Frame().vector)
    {
      std::copy(model, model + endpoint.Elements(),
          models[endpoint.LinkTo(from)].begin());
    }
    participant.Accept(false, *this);
  }

  //! Nobody averages once all have finished.
  bool HasVector(const size_t link) const
  { return dirty[link] && endpoint.FinalsMissing() > 0; }

  void PutVector(const size_t link, Outbox& box, FrameHeader& header, Buffer&)
  {
    if (!HasVector(link))
      return;
    box.buffer = endpoint.Pool().Take();
    std::copy(task.Iterate(), task.Iterate() + endpoint.Elements(),
        FrameVector<ElemType>(box.buffer));
    header.elements = endpoint.Elements();
    dirty[link] = false;
  }

  size_t FixedVectors() const { return models.size(); }

 private:
  void Average(ElemType* iterate)
  {
    const size_t elements = endpoint.Elements();
    const ElemType own = ElemType(mixing.Own());
    for (size_t i = 0; i < elements; ++i)
      iterate[i] *= own;
    for (size_t link = 0; link < models.size(); ++link)
    {
      const ElemType weight = ElemType(mixing.Weights()[link]);
      for (size_t i = 0; i < elements; ++i)
        iterate[i] += weight * models[link][i];
    }
  }

  RankTask<ElemType>& task;
  dasgd::Participant<ElemType> participant;
  Endpoint<ElemType>& endpoint;
  Mixing mixing;
  size_t period;
  //! The latest model of each neighbour.
  std::vector<std::vector<ElemType>> models;
  //! Per link: has the model changed since it was sent there?
  std::vector<bool> dirty;
};

/**
 * SWIFT (Bornstein et al., "SWIFT: rapid decentralized federated learning via
 * wait-free model communication", 2023): after every Period() gradients a rank
 * averages its model with the latest that its neighbours have sent.  In the end
 * all models become their mean.
 */
struct SwiftTraits : AlgorithmDefaults
{
  static constexpr const char* Name() { return "SWIFT"; }
  static constexpr bool averages = true;

  class Options
  {
   public:
    //! Get after how many gradients a rank averages (default 1).
    size_t Period() const { return period; }
    //! Modify after how many gradients a rank averages.
    size_t& Period() { return period; }

   private:
    size_t period = 1;
  };

  static std::string Validate(const Options& options, size_t)
  {
    return options.Period() >= 1 ? "" :
        "Period() is 0, but must be at least 1.";
  }
  template<typename HandshakeType>
  static void Agree(const Options& options, HandshakeType& handshake)
  { handshake.Require("Period()", options.Period()); }

  template<typename ElemType>
  static auto Make(const Routes& routes,
                   const RunSettings& settings,
                   const Options& options,
                   const size_t elements,
                   RankTask<ElemType>& task)
  {
    return std::make_unique<SwiftWorker<ElemType>>(
        routes, Mixing(settings.topology,
        routes.Ranks(), routes.Rank()), options.Period(),
        settings.window, elements, task);
  }

  //! Vectors that it may hold at a time.
  static size_t Vectors(const Routes& routes, const RunSettings& settings)
  { return 1 + (1 + 2 * settings.window) * routes.BothWays().size(); }
};

} // namespace dasgd

#endif
