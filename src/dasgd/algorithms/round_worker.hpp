/**
 * @file round_worker.hpp
 *
 * Synchronous SGD in rounds: all ranks compute, then all become the same.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_ALGORITHMS_ROUND_WORKER_HPP
#define DASGD_ALGORITHMS_ROUND_WORKER_HPP

#include "../core/fact.hpp"
#include "../staleness/manifest.hpp"
#include "../report/rank_report.hpp"
#include "../run/rank_task.hpp"

#include <cstring>
#include <exception>
#include <type_traits>

namespace dasgd {

//! What is averaged at the end of a round.
enum class Averaged
{
  //! Gradients: one step for all, along their mean.
  Gradients,
  //! Models, after steps of one's own.
  Models
};

//! What becomes of the mean of models: with a step of 1 and no momentum, the
//! model of all ranks.  Otherwise a step towards it, with Nesterov's momentum.
struct OuterStep
{
  double size = 1;
  double momentum = 0;

  bool Plain() const { return size == 1 && momentum == 0; }
};

//! Bytes that each of n ranks sends to sum a vector over all, going by the
//! scheme that sends the least: every rank sums one part of it.
inline std::uint64_t AllreduceBytes(const size_t ranks, const size_t bytes)
{ return 2 * std::uint64_t(bytes) * (ranks - 1) / ranks; }

/**
 * One rank of a synchronous algorithm.  Its driver (RunRounds() over MPI,
 * RoundSimulation on virtual time) calls, for each round until it is Over(),
 * Compute(), gives all ranks the messages of all, then puts into Vector() of
 * each the sum over all ranks, if any of them Computed(), and calls Finish().
 */
template<typename ElemType>
class RoundWorker
{
 public:
  /**
   * @param averaged What is averaged.
   * @param period Gradients that each rank computes in a round.
   * @param outer What becomes of the mean of models.
   * @param elements Elements of the model.
   */
  RoundWorker(const Averaged averaged,
              const size_t period,
              const OuterStep& outer,
              const size_t ranks,
              const size_t rank,
              const size_t elements,
              RankTask<ElemType>& task) :
      averaged(averaged),
      // Alone there is nothing to wait for, and nothing is judged later.
      period(ranks == 1 ? 1 : period),
      outer(ranks == 1 ? OuterStep() : outer),
      ranks(ranks),
      rank(rank),
      elements(elements),
      task(task),
      entries(this->period),
      message(sizeof(Header) + this->period * sizeof(ManifestEntry))
  { }

  void Start()
  {
    Guard([&]() { task.Begin(); });
    if (!outer.Plain())
    {
      begin.assign(task.Iterate(), task.Iterate() + elements);
      velocity.assign(elements, 0);
    }
  }

  //! Compute this round's gradients, and write the message.
  void Compute()
  {
    computed = 0;
    if (!exception)
    {
      Guard([&]()
      {
        // The others are about as far: together they must not do more than is
        // left for all.
        const std::uint64_t left = task.PointsLeft();
        std::uint64_t visited = 0;
        while (computed < period && visited < left && task.HasWork() &&
            !task.Verdict())
        {
          step = counts.computed + 1;
          if (!task.Compute(entries[computed]))
            break;
          ManifestEntry& entry = entries[computed];
          entry.origin = std::uint32_t(rank);
          entry.first = counts.computed + 1;
          entry.versioned = false;
          ++counts.computed;
          visited += ranks * task.BatchPoints();
          counts.points = entry.points;
          ++computed;
          if (averaged == Averaged::Models)
          {
            task.Step(double(task.BatchPoints()));
            task.Stepped();
          }
        }
      });
    }

    Header mine;
    mine.computed = computed;
    mine.points = (computed > 0) ? task.BatchPoints() : 0;
    const Fact* verdict = exception ? &failure : task.Verdict();
    mine.stops = (verdict != nullptr);
    mine.more = !mine.stops && task.HasWork();
    if (verdict)
    {
      own = *verdict;
      own.kind = Fact::Kind::Stop;
      own.origin = std::uint32_t(rank);
      own.count = step;
      mine.reason = own.reason;
      mine.count = own.count;
      mine.value = own.value;
    }
    std::memcpy(message.data(), &mine, sizeof(mine));
    std::memcpy(message.data() + sizeof(mine), entries.data(),
        entries.size() * sizeof(ManifestEntry));
  }

  //! What all others have to know of this round; of the same size everywhere.
  const std::vector<std::uint8_t>& Message() const { return message; }

