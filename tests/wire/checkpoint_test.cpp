/**
 * @file checkpoint_test.cpp
 *
 * Checkpoints say what they were told, and anything else is an exception.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "catch.hpp"

#include <dasgd/checkpoint/checkpoint_file.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace dasgd;
using Catch::Matchers::ContainsSubstring;

namespace {

//! A checkpoint with something in every part.
struct SavedSample
{
  SavedSample()
  {
    state.algorithm = "DASGD";
    state.rows = 3;
    state.cols = 2;
    state.elementBytes = 8;
    state.batchSize = 4;
    state.held = { 40, 40, 40 };
    state.sharing = Sharing::Dynamic;
    state.progress.before = 17;
    state.progress.current = 2;
    state.progress.points = { 12, 8, 9 };
    state.progress.latest = { 2, 2, 3 };
    for (const std::uint64_t number : { 2, 3 })
    {
      Progress::Epoch& epoch = state.progress.open[number];
      epoch.points = { 1, 2, 3, number };
      epoch.objectives = { 0.5, 0.25, 0, double(number) };
      epoch.total = 6 + number;
    }
    state.judged = 12.5;
    state.lastObjective = 3.5;
    state.hasLast = true;
    state.seed = 99;
    state.shuffled = 8;
    state.givenStep = 0.1;
    state.stepSize = 0.05;
    state.smoothness = 7;
    state.version = { 3, 2, 2 };
    state.gradients = 100;
    state.points = 46;
    state.seconds = 1.5;
    state.staleness.Add(3);
    state.staleness.Skip(2);
    state.resumes = 4;
    state.finished = true;
    state.reason = StopReason::Tolerance;
    state.stopValue = 2.5;
    state.policy = "a policy";
    state.policyNumbers = { 5, 6 };
    state.policyVectors = 1;
    state.tags = { { "lambda", "0.5" }, { "data", "" } };
    for (size_t i = 0; i < 6; ++i)
    {
      iterate.push_back(double(i) + 0.5);
      velocity.push_back(-double(i));
    }
    state.vectors = { Bytes(iterate), Bytes(velocity) };
    checkpoint::Encode(state, bytes);
    checkpoint::Seal(bytes);
  }

  static const std::uint8_t* Bytes(const std::vector<double>& vector)
  { return reinterpret_cast<const std::uint8_t*>(vector.data()); }

  Checkpoint state;
  std::vector<double> iterate, velocity;
  std::vector<std::uint8_t> bytes;
};

} // namespace

TEST_CASE("a checkpoint is read as it was written", "[wire]")
{
  const SavedSample sample;
  const Checkpoint read = checkpoint::Decode(sample.bytes);
  const Checkpoint& state = sample.state;
  CHECK(read.algorithm == state.algorithm);
  CHECK(read.rows == state.rows);
  CHECK(read.cols == state.cols);
  CHECK(read.elementBytes == state.elementBytes);
  CHECK(read.SameDivision(state));
  CHECK(read.progress.before == state.progress.before);
  CHECK(read.progress.current == state.progress.current);
  CHECK(read.progress.points == state.progress.points);
  CHECK(read.progress.latest == state.progress.latest);
  REQUIRE(read.progress.open.size() == 2);
  for (const auto& epoch : read.progress.open)
  {
    const Progress::Epoch& other = state.progress.open.at(epoch.first);
    CHECK(epoch.second.points == other.points);
    CHECK(epoch.second.objectives == other.objectives);
    CHECK(epoch.second.total == other.total);
  }
  CHECK(read.judged == state.judged);
  CHECK(read.lastObjective == state.lastObjective);
  CHECK(read.hasLast == state.hasLast);
  CHECK(read.seed == state.seed);
  CHECK(read.shuffled == state.shuffled);
  CHECK(read.givenStep == state.givenStep);
  CHECK(read.stepSize == state.stepSize);
  CHECK(read.smoothness == state.smoothness);
  CHECK(read.version == state.version);
  CHECK(read.gradients == state.gradients);
  CHECK(read.points == state.points);
  CHECK(read.seconds == state.seconds);
  CHECK(read.staleness.Measured() == 1);
  CHECK(read.staleness.Max() == 3);
  CHECK(read.staleness.Skipped() == 2);
  CHECK(read.resumes == state.resumes);
  CHECK(read.finished);
  CHECK(read.reason == state.reason);
  CHECK(read.stopValue == state.stopValue);
  CHECK(read.policy == state.policy);
  CHECK(read.policyNumbers == state.policyNumbers);
  CHECK(read.tags == state.tags);
  REQUIRE(read.vectors.size() == 2);
  CHECK(std::memcmp(read.vectors[0], sample.iterate.data(), 48) == 0);
  CHECK(std::memcmp(read.vectors[1], sample.velocity.data(), 48) == 0);
}

TEST_CASE("a checkpoint that was changed anywhere is not believed", "[wire]")
{
  const SavedSample sample;
  for (size_t i = 0; i < sample.bytes.size(); ++i)
  {
    for (const std::uint8_t change : { 0x01, 0x80, 0xff })
    {
      std::vector<std::uint8_t> bytes = sample.bytes;
      bytes[i] ^= change;
      INFO("byte " << i);
      CHECK_THROWS_AS(checkpoint::Decode(bytes), CheckpointError);
    }
  }
  for (size_t size = 0; size < sample.bytes.size(); ++size)
  {
    CHECK_THROWS_AS(checkpoint::Decode(std::vector<std::uint8_t>(
        sample.bytes.begin(), sample.bytes.begin() + std::ptrdiff_t(size))),
        CheckpointError);
  }
}

TEST_CASE("whoever knows the checksum cannot make it crash, either", "[wire]")
{
  const SavedSample sample;
  Random random(1);
  size_t read = 0, refused = 0;
  for (size_t i = 0; i < 20000; ++i)
  {
    std::vector<std::uint8_t> bytes = sample.bytes;
    for (size_t k = 1 + random.Below(3); k > 0; --k)
    {
      const size_t at = sizeof(checkpoint::Header) +
          random.Below(bytes.size() - sizeof(checkpoint::Header));
      bytes[at] = random.Chance(0.5) ? std::uint8_t(random.Next()) :
          (random.Chance(0.5) ? 0xff : 0);
    }
    if (random.Chance(0.2))
      bytes.resize(sizeof(checkpoint::Header) + random.Below(bytes.size() -
          sizeof(checkpoint::Header)));
    checkpoint::Seal(bytes);
    try
    {
      // What is read fits together, so that it can be resumed from.
      const Checkpoint state = checkpoint::Decode(bytes);
      ++read;
      Division division;
      division.held = { 7, 7 };
      division.data = state.data;
      const RunSnapshot next = state.Resume(division);
      Progress progress(2, 7, Sharing::Static);
      progress.Restore(next.progress);
      double objective = 0;
      for (size_t k = 0; k < 3; ++k)
        progress.CloseEpoch(objective);
    }
    catch (const CheckpointError&)
    {
      ++refused;
    }
  }
  CHECK(read > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("checkpoints are written beside the training", "[wire]")
{
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("dasgd_writer_" +
      std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string path = (folder / "model.checkpoint").string();
  // What a process that was killed has left; and what is none of our business.
  const fs::path part = folder / ".123.part.model.checkpoint";
  const fs::path other = folder / ".123.part.other";
  std::ofstream(part) << "half";
  std::ofstream(other) << "half";

  SavedSample sample;
  {
    CheckpointWriter writer(path, 0);
    for (std::uint64_t i = 1; i <= 20; ++i)
    {
      sample.state.points = 46 + i;
      while (!writer.Due())
        std::this_thread::yield();
      writer.Write(sample.state);
    }
    writer.Await();
    CHECK(writer.Written() == 20);
    CHECK(writer.Warning() == "");
    CHECK_FALSE(fs::exists(part));
    CHECK(fs::exists(other));
    const std::vector<std::uint8_t> bytes = ReadCheckpoint(path, 48);
    CHECK(checkpoint::Decode(bytes).points == 66);

    // A file that is far too large is not read, whatever its header says.
    const std::string large = (folder / "large").string();
    fs::copy_file(path, large);
    fs::resize_file(large, std::uint64_t(1) << 40);
    checkpoint::Header header;
    header.bytes = (std::uint64_t(1) << 40) - sizeof(header);
    std::fstream(large, std::ios::in | std::ios::out | std::ios::binary).write(
        reinterpret_cast<const char*>(&header), sizeof(header));
    CHECK_THROWS_WITH(ReadCheckpoint(large, 48), ContainsSubstring("too much"));
    fs::remove(large);

    // A target that cannot be written leaves the old one.
    fs::create_directories(folder / "folder");
    CheckpointWriter wrong((folder / "folder").string() + "/none/x", 0);
    wrong.Write(sample.state, true);
    CHECK(wrong.Written() == 0);
    CHECK(wrong.Warning().find("none/x") != std::string::npos);
    CHECK(wrong.Warning() == ""); // Said once.
    CHECK(wrong.Problem() != "");
  }
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    files += entry.is_regular_file();
  CHECK(files == 2);
  CHECK(ReadCheckpoint((folder / "absent").string(), 48).empty());
  CHECK_THROWS_AS(ReadCheckpoint(folder.string(), 48), CheckpointError);
  fs::remove_all(folder);
}
