/**
 * @file mpi_call_impl.hpp
 *
 * Implementation of calls that could miss each other.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_MPI_MPI_CALL_IMPL_HPP
#define DASGD_MPI_MPI_CALL_IMPL_HPP

// In case it hasn't been included yet.
#include "mpi_call.hpp"

#include "backoff.hpp"
#include "mpi_communicator.hpp"
#include "mpi_environment.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dasgd {
namespace mpi {

struct CallState
{
  std::mutex mutex;
  std::condition_variable changed;
  //! Which thread has it, in calls within calls.
  std::thread::id owner;
  size_t depth = 0;
  //! The run of the owner has come to its end.
  bool closing = false;
  //! What is wrong with the threads, as this process sees it ...
  std::string problem;
  std::atomic<bool> disturbed{ false };
  //! ... and as all ranks know.
  std::string refused;
  //! The last owner, and which threads there were when it left.
  pid_t last = 0;
  std::vector<pid_t> alive;
};

namespace detail {

inline pid_t ThisThread()
{
#if defined(SYS_gettid)
  return pid_t(syscall(SYS_gettid));
#else
  return 0;
#endif
}

//! The threads of this process, where the system tells.
inline std::vector<pid_t> Threads()
{
  std::vector<pid_t> threads;
  if (DIR* const tasks = opendir("/proc/self/task"))
  {
    while (const dirent* const entry = readdir(tasks))
    {
      const pid_t thread = pid_t(std::atoi(entry->d_name));
      if (thread > 0)
        threads.push_back(thread);
    }
    closedir(tasks);
  }
  return threads;
}

//! What to do about several threads.
inline std::string ThreadsProblem()
{
  return "several threads call Optimize() on one communicator, so that those "
      "of different ranks could train each other's models; train one after the "
      "other in one thread, or give the optimizer of each thread its own "
      "Communicator(): duplicates of MPI_COMM_WORLD (MPI_Comm_dup()) that the "
      "main thread makes before, in the same order on all ranks";
}

//! The key by which communicators hold their CallState.
inline int CallKey()
{
  static const int key = []()
  {
    int made = MPI_KEYVAL_INVALID;
    Check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN,
        [](MPI_Comm, int, void* value, void*)
        {
          delete static_cast<std::shared_ptr<CallState>*>(value);
          return int(MPI_SUCCESS);
        }, &made, nullptr), "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

inline std::shared_ptr<CallState> StateOf(const MPI_Comm comm)
{
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<CallState>* state = nullptr;
  int there = 0;
  Check(MPI_Comm_get_attr(comm, CallKey(), &state, &there),
      "MPI_Comm_get_attr");
  if (!there)
  {
    state = new std::shared_ptr<CallState>(std::make_shared<CallState>());
    Check(MPI_Comm_set_attr(comm, CallKey(), state), "MPI_Comm_set_attr");
  }
  return *state;
}

//! Ranks by their numbers: "rank 1", "ranks 1 and 3".
inline std::string RanksText(const std::vector<size_t>& ranks)
{
  std::string text = (ranks.size() == 1) ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
  {
    text += (i == 0) ? "" : (i + 1 == ranks.size()) ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

//! Which ranks of a communicator another one has; empty if that has more.
inline std::vector<bool> RanksWithin(const MPI_Comm inner,
                                     const MpiCommunicator& outer)
{
  MPI_Group mine, theirs;
  Check(MPI_Comm_group(inner, &mine), "MPI_Comm_group");
  Check(MPI_Comm_group(outer.Handle(), &theirs), "MPI_Comm_group");
  int size = 0;
  MPI_Group_size(mine, &size);
  std::vector<int> ranks(size_t(size), 0), places(size_t(size), 0);
  for (int i = 0; i < size; ++i)
    ranks[size_t(i)] = i;
  MPI_Group_translate_ranks(mine, size, ranks.data(), theirs, places.data());
  MPI_Group_free(&mine);
  MPI_Group_free(&theirs);
  if (std::count(places.begin(), places.end(), MPI_UNDEFINED) > 0)
    return { };
  std::vector<bool> within(outer.Size(), false);
  for (const int place : places)
    within[size_t(place)] = true;
  return within;
}

//! What is wrong with a call within another one that others do not make.
inline std::string AloneProblem(const size_t rank,
                                const std::vector<size_t>& missing)
{
  return "Optimize() was called within another training, by a callback or the "
      "function of rank " + std::to_string(rank) + ", but not by " +
      (missing.empty() ? "all others" : RanksText(missing)) + ", which can get "
      "no further in that training without it; call it on every rank where "
      "none waits for another (in BeginOptimization() or EndOptimization(), "
      "say), or set Communicator() = MPI_COMM_SELF to train on one rank alone";
}

//! How many calls of several ranks are under way in this process?
inline std::atomic<size_t>& Active()
{
  static std::atomic<size_t> count{ 0 };
  return count;
}

//! MPI_Finalize() in the middle of a training would wait for the other ranks
//! for ever.  What it does first is to delete the attributes of MPI_COMM_SELF.
inline void RefuseToFinalize()
{
  static const bool once = []()
  {
    int key = MPI_KEYVAL_INVALID;
    Check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN,
        [](MPI_Comm, int, void*, void*)
        {
          if (Active() > 0 && !Exiting())
          {
            int rank = 0;
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            std::fputs(("dasgd: rank " + std::to_string(rank) + " called "
                "MPI_Finalize() while training was under way; the job ends. "
                "Call it after the last Optimize(), or leave it to dasgd if "
                "the program does not call MPI_Init()\n").c_str(), stderr);
            MPI_Abort(MPI_COMM_WORLD, 1);
          }
          return int(MPI_SUCCESS);
        }, &key, nullptr), "MPI_Comm_create_keyval");
    Check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr),
        "MPI_Comm_set_attr");
    return true;
  }();
  (void) once;
}

//! Only one thread may call MPI at a time unless it was initialised otherwise.
class OneThread
{
 public:
  static void Enter()
  {
    if (AnyThread())
      return;
    const std::lock_guard<std::mutex> lock(Mutex());
    if (Depth() > 0 && Owner() != std::this_thread::get_id())
    {
      std::fputs("dasgd: two threads call Optimize() at the same time, but MPI "
          "was initialized for one; the job ends.  Initialize it by "
          "MPI_Init_thread() with MPI_THREAD_MULTIPLE, or not at all, which "
          "leaves it to dasgd\n", stderr);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    Owner() = std::this_thread::get_id();
    ++Depth();
  }

  static void Leave()
  {
    const std::lock_guard<std::mutex> lock(Mutex());
    if (Depth() > 0)
      --Depth();
  }

 private:
  static std::mutex& Mutex() { static std::mutex mutex; return mutex; }
  static size_t& Depth() { static size_t depth = 0; return depth; }
  static std::thread::id& Owner() { static std::thread::id id; return id; }
};

} // namespace detail

DASGD_INLINE void RefuseThreads(const std::string& text)
{
  static std::atomic<bool> said{ false };
  if (detail::ThisThread() != getpid() && !said.exchange(true))
    std::fputs((text + "\n").c_str(), stderr);
  throw MixedThreads(text);
}

DASGD_INLINE Call::Call(const MPI_Comm parent) :
    below(Top()),
    parent(parent)
{
  int inter = 0, size = 1;
  if (!Alone(parent))
  {
    Initialize();
    if (parent != MPI_COMM_NULL)
    {
      mpi::Check(MPI_Comm_test_inter(parent, &inter), "MPI_Comm_test_inter");
      mpi::Check(MPI_Comm_size(parent, &size), "MPI_Comm_size");
    }
  }
  if (size > 1 && !inter)
  {
    detail::RefuseToFinalize();
    detail::OneThread::Enter();
    try
    {
      Enter();
    }
    catch (...)
    {
      detail::OneThread::Leave();
      throw;
    }
  }
  Top() = this;
}

DASGD_INLINE void Call::Enter()
{
  state = detail::StateOf(parent);
  const std::thread::id me = std::this_thread::get_id();
  std::unique_lock<std::mutex> lock(state->mutex);
  const auto refuse = [&](const std::string& why)
  {
    RefuseThreads("dasgd: Optimize(): " + why + ".");
  };
  bool late = false;
  while (state->depth > 0 && state->owner != me && state->refused.empty())
  {
    // Its run may be with the wrong one already: it tells all ranks.
    if (!state->closing)
    {
      state->problem = detail::ThreadsProblem();
      state->disturbed = true;
      refuse(state->problem);
    }
    // It is too late for that run to tell, but it is about to leave.
    late = true;
    state->changed.wait(lock);
  }
  if (!state->refused.empty())
    refuse(state->refused);
  within = (state->depth > 0);
  const pid_t thread = detail::ThisThread();
  // The main thread cannot be taken for one that came by chance: if it is the
  // other's turn first somewhere, that one is found out there.
  if (late || (!within && state->last != 0 && state->last != thread &&
      thread != getpid() && std::count(state->alive.begin(),
      state->alive.end(), thread) > 0))
  {
    state->problem = detail::ThreadsProblem();
    state->disturbed = true;
  }
  state->owner = me;
  ++state->depth;
  ++detail::Active();
  disturbed = &state->disturbed;
}

DASGD_INLINE Call::~Call()
{
  Top() = below;
  if (!state)
    return;
  for (auto& [talk, request] : sent)
  {
    // Few and small: they are gone as a rule.
    int done = 0;
    if (request != MPI_REQUEST_NULL && (MPI_Test(&request, &done,
        MPI_STATUS_IGNORE) != MPI_SUCCESS || !done))
    {
      static std::mutex mutex;
      static auto* const late =
          new std::list<std::list<std::pair<Talk, MPI_Request>>>();
      const std::lock_guard<std::mutex> lock(mutex);
      late->push_back(std::move(sent)); // MPI still reads it.
      break;
    }
  }
  --detail::Active();
  {
    const std::lock_guard<std::mutex> lock(state->mutex);
    if (--state->depth == 0)
    {
      state->owner = std::thread::id();
      state->closing = false;
      state->disturbed = false;
      state->problem.clear();
      state->last = detail::ThisThread();
      state->alive = detail::Threads();
    }
    state->changed.notify_all();
  }
  detail::OneThread::Leave();
}

DASGD_INLINE std::string Call::Problem() const
{
  if (!state)
    return "";
  const std::lock_guard<std::mutex> lock(state->mutex);
  return state->problem;
}

DASGD_INLINE std::string Call::Close()
{
  if (!state)
    return "";
  const std::lock_guard<std::mutex> lock(state->mutex);
  state->closing = !within;
  return state->problem;
}

DASGD_INLINE void Call::Refuse(const std::string& problem)
{
  if (!state)
    return;
  const std::lock_guard<std::mutex> lock(state->mutex);
  state->refused = problem;
  state->changed.notify_all();
}

DASGD_INLINE void Call::Begin(const MpiCommunicator& with,
                              const bool rounds,
                              const bool oneMachine)
{
  comm = &with;
  inRounds = rounds;
  // What is on its way to a rank that waits gets there in the meantime.
  patience = std::chrono::seconds(oneMachine ? 2 : 20);
  others.assign(with.Size(), Other());
}

DASGD_INLINE void Call::Tell(const size_t rank,
                             const Talk::Kind kind,
                             const std::uint64_t number)
{
  for (auto each = sent.begin(); each != sent.end();)
  {
    int done = 0;
    MPI_Test(&each->second, &done, MPI_STATUS_IGNORE);
    each = done ? sent.erase(each) : std::next(each);
  }
  sent.emplace_back(Talk{ kind, number, steps }, MPI_REQUEST_NULL);
  // Small enough to be gone at once.
  if (MPI_Isend(&sent.back().first, sizeof(Talk), MPI_BYTE, int(rank), tag,
      comm->Handle(), &sent.back().second) != MPI_SUCCESS)
    sent.pop_back();
}

DASGD_INLINE void Call::Receive()
{
  for (;;)
  {
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, tag, comm->Handle(), &there, &status) !=
        MPI_SUCCESS || !there)
      break;
    Talk talk;
    if (MPI_Recv(&talk, sizeof(talk), MPI_BYTE, status.MPI_SOURCE, tag,
        comm->Handle(), MPI_STATUS_IGNORE) != MPI_SUCCESS)
      break;
    Other& other = others[size_t(status.MPI_SOURCE)];
    const Clock::time_point now = Clock::now();
    if (talk.kind == Talk::Go)
    {
      other.gone = talk.number;
      continue;
    }
    if (talk.kind == Talk::Ask || talk.kind == Talk::Withdraw)
    {
      const bool asks = (talk.kind == Talk::Ask);
      other.asked = asks ? talk.number : 0;
      other.withdrawn = asks ? 0 : talk.number;
      other.askedSince = now;
      other.told = false;
      continue;
    }
    other.heard = now;
    const bool same = other.told && other.talk.kind == talk.kind &&
        other.talk.number == talk.number;
    if (!same)
      other.since = now;
    if (talk.kind != Talk::Busy || talk.steps <= steps)
      other.passedSince = Clock::time_point::max();
    else if (!other.told || other.passedSince == Clock::time_point::max())
      other.passedSince = now;
    other.told = true;
    other.talk = talk;
  }
  anyAsked = std::any_of(others.begin(), others.end(),
      [](const Other& other) { return other.asked != 0; });
}

DASGD_INLINE void Call::Answer(const bool idle)
{
  if (!comm)
    return;
  steps += !idle;
  changes += (idle != isIdle);
  isIdle = idle;
  const Clock::time_point now = Clock::now();
  if (now - lookedAt < std::chrono::milliseconds(idle ? 10 : 100))
    return;
  lookedAt = now;
  Receive();
  if (!anyAsked || now - toldAt < std::chrono::milliseconds(100))
    return;
  toldAt = now;
  for (size_t i = 0; i < others.size(); ++i)
  {
    if (others[i].asked != 0)
      Tell(i, idle ? Talk::Idle : Talk::Busy, changes);
  }
}

DASGD_INLINE void Call::AwaitOthers()
{
  Call* around = below;
  while (around && !around->state)
    around = around->below;
  if (!state || !around || !around->comm)
    return;
  AwaitOthers(*around);
}

DASGD_INLINE void Call::AwaitOthers(Call& around)
{
  const MpiCommunicator& outer = *around.comm;
  const std::vector<bool> called = detail::RanksWithin(parent, outer);
  // Others cannot be asked what they do.
  if (called.empty())
    return;

  // Those of one call count alike, whatever they did in others.
  const std::uint64_t number = (std::uint64_t(std::hash<std::vector<bool>>()(
      called)) << 24) + ++around.calls[called];
  const auto tellAll = [&](const Talk::Kind kind, const bool those)
  {
    for (size_t i = 0; i < outer.Size(); ++i)
    {
      if (i != outer.Rank() && (those || !called[i]))
        around.Tell(i, kind, number);
    }
  };
  for (Other& other : around.others)
    other.told = false;
  const Clock::time_point begin = Clock::now();
  tellAll(Talk::Ask, true);
  bool goes = false;
  Backoff backoff;
  for (;;)
  {
    around.Receive();
    std::vector<size_t> missing;
    bool allGo = true, withdrawn = false;
    for (size_t i = 0; i < outer.Size(); ++i)
    {
      const Other& other = around.others[i];
      if (i == outer.Rank() || !called[i])
        continue;
      if (other.asked != number && other.gone != number)
        missing.push_back(i);
      allGo = allGo && other.gone == number;
      withdrawn = withdrawn || other.withdrawn == number;
    }
    // Whoever may have been seen by all must not turn back by itself.
    if (missing.empty() && !goes)
    {
      goes = true;
      tellAll(Talk::Go, true);
    }
    if (goes && allGo)
      break;
    outer.ThrowIfRankDied();
    const Clock::time_point now = Clock::now();
    if (withdrawn || (!goes && (around.Stuck(now) || (around.inRounds &&
        now - begin > std::chrono::seconds(60)))))
    {
      tellAll(Talk::Withdraw, true);
      throw std::logic_error(detail::AloneProblem(outer.Rank(), missing));
    }
    backoff.Wait();
  }
  // Those that were not called need not answer any more.
  tellAll(Talk::Withdraw, false);
  for (Other& other : around.others)
    other.asked = 0;
}

DASGD_INLINE bool Call::Stuck(const Clock::time_point now) const
{
  for (size_t i = 0; i < others.size(); ++i)
  {
    if (i == comm->Rank())
      continue;
    const Other& other = others[i];
    // Whoever says nothing may be in a callback that is about to call.
    const bool tells = other.told && now - other.heard <
        std::chrono::seconds(1);
    const bool waits = other.asked != 0 && now - other.askedSince > patience;
    const bool idle = tells && other.talk.kind == Talk::Idle &&
        now - other.since > patience;
    // It was where this rank is, and did not call.
    const bool passed = tells && other.talk.kind == Talk::Busy &&
        other.passedSince != Clock::time_point::max() &&
        now - other.passedSince > 10 * patience;
    if (!waits && !idle && !passed)
      return false;
  }
  return true;
}

} // namespace mpi
} // namespace dasgd

#endif
