/**
 * @file checkpoint_seeds.cpp
 *
 * Writes the checkpoints in corpus/checkpoint: those of 1 to 6 ranks, without
 * their headers, and one whole file.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include <dasgd/checkpoint/checkpoint.hpp>

#include <fstream>

using namespace dasgd;

int main(int argc, char** argv)
{
  if (argc != 2)
    return 2;
  for (size_t ranks = 1; ranks <= 6; ++ranks)
  {
    // Something of everything in one or the other.
    Checkpoint state;
    state.algorithm = "DASGD";
    state.rows = 2;
    state.cols = 1 + ranks % 2;
    state.elementBytes = (ranks == 4) ? 4 : 8;
    state.batchSize = 3 + ranks;
    state.held.assign(ranks, 40);
    state.data = (ranks == 5) ? Data::Sharded : Data::Replicated;
    state.sharing = (ranks % 3 == 2) ? Sharing::Dynamic : Sharing::Static;
    state.progress.before = 17 * (ranks - 1);
    state.progress.current = 1 + state.progress.before / state.EpochPoints();
    state.progress.points.assign(ranks, 12);
    state.progress.latest.assign(ranks, 2);
    for (std::uint64_t i = 0; i < ranks % 3; ++i)
    {
      Progress::Epoch& epoch = state.progress.open[state.progress.current + i];
      epoch.points.assign(ranks + 1, 3);
      epoch.objectives.assign(ranks + 1, 0.5);
      epoch.total = 3 * (ranks + 1);
    }
    state.givenStep = 0.1;
    state.version.assign(ranks, 3);
    state.gradients = 99;
    state.points = state.progress.Known();
    state.finished = (ranks == 2);
    state.policyVectors = (ranks == 6) ? 2 : (ranks == 3);
    state.policy = (ranks == 6) ? "Adam" : "";
    state.policyNumbers.assign(ranks == 6, 7);
    for (size_t i = 0; i < ranks % 4; ++i)
      state.tags.emplace_back("name " + std::to_string(i), "value");
    const std::vector<double> vector(8, 1.5);
    state.vectors.assign(size_t(state.policyVectors) + 1,
        reinterpret_cast<const std::uint8_t*>(vector.data()));

    std::vector<std::uint8_t> bytes;
    checkpoint::Encode(state, bytes);
    checkpoint::Seal(bytes);
    checkpoint::Decode(bytes); // It is a good one.
    const auto write = [&](const std::string& name, const size_t begin)
    {
      std::ofstream(argv[1] + ("/" + name), std::ios::binary).write(
          reinterpret_cast<const char*>(bytes.data()) + begin,
          std::streamsize(bytes.size() - begin));
    };
    if (ranks == 1)
      write("ranks_1_whole_file", 0);
    write("ranks_" + std::to_string(ranks), sizeof(checkpoint::Header));
  }
}
