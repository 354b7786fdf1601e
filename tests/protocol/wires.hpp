/**
 * @file wires.hpp
 *
 * A transport that keeps what it is given, for tests that say when it arrives.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_TESTS_PROTOCOL_WIRES_HPP
#define DASGD_TESTS_PROTOCOL_WIRES_HPP

#include <dasgd/wire/buffer.hpp>

#include <cstdint>
#include <deque>
#include <vector>

//! The links that one rank sends on.
class Wires
{
 public:
  //! A frame that was sent.
  struct Sent
  {
    size_t link;
    std::vector<std::uint8_t> bytes;
  };

  explicit Wires(dasgd::BufferPool& pool) : pool(pool) { }

  bool CanSend(size_t) const { return room; }

  void Send(const size_t link, dasgd::Buffer&& buffer, const size_t bytes)
  {
    sent.push_back({ link, { buffer.Bytes(), buffer.Bytes() + bytes } });
    pool.Give(std::move(buffer));
  }

  bool Delivered() const { return sent.empty(); }
  static bool Busy() { return false; }
  static bool HasMessages() { return false; }

  //! Is there room for a frame?
  bool room = true;
  //! What nobody has taken yet.
  std::deque<Sent> sent;

 private:
  dasgd::BufferPool& pool;
};

#endif
