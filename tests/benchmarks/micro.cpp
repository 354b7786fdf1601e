/**
 * @file micro.cpp
 *
 * The parts of an exchange against the least that they could cost: frames
 * against memcpy, applying against BLAS' axpy, and with two ranks a frame there
 * and back against MPI's own messages.  Prints one line of JSON: for each part
 * the time of the least divided by the time of ours.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <armadillo>

#include <dasgd/core/vector_ops.hpp>
#include <dasgd/transport/mpi_transport.hpp>
#include <dasgd/wire/frame.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>

using namespace dasgd;

extern "C" void daxpy_(const int* n, const double* factor, const double* x,
                       const int* stepX, double* y, const int* stepY);

namespace {

using Clock = std::chrono::steady_clock;

//! The compiler must not leave out what nobody looks at.
template<typename T>
void Keep(T* value) { asm volatile("" : : "g"(value) : "memory"); }

//! Seconds for one call: the best of several groups of calls.
template<typename ActionType>
double Seconds(ActionType&& action, const size_t calls)
{
  double best = 1e300;
  for (size_t group = 0; group < 7; ++group)
  {
    const Clock::time_point start = Clock::now();
    for (size_t i = 0; i < calls; ++i)
      action();
    best = std::min(best, std::chrono::duration<double>(Clock::now() -
        start).count() / double(calls));
  }
  return best;
}

//! What a frame of one gradient says besides its vector.
Manifest OneGradient()
{
  Manifest manifest(2);
  ManifestEntry entry;
  entry.first = 1;
  entry.epoch = 1;
  const std::vector<std::uint64_t> version(2, 0);
  manifest.Add(entry, version.data());
  return manifest;
}

//! Encode and decode a frame against copying its vector twice.
double FrameAgainstCopy(const size_t elements)
{
  const FrameLimits<double> limits{ 2, elements };
  Buffer buffer(limits.MaxBytes()), other(limits.MaxBytes());
  std::fill_n(FrameVector<double>(buffer), elements, 1.0);
  const Manifest manifest = OneGradient();
  DecodedFrame<double> frame(2);
  const size_t calls = 1 + 2000000 / elements;
  const double ours = Seconds([&]()
  {
    FrameHeader header;
    header.elements = elements;
    const size_t bytes = EncodeFrame<double>(buffer, header, manifest, {});
    DecodeFrame(buffer.Bytes(), bytes, limits, frame);
    Keep(frame.vector);
  }, calls);
  const double copies = Seconds([&]()
  {
    std::memcpy(other.Bytes(), buffer.Bytes(), elements * sizeof(double));
    Keep(other.Bytes());
    std::memcpy(buffer.Bytes(), other.Bytes(), elements * sizeof(double));
    Keep(buffer.Bytes());
  }, calls);
  return copies / ours;
}

//! Apply an update against axpy.
double ApplyAgainstAxpy(const size_t elements)
{
  arma::vec x(elements, arma::fill::randn), y(elements, arma::fill::randn);
  const size_t calls = 1 + 5000000 / elements;
  const double ours = Seconds([&]()
  {
    Subtract(y.memptr(), x.memptr(), elements);
    Keep(y.memptr());
  }, calls);
  const double axpy = Seconds([&]()
  {
    const int n = int(elements), one = 1;
    const double factor = -1;
    daxpy_(&n, &factor, x.memptr(), &one, y.memptr(), &one);
    Keep(y.memptr());
  }, calls);
  return axpy / ours;
}

//! A frame there and one back, filled and applied at both ends, against two
//! messages.
struct ExchangeRatios
{
  //! Nothing is done with the messages.
  double ofMessages = 0;
  //! They are filled and applied as frames are.
  double ofApplied = 0;
};

//! @param lent Are frames lent, as they are on one machine, or sent?
ExchangeRatios ExchangeAgainstMessages(const size_t elements, const bool lent)
{
  const MpiCommunicator comm(MPI_COMM_WORLD);
  const size_t peer = 1 - comm.Rank();
  const FrameLimits<double> limits{ 2, elements };
  BufferPool pool(limits.MaxBytes());
  arma::vec iterate(elements, arma::fill::zeros);
  const Manifest manifest = OneGradient();
  DecodedFrame<double> frame(2);
  const size_t calls = 20 + 1000000 / elements;
  MpiTransport::Options options;
  options.buffers = lent ? 3 : 0;
  options.crowded = false;
  MpiTransport transport(comm, { peer }, { peer }, 2, pool, options);
  size_t bytes = 0;
  const auto send = [&]()
  {
    Buffer buffer = pool.Take();
    std::memcpy(FrameVector<double>(buffer), iterate.memptr(),
        elements * sizeof(double));
    FrameHeader header;
    header.elements = elements;
    bytes = EncodeFrame<double>(buffer, header, manifest, {});
    while (!transport.CanSend(0)) { }
    transport.Send(0, std::move(buffer), bytes);
  };
  const auto receive = [&]()
  {
    while (!transport.Receive([&](const std::uint8_t* data, const size_t size,
        size_t)
    {
      DecodeFrame(data, size, limits, frame);
      Subtract(iterate.memptr(), frame.vector, elements);
    })) { }
  };
  const double ours = Seconds([&]()
  {
    if (comm.Rank() == 0)
      send();
    receive();
    if (comm.Rank() == 1)
      send();
  }, calls);
  while (!transport.Delivered()) { }

  arma::vec message(Buffer::RoundUp(bytes) / sizeof(double));
  const int size = int(message.n_elem * sizeof(double));
  const auto measure = [&](const bool applied)
  {
    const auto sendMessage = [&]()
    {
      if (applied)
      {
        std::memcpy(message.memptr(), iterate.memptr(),
            elements * sizeof(double));
      }
      MPI_Send(message.memptr(), size, MPI_BYTE, int(peer), 5, MPI_COMM_WORLD);
    };
    return Seconds([&]()
    {
      if (comm.Rank() == 0)
        sendMessage();
      MPI_Recv(message.memptr(), size, MPI_BYTE, int(peer), 5, MPI_COMM_WORLD,
          MPI_STATUS_IGNORE);
      if (applied)
        Subtract(iterate.memptr(), message.memptr(), elements);
      if (comm.Rank() == 1)
        sendMessage();
    }, calls);
  };
  return { measure(false) / ours, measure(true) / ours };
}

} // namespace

int main()
{
  mpi::Initialize();
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::string text;
  const auto add = [&](const std::string& name, const double ratio)
  {
    char number[32];
    std::snprintf(number, sizeof(number), "%.4g", ratio);
    text += (text.empty() ? "{\"" : ", \"") + name + "\": " + number;
  };
  const std::pair<const char*, size_t> sizes[] = { { "1 k", 1000 },
      { "100 k", 100000 }, { "1 M", 1000000 } };
  for (const auto& size : sizes)
  {
    const std::string doubles = std::string(", ") + size.first + " doubles";
    if (ranks == 2)
    {
      for (const bool lent : { true, false })
      {
        const std::string name = std::string("frame ") + (lent ? "lent" :
            "sent") + " there and back, of MPI messages";
        const ExchangeRatios ratios = ExchangeAgainstMessages(size.second,
            lent);
        add(name + doubles, ratios.ofMessages);
        add(name + " that are filled and applied" + doubles,
            ratios.ofApplied);
      }
    }
    else
    {
      add("frame encode + decode, of two memcpy" + doubles,
          FrameAgainstCopy(size.second));
      add("apply, of axpy" + doubles, ApplyAgainstAxpy(size.second));
    }
  }
  if (rank == 0)
    std::puts((text + "}").c_str());
}
