/**
 * @file dpsgd.hpp
 *
 * Decentralized parallel SGD: in every round each rank averages its model with
 * those of its neighbours, and takes a step.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BASELINES_DPSGD_HPP
#define DASGD_BASELINES_DPSGD_HPP

#include "../topology/mixing.hpp"
#include "../protocol/participant.hpp"
#include "../algorithms/algorithm_defaults.hpp"

#include <memory>

namespace dasgd {

/**
 * One rank of D-PSGD (Lian et al., 2017).  In a round rank i sends its model to
 * its neighbours, computes a gradient at it, and once all their models of this
 * round are here becomes x_i = sum_j W_ij x_j - step * gradient.  It waits for
 * its neighbours, and for nobody else.
 *
 * The mean of all models moves by the mean of all steps as long as all ranks
 * take part in the same rounds.  So a rank that has no work left goes on
 * averaging, and all end after the same round: the last one in which a rank
 * computed, and as many more as it takes for that to be known to all, since
 * manifests travel with the models, one hop in each round.
 */
template<typename ElemType>
class DpsgdWorker : public WorkerDefaults
{
 public:
  /**
   * @param mixing The weights of this rank's neighbours.
   * @param hops The most hops between any two ranks.
   */
  DpsgdWorker(const Routes& routes,
              const Mixing& mixing,
              const size_t hops,
              const size_t window,
              const size_t elements,
              RankTask<ElemType>& task) :
      task(task),
      participant(routes, { Neighbours::BothWays(routes), window,
          window * mixing.Neighbours().size() + 1, true }, elements, task),
      endpoint(participant.Endpoint()),
      mixing(mixing),
      hops(hops),
      sent(mixing.Neighbours().size(), false),
      rounds(mixing.Neighbours().size(), 0)
  {
    for (Sum& sum : sums)
      sum.values.assign(elements, 0);
    participant.Counts().vectorBound = 2 +
        2 * window * mixing.Neighbours().size() + 1;
  }

  dasgd::Participant<ElemType>& Participant() { return participant; }
  const dasgd::Participant<ElemType>& Participant() const
  { return participant; }

  //! One gradient in each round.
  bool MayCompute() const { return !computed; }

  //! Compute the gradient of this round.
  void Compute()
  {
    participant.BeginStep();
    computed = true;
    participant.Guard([&]()
    {
      if (task.Compute(entry))
      {
        participant.Announce(entry, nullptr, task.BatchPoints());
        hasStep = true;
      }
    });
    participant.Conclude(*this);
    EndRound();
  }

  //! Add a neighbour's model to the sum of its round.
  void Receive(const std::uint8_t* bytes, const size_t size, const size_t from)
  {
    endpoint.Read(bytes, size);
    if (const ElemType* model = endpoint.Frame().vector)
    {
      const size_t link = endpoint.LinkTo(from);
      // A neighbour may be one round ahead: it had our model of this round.
      const std::uint64_t its = ++rounds[link];
      if (its != round && its != round + 1)
      {
        throw WireError("a model of round " + std::to_string(its) +
            " came from rank " + std::to_string(from) + " in round " +
            std::to_string(round));
      }
      Sum& sum = sums[its % 2];
      const ElemType weight = ElemType(mixing.Weights()[link]);
      for (size_t i = 0; i < endpoint.Elements(); ++i)
        sum.values[i] += weight * model[i];
      ++sum.models;
    }
    participant.Accept(false, *this);
    EndRound();
  }

  bool HasVector(const size_t link) const { return !sent[link] && !MayLeave(); }

  //! The model goes with the last manifest, so that a rank that has the model
  //! of a round has all that was known before it.
  void PutVector(const size_t link, Outbox& box, FrameHeader& header, Buffer&)
  {
    if (!HasVector(link) || endpoint.Waiting(link) > 1)
      return;
    box.buffer = endpoint.Pool().Take();
    std::copy(task.Iterate(), task.Iterate() + endpoint.Elements(),
        FrameVector<ElemType>(box.buffer));
    header.elements = endpoint.Elements();
    sent[link] = true;
  }

  //! A round may have waited for this rank's own frames.
  bool AfterSend() { return EndRound(); }

  /**
   * Has this rank taken part in the last round?  A rank has computed in at most
   * one round more than it has gradients, and says that it has finished before
   * the next.
   */
  bool MayLeave() const
  {
    return endpoint.FinalsMissing() == 0 && round > 1 + hops +
        *std::max_element(endpoint.Known().begin(),
        endpoint.Known().end());
  }

  size_t FixedVectors() const { return 2; }

 private:
  //! The weighted models of neighbours in one round, and how many there are.
  struct Sum
  {
    std::vector<ElemType> values;
    size_t models = 0;
  };

  //! End this round, if all that belongs to it is here and has been sent.
  bool EndRound()
  {
    Sum& sum = sums[round % 2];
    if ((!computed && !participant.Finished()) || MayLeave() ||
        sum.models < mixing.Neighbours().size() ||
        std::find(sent.begin(), sent.end(), false) != sent.end())
      return false;
    const ElemType own = ElemType(mixing.Own());
    ElemType* iterate = task.Iterate();
    for (size_t i = 0; i < endpoint.Elements(); ++i)
    {
      iterate[i] = own * iterate[i] + sum.values[i];
      sum.values[i] = 0;
    }
    sum.models = 0;
    sent.assign(sent.size(), false);
    ++round;
    computed = false;
    if (hasStep)
    {
      hasStep = false;
      participant.Guard([&]()
      {
        task.Step(double(task.BatchPoints()));
        participant.ApplyOwn(entry);
        task.CloseEpochs();
      });
    }
    participant.Conclude(*this);
    return true;
  }

  RankTask<ElemType>& task;
  dasgd::Participant<ElemType> participant;
  Endpoint<ElemType>& endpoint;
  Mixing mixing;
  size_t hops;
  //! The round under way, from 1.
  std::uint64_t round = 1;
  bool computed = false;
  //! Is there a gradient to step along, and which?
  bool hasStep = false;
  ManifestEntry entry;
  //! Per neighbour: has it been sent our model of this round, and how many
  //! models have come from it?
  std::vector<bool> sent;
  std::vector<std::uint64_t> rounds;
  //! Of this round and the next.
  Sum sums[2];
};

/**
 * Decentralized parallel SGD (Lian et al., "Can decentralized algorithms
 * outperform centralized algorithms?", 2017): in every round each rank averages
 * its model with those of its neighbours and takes a step.  In the end all
 * models become their mean.
 */
struct DpsgdTraits : AlgorithmDefaults
{
  static constexpr const char* Name() { return "DPSGD"; }
  static constexpr bool averages = true;
  static constexpr bool waits = true;

  template<typename ElemType>
  static auto Make(const Routes& routes,
                   const RunSettings& settings,
                   const Options&,
                   const size_t elements,
                   RankTask<ElemType>& task)
  {
    return std::make_unique<DpsgdWorker<ElemType>>(
        routes, Mixing(settings.topology,
        routes.Ranks(), routes.Rank()), settings.topology.Hops(routes.Ranks()),
        settings.window, elements, task);
  }

  //! Vectors that it may hold at a time.
  static size_t Vectors(const Routes& routes, const RunSettings& settings)
  { return 3 + 2 * settings.window * routes.BothWays().size(); }
};

} // namespace dasgd

#endif
