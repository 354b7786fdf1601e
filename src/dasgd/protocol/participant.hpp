/**
 * @file participant.hpp
 *
 * One rank of an asynchronous run: the endpoint of the protocol and the task
 * together.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_PARTICIPANT_HPP
#define DASGD_PROTOCOL_PARTICIPANT_HPP

#include "../run/rank_task.hpp"
#include "endpoint.hpp"

#include <exception>
#include <type_traits>

namespace dasgd {

/**
 * What a worker says of its algorithm, with what most of them say.  A worker is
 * a state machine: it has no clock and no thread, and knows no MPI.  Its driver
 * (Run() over MPI, Simulation on virtual time) calls Receive() when a frame
 * has arrived, Compute() when none has and HasWork(), and Send() after each.
 * It owns a Participant, and has
 *
 *  - `Participant& Participant()`;
 *  - `void Compute()`: compute a gradient;
 *  - `void Receive(bytes, size, from)`: a frame has come from a neighbour;
 *  - `void PutVector(link, Outbox&, FrameHeader&, Buffer& rest)`: see Endpoint;
 *
 * and may have, in place of those below, its own version of each.
 */
struct WorkerDefaults
{
  //! Does a vector wait for this link, whatever else does?
  bool HasVector(size_t /* link */) const { return false; }
  //! May a gradient be computed now, if there is work?
  bool MayCompute() const { return true; }
  //! This rank computes no more.
  void Finish() { }
  //! Having finished, may this rank announce its final count?  After that it
  //! has nothing more to say.
  bool MayAnnounceFinal() const { return true; }
  //! All having announced theirs, may this rank leave?
  bool MayLeave() const { return true; }
  //! Frames were sent: is there more to send?
  bool AfterSend() { return false; }
  //! Do own gradients wait for a neighbour, so many that it may be given time;
  //! and how many are that (0: no limit)?
  bool Ahead() const { return false; }
  size_t MaxLead() const { return 0; }
  //! Vectors that are there all the time.
  size_t FixedVectors() const { return 0; }
  //! Make room, so that nothing is allocated on the way.
  void Reserve() { }
};

/**
 * The part of a worker that all asynchronous algorithms share: what is thrown
 * becomes a fact, gradients are counted, and a rank that has no work left says
 * so.  How facts get to the others is left to what derives from it.
 */
template<typename ElemType>
class ParticipantBase
{
 public:
  virtual ~ParticipantBase() = default;

  //! What happened here.
  RankReport& Counts() { return counts; }
  const RankReport& Counts() const { return counts; }

  //! Begin; call it first.
  void Start()
  {
    Guard([&]() { task.Begin(); });
  }

  //! A step begins here.
  void BeginStep()
  { step = task.State().Version()[task.State().Rank()] + 1; }
  //! A step along a gradient of another rank begins, on a server.
  void CountStep() { ++step; }
  std::uint64_t Step() const { return step; }

  /**
   * A gradient of this rank is there: say whose it is, and count it.
   *
   * @param points Points that it is of.
   */
  void Name(ManifestEntry& entry, const size_t points)
  {
    const size_t rank = task.State().Rank();
    entry.origin = std::uint32_t(rank);
    entry.first = task.State().Version()[rank] + 1;
    ++counts.computed;
    ++counts.applied;
    counts.points += points;
  }

  //! This rank has taken a step; call it in Guard().
  void ApplyOwn(const ManifestEntry& entry)
  {
    task.Applied(entry, task.State().Apply(entry));
    task.Stepped();
  }

  //! Gradients of another rank are here: count them.
  //! @param staleness If the model has applied them and it is known, or null.
  void ApplyEntry(const ManifestEntry& entry, const std::uint64_t* staleness)
  {
    if (staleness)
    {
      counts.staleness.Add(*staleness);
      ++counts.othersMeasured;
      counts.othersStaleness += *staleness;
    }
    counts.applied += entry.count;
    const double objective = task.State().Apply(entry);
    Guard([&]() { task.Applied(entry, objective); });
  }

