/**
 * @file local_transport.hpp
 *
 * Frames between ranks that are threads of one process.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_THREADS_LOCAL_TRANSPORT_HPP
#define DASGD_TESTS_THREADS_LOCAL_TRANSPORT_HPP

#include <dasgd/wire/buffer.hpp>

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

//! The links of all ranks.
class LocalNetwork
{
 public:
  explicit LocalNetwork(const size_t window) : window(window) { }

  bool Has(const size_t from, const size_t to)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    return !links[{ from, to }].empty();
  }

  //! The oldest frame of a link stays there until it is popped.
  std::vector<std::uint8_t> Front(const size_t from, const size_t to)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    return links[{ from, to }].front();
  }

  void Pop(const size_t from, const size_t to)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    links[{ from, to }].pop_front();
  }

  bool HasRoom(const size_t from, const size_t to)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    return links[{ from, to }].size() < window;
  }

  void Push(const size_t from,
            const size_t to,
            std::vector<std::uint8_t> frame)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    links[{ from, to }].push_back(std::move(frame));
  }

 private:
  size_t window;
  std::mutex mutex;
  std::map<std::pair<size_t, size_t>, std::deque<std::vector<std::uint8_t>>>
      links;
};

//! The transport of one rank; see Run().
class LocalTransport
{
 public:
  LocalTransport(LocalNetwork& network,
                 const size_t rank,
                 const std::vector<size_t>& sendTo,
                 const std::vector<size_t>& receiveFrom,
                 dasgd::BufferPool& pool) :
      network(network), rank(rank), sendTo(sendTo), receiveFrom(receiveFrom),
      pool(pool)
  { }

  template<typename ActionType>
  bool Receive(ActionType&& action)
  {
    for (const size_t from : receiveFrom)
    {
      if (!network.Has(from, rank))
        continue;
      const std::vector<std::uint8_t> frame = network.Front(from, rank);
      dasgd::Buffer aligned = pool.Take();
      std::copy(frame.begin(), frame.end(), aligned.Bytes());
      action(static_cast<const std::uint8_t*>(aligned.Bytes()), frame.size(),
          from);
      pool.Give(std::move(aligned));
      network.Pop(from, rank);
      return true;
    }
    return false;
  }

  bool CanSend(const size_t link)
  { return network.HasRoom(rank, sendTo[link]); }

  void Send(const size_t link, dasgd::Buffer&& buffer, const size_t bytes)
  {
    network.Push(rank, sendTo[link], std::vector<std::uint8_t>(buffer.Bytes(),
        buffer.Bytes() + bytes));
    pool.Give(std::move(buffer));
  }

  bool Delivered()
  {
    for (const size_t peer : sendTo)
    {
      if (network.Has(rank, peer))
        return false;
    }
    return true;
  }

  //! It takes as long to look for frames here as if they were messages.
  static bool HasMessages() { return true; }
  static bool Busy() { return false; }
  static bool Crowded() { return false; }
  void Progress() { }
  void Wait() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }
  void Pause() { std::this_thread::yield(); }
  void Yield() { std::this_thread::yield(); }

 private:
  LocalNetwork& network;
  size_t rank;
  std::vector<size_t> sendTo;
  std::vector<size_t> receiveFrom;
  dasgd::BufferPool& pool;
};

#endif