  //! Read everybody's, one after the other.
  void ReceiveAll(const std::uint8_t* all)
  {
    bool more = false;
    computing = 0;
    batches = 0;
    entriesOfAll.clear();
    for (size_t i = 0; i < ranks; ++i)
    {
      const std::uint8_t* bytes = all + i * message.size();
      Header their;
      std::memcpy(&their, bytes, sizeof(their));
      for (size_t k = 0; k < their.computed; ++k)
      {
        entriesOfAll.emplace_back();
        std::memcpy(&entriesOfAll.back(), bytes + sizeof(their) +
            k * sizeof(ManifestEntry), sizeof(ManifestEntry));
      }
      computing += (their.computed > 0);
      batches += double(their.points);
      more = more || their.more;
      if (!their.stops)
        continue;
      Fact fact;
      fact.kind = Fact::Kind::Stop;
      fact.origin = std::uint32_t(i);
      fact.reason = their.reason;
      fact.count = their.count;
      fact.value = their.value;
      if (!stopped || Outweighs(fact, stop))
        stop = fact;
      stopped = true;
    }
    over = stopped || (!more && computing == 0);
    if (averaged == Averaged::Gradients && computing > 0 && computed == 0)
      std::fill(Vector(), Vector() + elements, ElemType(0));
  }

  //! Did anybody compute a gradient in this round?
  bool Computed() const { return computing > 0; }

  //! This rank's part of what is summed, which becomes the sum.
  ElemType* Vector()
  {
    return (averaged == Averaged::Models) ? task.Iterate() :
        task.Gradient();
  }

  //! Make use of the sum, and judge progress.
  void Finish()
  {
    if (computing == 0)
      return;
    const size_t divisor = (averaged == Averaged::Models) ? ranks : computing;
    if (divisor > 1)
    {
      ElemType* sum = Vector();
      for (size_t i = 0; i < elements; ++i)
        sum[i] /= ElemType(divisor);
    }
    if (!outer.Plain())
      TakeOuterStep();
    counts.applied += entriesOfAll.size();
    Guard([&]()
    {
      // The mean gradient is one of a mean batch.
      if (averaged == Averaged::Gradients)
        task.Step(batches / double(computing));
      for (const ManifestEntry& entry : entriesOfAll)
      {
        if (averaged == Averaged::Gradients)
          counts.staleness.Add(0);
        task.Applied(entry, task.State().Apply(entry));
      }
      if (averaged == Averaged::Gradients)
        task.Stepped();
      task.CloseEpochs();
    });
  }

  bool Over() const { return over; }

  //! Why the run ended, if it was stopped; without the text.
  const Fact* Stop() const { return stopped ? &stop : nullptr; }
  //! What this rank says of its own reason.
  const std::string& Text() const { return own.text; }
  std::exception_ptr Exception() const { return exception; }
  const RankReport& Counts() const { return counts; }
  RankReport& Counts() { return counts; }

 private:
  //! The gradients' entries follow it.
  struct Header
  {
    std::uint64_t computed = 0;
    //! Points of the last batch.
    std::uint64_t points = 0;
    //! Is there work left for this rank?
    bool more = false;
    bool stops = false;
    StopReason reason = StopReason::Budget;
    std::uint64_t count = 0;
    double value = 0;
  };
  static_assert(std::is_trivially_copyable<Header>::value &&
                std::is_trivially_copyable<ManifestEntry>::value,
      "Messages are sent as they are.");

  //! From where the round began towards the mean of models.
  void TakeOuterStep()
  {
    const ElemType size = ElemType(outer.size);
    const ElemType momentum = ElemType(outer.momentum);
    ElemType* model = task.Iterate();
    for (size_t i = 0; i < elements; ++i)
    {
      const ElemType gradient = begin[i] - model[i];
      velocity[i] = momentum * velocity[i] + gradient;
      begin[i] -= size * (gradient + momentum * velocity[i]);
      model[i] = begin[i];
    }
  }

  //! Run something of the user's; what it throws ends the run.
  template<typename ActionType>
  void Guard(ActionType&& action)
  {
    if (exception)
      return;
    try
    {
      action();
      return;
    }
    catch (const std::exception& e)
    {
      failure.text = FactText(e.what());
      exception = std::current_exception();
    }
    catch (...)
    {
      failure.text = "an exception that is not a std::exception";
      exception = std::current_exception();
    }
    failure.reason = StopReason::Error;
  }

  Averaged averaged;
  size_t period;
  OuterStep outer;
  size_t ranks;
  size_t rank;
  size_t elements;
  RankTask<ElemType>& task;

  //! This rank's gradients of the round, and all ranks'.
  std::vector<ManifestEntry> entries;
  size_t computed = 0;
  //! The last step that was begun here.
  std::uint64_t step = 0;
  std::vector<ManifestEntry> entriesOfAll;
  //! Ranks that computed, and points of their batches.
  size_t computing = 0;
  double batches = 0;
  std::vector<std::uint8_t> message;
  //! For outer steps: the model at the start of the round, and the momentum.
  std::vector<ElemType> begin;
  std::vector<ElemType> velocity;

  bool over = false;
  bool stopped = false;
  Fact stop;
  Fact own;
  Fact failure;
  std::exception_ptr exception;
  RankReport counts;
};

} // namespace dasgd

#endif