  //! All that has come is counted: judge progress.
  template<typename WorkerType>
  void JudgeProgress(WorkerType& worker)
  {
    Guard([&]() { task.CloseEpochs(); });
    Conclude(worker);
  }

  //! Nothing has happened for a while: has a signal come?
  template<typename WorkerType>
  void Idle(WorkerType& worker)
  {
    task.Idle();
    if (!StopKnown() && task.LookForSignal())
      Conclude(worker);
  }

  //! End this rank's own computing if there is a reason to.
  template<typename WorkerType>
  void Conclude(WorkerType& worker)
  {
    // Also of a rank that has done its share: others are at work.
    if (!StopKnown() && task.Verdict())
      AskToStop(*task.Verdict());
    if (!final)
    {
      if (!finished && (StopKnown() || !task.HasWork()))
      {
        finished = true;
        worker.Finish();
      }
      // A rank that has this from all may leave, so no gradient may follow.
      if (finished && worker.MayAnnounceFinal())
      {
        final = true;
        TellFinal();
      }
    }
    Concluded(worker.MayLeave());
  }

  //! Does this rank compute no more?
  bool Finished() const { return finished; }

  //! Run something of the user's; what it throws becomes a fact.
  template<typename ActionType>
  void Guard(ActionType&& action)
  {
    if (exception)
      return;
    try
    {
      action();
    }
    catch (const std::exception& e)
    {
      Fail(FactText(e.what()));
    }
    catch (...)
    {
      Fail("an exception that is not a std::exception");
    }
  }

  //! What was thrown on this rank, if anything.
  std::exception_ptr Exception() const { return exception; }

 protected:
  explicit ParticipantBase(RankTask<ElemType>& task) : task(task) { }

  //! Ask all to stop, by a fact with reason, count, value and text.
  virtual void TellStop(const Fact& fact) = 0;
  //! This rank computes no more.
  virtual void TellFinal() = 0;
  //! Has somebody asked to stop?
  virtual bool StopKnown() const = 0;
  //! It is known whether the algorithm lets this rank leave.
  virtual void Concluded(bool /* mayLeave */) { }

  //! Has this rank asked to stop?
  bool Asked() const { return asked; }

  RankReport counts;
  RankTask<ElemType>& task;

 private:
  //! Something was thrown, and is being handled.
  void Fail(const std::string& text)
  {
    exception = std::current_exception();
    // A rank gives one reason; what is thrown after it is told to all when they
    // meet at the end.
    if (asked)
      return;
    Fact fact;
    fact.reason = StopReason::Error;
    fact.text = text;
    AskToStop(fact);
  }

  void AskToStop(Fact fact)
  {
    asked = true;
    fact.count = step;
    TellStop(fact);
  }

  //! The last step that was begun here.
  std::uint64_t step = 0;
  //! This rank computes no more ...
  bool finished = false;
  //! Has TellFinal() been called?
  bool final = false;
  bool asked = false;
  std::exception_ptr exception;
};

/**
 * A participant that tells facts and gradients by the endpoint of the protocol.
 */
template<typename ElemType>
class Participant : public ParticipantBase<ElemType>
{
 public:
  using EndpointType = dasgd::Endpoint<ElemType>;

  Participant(const Routes& routes,
       const EndpointOptions& options,
       const size_t elements,
       RankTask<ElemType>& task) :
      ParticipantBase<ElemType>(task),
      known(task.State().Version()),
      endpoint(routes, options, elements, known, this->counts)
  { }

  EndpointType& Endpoint() { return endpoint; }
  const EndpointType& Endpoint() const { return endpoint; }

  //! A step begins here.
  void BeginStep()
  {
    ParticipantBase<ElemType>::BeginStep();
    endpoint.BeginStep();
  }

  //! Name() a gradient, and announce it to all others; see
  //! Endpoint::Announce().
  void Announce(ManifestEntry& entry,
                const std::uint64_t* at,
                const size_t points)
  {
    this->Name(entry, points);
    entry.versioned = (at != nullptr);
    endpoint.Announce(entry, at);
  }

