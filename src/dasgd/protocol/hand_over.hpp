/**
 * @file hand_over.hpp
 *
 * Where the exchanging side of a rank and its computing side meet, if they run
 * at the same time.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_PROTOCOL_HAND_OVER_HPP
#define DASGD_PROTOCOL_HAND_OVER_HPP

#include "../core/fact.hpp"
#include "../core/manifest.hpp"
#include "../report/rank_report.hpp"
#include "../core/vector_ops.hpp"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace dasgd {

//! A frame as a history records it.
struct ArrivedFrame
{
  size_t from;
  std::uint64_t bytes;
  std::vector<ManifestEntry> entries;
};

//! Updates that one side has for the other: their sum, and what it holds.
template<typename ElemType>
struct PendingUpdates
{
  PendingUpdates(const size_t elements, const size_t ranks) :
      sum(elements), manifest(ranks) { }

  //! Add a vector, unless it was formed right here.
  void AddVector(const ElemType* vector)
  {
    if (hasVector)
      Add(sum.data(), vector, sum.size());
    else if (vector != sum.data())
      std::memcpy(sum.data(), vector, sum.size() * sizeof(ElemType));
    hasVector = true;
  }

  bool Empty() const { return !hasVector && manifest.Empty() && !other; }

  void Clear()
  {
    hasVector = carry = other = false;
    manifest.Clear();
    frames.clear();
  }

  std::vector<ElemType> sum;
  bool hasVector = false;
  //! Does the sum hold something that no gradient of the manifest accounts for?
  bool carry = false;
  Manifest manifest;
  //! Has anything else arrived, such as facts?
  bool other = false;
  //! If a history is recorded.
  std::vector<ArrivedFrame> frames;
};

/**
 * One side adds updates, the other takes all that are there.  Whoever works on
 * them has them to himself: under the lock, only pointers change hands.
 */
template<typename ElemType>
class UpdateSlot
{
 public:
  using Updates = PendingUpdates<ElemType>;

  UpdateSlot(const size_t elements, const size_t ranks) :
      there(std::make_unique<Updates>(elements, ranks)),
      taken(std::make_unique<Updates>(elements, ranks))
  { }

  //! What the other side has not taken yet, to add to it; it cannot be taken
  //! while this lives.
  class Adding
  {
   public:
    Adding(UpdateSlot& slot, std::mutex& mutex) : slot(slot), mutex(mutex)
    {
      const std::lock_guard<std::mutex> lock(mutex);
      updates = std::move(slot.there);
    }

    ~Adding()
    {
      const std::lock_guard<std::mutex> lock(mutex);
      slot.there = std::move(updates);
    }

    Adding(const Adding&) = delete;
    Adding& operator=(const Adding&) = delete;

    Updates* operator->() { return updates.get(); }

   private:
    UpdateSlot& slot;
    std::mutex& mutex;
    std::unique_ptr<Updates> updates;
  };

  /**
   * Take what is there; null if that is nothing, or is being added to.  It stays
   * valid until the next call.
   */
  Updates* Take(std::mutex& mutex)
  {
    taken->Clear();
    const std::lock_guard<std::mutex> lock(mutex);
    if (!there || there->Empty())
      return nullptr;
    std::swap(there, taken);
    return taken.get();
  }

  //! Make room for the largest manifests, before the sides begin.
  void Reserve()
  {
    for (Updates* updates : { there.get(), taken.get() })
      updates->manifest.Reserve(Manifest::MaxEntries(
          updates->manifest.Origins()));
  }

  //! Is there something to take?  Call it under the lock.
  bool Any() const { return there && !there->Empty(); }

 private:
  //! Null while it is being added to.
  std::unique_ptr<Updates> there;
  std::unique_ptr<Updates> taken;
};

/**
 * Everything that passes between the two sides.  A side that has something to
 * do never waits for the other.
 */
template<typename ElemType>
class HandOver
{
 public:
  using Updates = PendingUpdates<ElemType>;
  using Adding = typename UpdateSlot<ElemType>::Adding;

  //! What the computing side asks for.
  struct Requests
  {
    //! Ask all to stop.
    std::optional<Fact> stop;
    //! This rank computes no more.
    bool final = false;
  };

  //! Vectors of the model that it holds.
  static constexpr size_t vectors = 4;

  HandOver(const size_t elements, const size_t ranks) :
      arrived(elements, ranks), computed(elements, ranks) { }

  //! Make room, so that nothing is allocated on the way.
  void Reserve()
  {
    arrived.Reserve();
    computed.Reserve();
  }

  //
  // The exchanging side.
  //

  //! To add what has arrived.
  Adding AddArrived() { return Adding(arrived, mutex); }

  //! Own updates, or null.
  Updates* TakeComputed() { return computed.Take(mutex); }

  //! What the other side asks for.  All that it handed over before can be taken
  //! after this call.
  Requests TakeRequests()
  {
    const std::lock_guard<std::mutex> lock(mutex);
    Requests now;
    std::swap(now, requests);
    return now;
  }

  //! How things stand on the exchanging side.
  struct Status
  {
    //! Has somebody asked to stop?
    bool stop = false;
    //! Own gradients that wait for the same neighbour at most.
    size_t waiting = 0;
    //! Gradients of others that have come so far.
    std::uint64_t gradients = 0;
    dasgd::Traffic traffic;
    //! Will nothing more arrive?  What is there can still be taken.
    bool over = false;
  };

  void Publish(const Status& now)
  {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      status = now;
    }
    changed.notify_all();
  }

  //! Wait until the other side has something, or so long.
  void WaitForComputed(const double seconds)
  {
    Await(seconds, [this]()
    { return computed.Any() || requests.stop || requests.final; });
  }

  //
  // The computing side.
  //

  //! What has arrived, or null.
  Updates* TakeArrived() { return arrived.Take(mutex); }

  //! To add an own update.
  Adding AddComputed() { return Adding(computed, mutex); }

  //! Ask all to stop.
  void AskToStop(const Fact& fact)
  {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      requests.stop = fact;
    }
    changed.notify_all();
  }

  //! Tell all that this rank computes no more.
  void AskFinal()
  {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      requests.final = true;
    }
    changed.notify_all();
  }

  //! Own updates were added: the other side need not wait any longer.
  void Notify() { changed.notify_all(); }

  Status Look() const
  {
    const std::lock_guard<std::mutex> lock(mutex);
    return status;
  }

  //! Wait until there is something to take or the exchange is over, or so long.
  void WaitForArrived(const double seconds)
  { Await(seconds, [this]() { return status.over || arrived.Any(); }); }

 private:
  template<typename ConditionType>
  void Await(const double seconds, ConditionType&& condition)
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_for(lock, std::chrono::duration<double>(seconds), condition);
  }

  mutable std::mutex mutex;
  std::condition_variable changed;
  UpdateSlot<ElemType> arrived;
  UpdateSlot<ElemType> computed;
  Requests requests;
  Status status;
};

} // namespace dasgd

#endif
