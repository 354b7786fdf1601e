/**
 * @file transport_test.cpp
 *
 * Frames over MPI: in order, bounded on both ends, whatever their size and
 * however slow the receiver.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/core/random.hpp>
#include <dasgd/transport/mpi_transport.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace dasgd;

namespace {

constexpr size_t window = 2;

//! The ways in which frames travel: lent, sent, and sent in pieces of so many
//! bytes.
MpiTransport::Options WayOptions(const size_t way,
                                 const size_t buffers,
                                 const size_t piece = 1000)
{
  MpiTransport::Options options;
  options.buffers = (way == 0) ? buffers : 0;
  if (way == 2)
    options.messageBytes = piece;
  return options;
}

//! All ranks but this one.
std::vector<size_t> Others(const MpiCommunicator& comm)
{
  std::vector<size_t> others;
  for (size_t i = 0; i < comm.Size(); ++i)
  {
    if (i != comm.Rank())
      others.push_back(i);
  }
  return others;
}

//! What a test frame says of itself at its start and, if it is longer, at its
//! end.
struct Label
{
  std::uint64_t from, to, number, bytes;

  bool operator==(const Label& other) const
  { return std::memcmp(this, &other, sizeof(Label)) == 0; }
};

void Send(MpiTransport& transport,
          BufferPool& pool,
          const size_t link,
          const Label& label)
{
  Buffer buffer = pool.Take();
  std::memcpy(buffer.Bytes() + label.bytes - sizeof(label), &label,
      sizeof(label));
  std::memcpy(buffer.Bytes(), &label, sizeof(label));
  transport.Send(link, std::move(buffer), size_t(label.bytes));
}

//! The label, if both of them agree and the message is as long as it should be.
bool Read(const std::uint8_t* bytes, const size_t size, Label& label)
{
  std::memcpy(&label, bytes, sizeof(label));
  if (size != label.bytes)
    return false;
  Label end;
  std::memcpy(&end, bytes + label.bytes - sizeof(label), sizeof(label));
  return end == label;
}

} // namespace

TEST_CASE("Frames of any size arrive once and in order on every link",
    "[transport]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  const std::vector<size_t> others = Others(comm);
  const size_t frames = 60;
  const size_t largest = 200000;
  const size_t way = GENERATE(0, 1, 2);
  BufferPool pool(largest);
  {
    MpiTransport transport(comm, others, others, window, pool, WayOptions(way,
        window * others.size(), 30000));
    CHECK(transport.Lent() == (way == 0 ? others.size() : 0));
    CHECK(transport.Borrowed() == (way == 0 ? others.size() : 0));
    // Small and large ones mixed: MPI sends them by different protocols, and
    // small ones must not overtake.
    Random random(1 + comm.Rank());
    std::vector<size_t> sent(others.size(), 0);
    std::vector<std::uint64_t> received(comm.Size(), 0);
    size_t missing = frames * others.size();
    size_t unsent = missing;
    bool sound = true;
    while (missing > 0 || unsent > 0 || !transport.Delivered())
    {
      const bool got = transport.Receive([&](const std::uint8_t* bytes,
          const size_t size, const size_t from)
      {
        Label label{};
        sound = Read(bytes, size, label) && label.to == comm.Rank() &&
            label.from == from &&
            label.number == received[label.from]++ && sound;
        --missing;
      });
      bool any = got;
      for (size_t link = 0; link < others.size(); ++link)
      {
        if (sent[link] == frames || !transport.CanSend(link))
          continue;
        const size_t bytes = random.Chance(0.5) ? sizeof(Label) :
            sizeof(Label) + random.Below(largest - sizeof(Label));
        Send(transport, pool, link, Label{comm.Rank(), others[link],
            sent[link]++, bytes});
        --unsent;
        any = true;
      }
      if (!any)
        transport.Wait();
    }
    CHECK(sound);
    for (const size_t peer : others)
      CHECK(received[peer] == frames);
  }
  CHECK(pool.Used() == 0);
  CHECK(pool.Peak() <= window * others.size());
}

TEST_CASE("A receiver that does not receive stops its sender, not more",
    "[transport]")
{
  // Rank 0 sends to rank 1 as much as it can; rank 1 takes nothing yet.
  const MpiCommunicator comm(MPI_COMM_WORLD);
  if (comm.Size() == 1)
    return;
  const size_t way = GENERATE(0, 1, 2);
  const bool sends = (comm.Rank() == 0), receives = (comm.Rank() == 1);
  for (const size_t bytes : { size_t(64), size_t(100000) })
  {
    INFO(bytes << " bytes");
    BufferPool pool(bytes);
    {
      MpiTransport transport(comm,
          sends ? std::vector<size_t>{1} : std::vector<size_t>{},
          receives ? std::vector<size_t>{0} : std::vector<size_t>{}, window,
          pool, WayOptions(way, window, 30000));
      std::uint64_t accepted = 0;
      if (sends)
      {
        CHECK(transport.Delivered());
        for (size_t tries = 0; tries < 20000; ++tries)
        {
          if (transport.CanSend(0))
            Send(transport, pool, 0, Label{0, 1, accepted++, bytes});
          else
            transport.Yield();
        }
        // Of messages, those that it has posted receives for may be taken; as
        // many again are under way and stay there.
        CHECK(accepted >= window);
        CHECK(accepted <= (way == 0 ? 1 : 2) * window);
        CHECK(!transport.CanSend(0));
        CHECK(!transport.Delivered());
        // Of small messages, MPI keeps a copy, but for the one in a window that
        // is synchronous.
        const size_t kept = (way == 0 || bytes > MpiLink::smallBytes) ? window :
            1;
        CHECK(pool.Used() == kept);
        CHECK(pool.Peak() >= kept);
        CHECK(pool.Peak() <= window);
      }
      // Everybody waits here, and MPI makes progress meanwhile.
      const std::uint64_t total = comm.Gather(accepted)[0];

      std::uint64_t received = 0;
      bool sound = true;
      while (receives ? received < total : !transport.Delivered())
      {
        if (!transport.Receive([&](const std::uint8_t* data, const size_t size,
            size_t)
            {
              Label label{};
              sound = Read(data, size, label) && label.number == received++ &&
                  sound;
            }))
          transport.Wait();
      }
      CHECK(sound);
      if (sends)
        CHECK(transport.CanSend(0));
    }
    CHECK(pool.Used() == 0);
  }
}

TEST_CASE("A frame of many megabytes arrives whole", "[transport]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  const size_t bytes = size_t(12) << 20;
  // From every rank to the next, and only there.
  if (comm.Size() == 1)
    return;
  const size_t next = (comm.Rank() + 1) % comm.Size();
  const size_t before = (comm.Rank() + comm.Size() - 1) % comm.Size();
  BufferPool pool(bytes);
  MpiTransport transport(comm, { next }, { before }, 1, pool,
      WayOptions(GENERATE(0, 1, 2), 1, size_t(1) << 20));
  Buffer buffer = pool.Take();
  for (size_t i = 0; i < bytes; i += 8)
  {
    const std::uint64_t word = Mix(i, comm.Rank());
    std::memcpy(buffer.Bytes() + i, &word, sizeof(word));
  }
  CHECK(transport.CanSend(0));
  transport.Send(0, std::move(buffer), bytes);

  bool received = false, sound = true;
  while (!received || !transport.Delivered())
  {
    if (!transport.Receive([&](const std::uint8_t* data, const size_t size,
            size_t)
        {
          received = true;
          sound = (size == bytes);
          for (size_t i = 0; sound && i < bytes; i += 8)
          {
            std::uint64_t word;
            std::memcpy(&word, data + i, sizeof(word));
            sound = (word == Mix(i, before));
          }
        }))
      transport.Wait();
  }
  CHECK(sound);
}

TEST_CASE("A frame that has come is found by the first look", "[transport]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  if (comm.Size() == 1)
    return;
  const bool sends = (comm.Rank() == 0), receives = (comm.Rank() == 1);
  // By this the receiver learns that a frame was sent, without a call of MPI,
  // which would look for it.
  const std::string path = "/tmp/dasgd_transport_test." + std::to_string(
      comm.Gather(std::uint64_t(getpid()))[0]);
  if (sends)
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  BufferPool pool(64);
  MpiTransport transport(comm,
      sends ? std::vector<size_t>{1} : std::vector<size_t>{},
      receives ? std::vector<size_t>{0} : std::vector<size_t>{}, window, pool,
      WayOptions(1, window));
  std::fstream sign;
  if (sends || receives)
    sign.open(path, sends ? std::ios::out : std::ios::in);
  size_t found = 0;
  const size_t rounds = 20;
  for (size_t i = 0; i < rounds; ++i)
  {
    if (sends)
    {
      while (!transport.CanSend(0))
        transport.Yield();
      Send(transport, pool, 0, Label{ 0, 1, i, 64 });
      sign << 'x' << std::flush;
    }
    if (receives)
    {
      sign.get();
      found += transport.Receive([](const std::uint8_t*, size_t, size_t) { });
    }
    comm.Gather(std::uint64_t(0));
  }
  if (receives)
    CHECK(found == rounds);
  if (sends)
    unlink(path.c_str());
}

// Over TCP; in shared memory, MPI has other ways.
TEST_CASE("A long frame needs no answer of a sender that computes",
    "[.tcp]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  REQUIRE(comm.Size() == 2);
  const bool sends = (comm.Rank() == 0);
  // By this the sender learns that the frame is there, without a call of MPI,
  // which would make progress with it.
  const std::string path = "/tmp/dasgd_transport_test." + std::to_string(
      comm.Gather(std::uint64_t(getpid()))[0]);
  if (sends)
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const size_t bytes = 150000;
  BufferPool pool(bytes);
  MpiTransport transport(comm,
      sends ? std::vector<size_t>{1} : std::vector<size_t>{},
      sends ? std::vector<size_t>{} : std::vector<size_t>{0}, window, pool,
      WayOptions(1, window));
  if (sends)
  {
    Send(transport, pool, 0, Label{ 0, 1, 0, bytes });
    std::ifstream(path).get();
    unlink(path.c_str());
    while (!transport.Delivered())
      transport.Wait();
  }
  else
  {
    bool found = false;
    const auto look = [&]()
    {
      found = transport.Receive([](const std::uint8_t*, size_t, size_t) { });
      if (!found)
        transport.Wait();
    };
    const auto end = std::chrono::steady_clock::now() +
        std::chrono::seconds(20);
    while (!found && std::chrono::steady_clock::now() < end)
      look();
    CHECK(found);
    std::ofstream(path) << 'x' << std::flush;
    while (!found)
      look();
  }
}

TEST_CASE("A transport without links has nothing to wait for", "[transport]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  BufferPool pool(100);
  MpiTransport transport(comm, {}, {}, window, pool);
  CHECK(transport.Delivered());
  CHECK(!transport.Receive([](const std::uint8_t*, size_t, size_t) { }));
}

TEST_CASE("A transport leaves nothing behind for the next one", "[transport]")
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  const std::vector<size_t> others = Others(comm);
  for (std::uint64_t round = 0; round < 12; ++round)
  {
    BufferPool pool(1000);
    MpiTransport transport(comm, others, others, window, pool,
        WayOptions(round % 3, others.size()));
    for (size_t link = 0; link < others.size(); ++link)
    {
      CHECK(transport.CanSend(link));
      Send(transport, pool, link, Label{comm.Rank(), others[link], round,
          500});
    }
    size_t missing = others.size();
    bool sound = true;
    while (missing > 0 || !transport.Delivered())
    {
      if (!transport.Receive([&](const std::uint8_t* bytes, const size_t size,
          size_t)
          {
            Label label{};
            sound = Read(bytes, size, label) && label.number == round && sound;
            --missing;
          }))
        transport.Wait();
    }
    CHECK(sound);
  }
}

TEST_CASE("Transports of disjoint communicators do not meet", "[transport]")
{
  int world = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, world % 2, world, &half);
  {
    const MpiCommunicator comm(half);
    const std::vector<size_t> others = Others(comm);
    BufferPool pool(1000);
    MpiTransport transport(comm, others, others, window, pool,
        WayOptions(GENERATE(0, 1), others.size()));
    for (size_t link = 0; link < others.size(); ++link)
    {
      CHECK(transport.CanSend(link));
      Send(transport, pool, link, Label{comm.Rank(), others[link],
          std::uint64_t(world % 2), 100});
    }
    size_t missing = others.size();
    bool sound = true;
    while (missing > 0 || !transport.Delivered())
    {
      if (!transport.Receive([&](const std::uint8_t* bytes, const size_t size,
          size_t)
          {
            Label label{};
            sound = Read(bytes, size, label) && label.to == comm.Rank() &&
                label.number == std::uint64_t(world % 2) && sound;
            --missing;
          }))
        transport.Wait();
    }
    CHECK(sound);
  }
  MPI_Comm_free(&half);
}

TEST_CASE("A rank may lend to some while others send to it", "[transport]")
{
  // Every second rank lends.
  const MpiCommunicator comm(MPI_COMM_WORLD);
  const std::vector<size_t> others = Others(comm);
  BufferPool pool(5000);
  MpiTransport transport(comm, others, others, window, pool,
      WayOptions(comm.Rank() % 2, others.size()));
  CHECK(transport.Lent() == (comm.Rank() % 2 == 0 ? others.size() : 0));
  CHECK(transport.Borrowed() == size_t(std::count_if(others.begin(),
      others.end(), [](const size_t rank) { return rank % 2 == 0; })));
}

TEST_CASE("Memory of another process is found by its handle only",
    "[transport]")
{
  const SharedMemory mine(size_t(1) << 20);
  CHECK(bool(mine));
  mine.Bytes()[4711] = 42;
  const SharedMemory same(mine.Export());
  CHECK(bool(same));
  CHECK(same.Bytes() != mine.Bytes());
  CHECK(same.Bytes()[4711] == 42);

  // Another file of that number, another process, a machine where it is not.
  SharedMemory::Handle handle = mine.Export();
  ++handle.token;
  CHECK(!SharedMemory(handle));
  handle = mine.Export();
  handle.file = 0;
  CHECK(!SharedMemory(handle));
  handle = mine.Export();
  handle.process = std::uint64_t(getppid());
  CHECK(!SharedMemory(handle));
  handle = mine.Export();
  handle.bytes *= 2;
  CHECK(!SharedMemory(handle));
  CHECK(!SharedMemory(SharedMemory::Handle()));
}

TEST_CASE("Memory is reserved where the system promises no more than it has",
    "[transport]")
{
  // Each rank for itself: they have different numbers.
  const std::string name = "strict." + std::to_string(getpid());
  for (const std::string mode : { "0\n", "1\n", "2\n", "", "two\n" })
  {
    std::ofstream(name) << mode;
    CHECK(SharedMemory::Strict(name.c_str()) == (mode == "2\n"));
  }
  std::remove(name.c_str());
  CHECK(!SharedMemory::Strict(name.c_str()));

  const size_t bytes = 100000;
  for (const bool reserve : { false, true })
  {
    const SharedMemory memory(bytes, reserve);
    REQUIRE(bool(memory));
    struct stat status;
    REQUIRE(stat(("/proc/self/fd/" + std::to_string(memory.Export().file))
        .c_str(), &status) == 0);
    // Blocks of 512 bytes.
    CHECK((status.st_blocks * 512 >= off_t(bytes)) == reserve);
    CHECK(std::count(memory.Bytes(), memory.Bytes() + bytes, 0) ==
        std::ptrdiff_t(bytes));
  }
}

TEST_CASE("A pool that has its memory given takes no other", "[transport]")
{
  BufferPool pool(100);
  std::vector<std::uint64_t> memory(2 * pool.BufferBytes() / 8);
  pool.Use(reinterpret_cast<std::uint8_t*>(memory.data()), 2);
  Buffer first = pool.Take(), second = pool.Take();
  CHECK(first.Bytes() == reinterpret_cast<std::uint8_t*>(memory.data()));
  CHECK(second.Bytes() == first.Bytes() + pool.BufferBytes());
  CHECK_THROWS_AS(pool.Take(), std::length_error);
  pool.Give(std::move(second));
}