  /**
   * Gradients of other ranks are here: count them, and judge progress.
   *
   * @param measure Has the model applied them, so that their staleness can be
   *     measured?
   */
  template<typename WorkerType>
  void Apply(const Manifest& manifest, const bool measure, WorkerType& worker)
  {
    const RunState<ElemType>& state = this->task.State();
    for (size_t i = 0; i < manifest.Entries().size(); ++i)
    {
      const ManifestEntry& entry = manifest.Entries()[i];
      if (measure && entry.versioned)
      {
        const std::uint64_t size = Staleness(state.Version().data(),
            manifest.Version(i), state.Ranks());
        this->ApplyEntry(entry, &size);
        continue;
      }
      if (measure)
        this->counts.staleness.Skip(entry.count);
      this->ApplyEntry(entry, nullptr);
    }
    this->JudgeProgress(worker);
  }

  //! Pass on the frame that was read, and apply what it says; see Apply().
  template<typename WorkerType>
  void Accept(const bool measure, WorkerType& worker)
  {
    endpoint.Relay();
    Apply(endpoint.Frame().manifest, measure, worker);
  }

 private:
  void TellStop(const Fact& fact) override { endpoint.AskToStop(fact); }
  void TellFinal() override { endpoint.BroadcastFinal(); }
  bool StopKnown() const override { return endpoint.Stop() != nullptr; }

  void Concluded(const bool mayLeave) override
  { endpoint.SetComplete(endpoint.FinalsMissing() == 0 && mayLeave); }

  //! Gradients of each origin that have arrived.
  VersionVector known;
  EndpointType endpoint;
};

//! Is it this rank's turn to compute, if no frame has arrived?
template<typename WorkerType>
bool HasWork(WorkerType& worker)
{
  worker.Participant().Conclude(worker);
  return !worker.Participant().Finished() && worker.MayCompute();
}

/**
 * Has so much arrived in a row that it is time to compute, even though more is
 * there?  Without it, frames that come as fast as they are applied would keep
 * this rank from computing for ever.
 */
template<typename WorkerType>
bool Starved(WorkerType& worker)
{ return worker.Participant().Endpoint().Starved() && HasWork(worker); }

//! Hand to the transport what it has room for; false if frames wait for room
//! and none could be sent.
template<typename WorkerType, typename TransportType>
bool Send(WorkerType& worker, TransportType& transport)
{
  bool sent = worker.Participant().Endpoint().Send(transport, worker);
  while (worker.AfterSend())
    sent = worker.Participant().Endpoint().Send(transport, worker) || sent;
  return sent;
}

//! Vectors held besides iterate and gradient at most, without those that the
//! transport has for receiving.
template<typename WorkerType>
size_t PeakVectors(const WorkerType& worker)
{
  return worker.Participant().Endpoint().Pool().Peak() +
      worker.FixedVectors();
}

//! Make room, so that nothing is allocated on the way.
template<typename WorkerType>
void Reserve(WorkerType& worker)
{
  worker.Participant().Endpoint().Reserve();
  worker.Reserve();
}

namespace detail {

template<typename WorkerType, typename = void>
struct IsWorker : std::false_type { };

template<typename WorkerType>
struct IsWorker<WorkerType, std::void_t<
    decltype(std::declval<WorkerType&>().Participant().Endpoint()),
    decltype(std::declval<WorkerType&>().Compute()),
    decltype(std::declval<WorkerType&>().Receive(
        std::declval<const std::uint8_t*>(), size_t(), size_t())),
    decltype(std::declval<WorkerType&>().PutVector(size_t(),
        std::declval<Outbox&>(), std::declval<FrameHeader&>(),
        std::declval<Buffer&>()))>> :
    std::is_base_of<WorkerDefaults, WorkerType> { };

} // namespace detail

//! Is this a worker, as WorkerDefaults describes it?
template<typename WorkerType>
constexpr bool IsWorker = detail::IsWorker<WorkerType>::value;

} // namespace dasgd

#endif
