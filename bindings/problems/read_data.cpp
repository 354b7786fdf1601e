/**
 * @file read_data.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "read_data.hpp"
#include "user_points.hpp"

#include <data/idx_file.hpp>
#include <data/load.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace dasgd {
namespace study {

namespace {

/**
 * How many points are held out to choose step sizes with, of those to train
 * with: a tenth, since few points let a step win by chance, and at least 1000.
 */
size_t ValidationPoints(const DataRequest& request, const size_t points)
{
  return (request.validationPoints > 0) ? request.validationPoints :
      std::max<size_t>(1000, points / 10);
}

//! Points of a file of images, as many as are wanted.
void ReadImages(const std::string& folder,
                const std::string& start,
                const size_t wanted,
                LabelledSet& set,
                std::string& shape)
{
  const std::string images = folder + "/" + start + "-images-idx3-ubyte.gz";
  const std::string labels = folder + "/" + start + "-labels-idx1-ubyte.gz";
  for (const std::string& path : { images, labels })
  {
    const std::string reason = cli::ReadProblem(path);
    if (!reason.empty())
    {
      throw std::invalid_argument("'--data' is 'fashion_mnist', but '" + path +
          "' cannot be read (" + reason + "); install the package "
          "dataset-fashion-mnist, give the folder with '--data_dir', or take "
          "'--data synthetic'!");
    }
  }
  IdxFile file(images, 3);
  IdxFile names(labels, 1);
  const size_t count = std::min(wanted, std::min(file.Sizes()[0],
      names.Sizes()[0]));
  const std::vector<unsigned char> bytes = file.Read(count * file.EntrySize());
  set.points.set_size(file.EntrySize(), count);
  std::transform(bytes.begin(), bytes.end(), set.points.begin(),
      [](const unsigned char value) { return double(value) / 255; });
  const std::vector<unsigned char> read = names.Read(count);
  set.labels.set_size(count);
  std::copy(read.begin(), read.end(), set.labels.begin());
  shape = std::to_string(file.Sizes()[2]) + "x" +
      std::to_string(file.Sizes()[1]) + "x1";
}

//! Points of a file of CIFAR-10: a byte for the label and 3072 for an image.
void ReadCifar(const std::string& path,
               const size_t wanted,
               LabelledSet& set)
{
  constexpr size_t values = 3072;
  std::ifstream file(path, std::ios::binary);
  if (!file)
  {
    throw std::invalid_argument("'--data' is 'cifar10', but '" + path + "' "
        "cannot be read (" + std::strerror(errno) + "); get the binary version "
        "of CIFAR-10, as examples/paper/fetch_cifar.sh does, and give its "
        "folder with '--data_dir'!");
  }
  const size_t before = set.labels.n_elem;
  std::vector<unsigned char> bytes;
  std::vector<unsigned char> record(1 + values);
  size_t count = 0;
  while (before + count < wanted && file.read(reinterpret_cast<char*>(
      record.data()), std::streamsize(record.size())))
  {
    if (record[0] > 9)
    {
      throw std::invalid_argument("'" + path + "', in '--data_dir', gives "
          "image " + std::to_string(count) + " the label " +
          std::to_string(record[0]) + ", but CIFAR-10 has 0 to 9; get the file "
          "again!");
    }
    bytes.insert(bytes.end(), record.begin(), record.end());
    ++count;
  }
  set.points.resize(values, before + count);
  set.labels.resize(before + count);
  for (size_t i = 0; i < count; ++i)
  {
    const unsigned char* image = bytes.data() + i * (1 + values);
    set.labels[before + i] = image[0];
    std::transform(image + 1, image + 1 + values,
        set.points.begin_col(before + i),
        [](const unsigned char value) { return double(value) / 255; });
  }
}

/**
 * Clouds of points around centres of their own, which overlap somewhat.  Later
 * values are smaller, as they are in images after a change of basis: they take
 * the longest to learn, so that the test loss falls for some ten thousand
 * gradients, and hardly rises again.
 */
void Draw(const size_t classes,
          const size_t count,
          const arma::mat& centres,
          LabelledSet& set)
{
  set.points.randn(centres.n_rows, count);
  set.labels.set_size(count);
  for (size_t i = 0; i < count; ++i)
  {
    set.labels[i] = i % classes;
    set.points.col(i) += centres.col(set.labels[i]);
  }
  for (size_t j = 0; j < centres.n_rows; ++j)
    set.points.row(j) *= 3 / std::pow(1 + double(j), 0.75);
}

//! Points of few values that are not zero; a hidden linear rule, with some
//! noise, tells the class.
void DrawSparse(const size_t count,
                const arma::vec& rule,
                LabelledSet& set)
{
  constexpr size_t values = 20;
  set.points.zeros(rule.n_elem, count);
  set.labels.set_size(count);
  for (size_t i = 0; i < count; ++i)
  {
    for (const arma::uword row : arma::randi<arma::uvec>(values,
        arma::distr_param(0, int(rule.n_elem) - 1)))
      set.points(row, i) = 1;
    const double score = arma::dot(rule, set.points.col(i)) +
        arma::randn<arma::vec>(1)[0];
    set.labels[i] = size_t(score > 0);
  }
}

//! Take points off the end of a set.
LabelledSet TakeLast(LabelledSet& from, const size_t count)
{
  LabelledSet taken;
  const size_t left = from.labels.n_elem - count;
  if (count == 0)
    return taken;
  taken.points = from.points.tail_cols(count);
  taken.labels = from.labels.tail_cols(count);
  from.points.resize(from.points.n_rows, left);
  from.labels.resize(left);
  return taken;
}

/**
 * Subtract from each pixel its mean over the points to train with, as is usual:
 * otherwise the mean image alone decides how long steps may be.
 */
void Centre(DataSet& data)
{
  const arma::vec mean = arma::mean(data.train.points, 1);
  for (LabelledSet* set : { &data.train, &data.validation, &data.test })
    set->points.each_col() -= mean;
}

//! In another order.
void Mix(LabelledSet& set)
{
  const arma::uvec order = arma::randperm(set.labels.n_elem);
  set.points = arma::mat(set.points.cols(order));
  set.labels = arma::Row<size_t>(set.labels.cols(order));
}

void ReadAllCifar(const DataRequest& request,
                  const size_t wanted,
                  DataSet& data)
{
  for (size_t i = 1; i <= 5 && data.train.labels.n_elem < wanted; ++i)
  {
    ReadCifar(request.folder + "/data_batch_" + std::to_string(i) + ".bin",
        wanted, data.train);
  }
  ReadCifar(request.folder + "/test_batch.bin", request.testPoints, data.test);
  data.shape = "32x32x3";
}

void DrawAll(const DataRequest& request, const size_t wanted, DataSet& data)
{
  if (request.data == "synthetic_sparse")
  {
    const arma::vec rule(1000, arma::fill::randn);
    DrawSparse(wanted, rule, data.train);
    DrawSparse(request.testPoints, rule, data.test);
    data.shape = "1000";
    return;
  }
  const size_t classes = request.binary ? 2 : 10;
  const arma::mat centres = 0.18 * arma::randn<arma::mat>(256, classes);
  Draw(classes, wanted, centres, data.train);
  Draw(classes, request.testPoints, centres, data.test);
  data.shape = "16x16x1";
}

//! The user's own files; without one of test points, some are put aside.
void ReadFiles(const DataRequest& request, DataSet& data)
{
  LabelledSet& train = data.train;
  train = ReadUserPoints(request.training, request.labels,
      "'--training_file'", "'--labels_file'", data.shape);
  Mix(train);
  if (request.test.empty())
  {
    data.test = TakeLast(train, std::min<size_t>(request.testPoints,
        train.labels.n_elem / 6));
    return;
  }
  std::string shape;
  data.test = ReadUserPoints(request.test, request.testLabels,
      "'--test_file'", "'--test_labels_file'", shape);
  if (data.test.points.n_rows != train.points.n_rows)
  {
    throw std::invalid_argument("Points in '--test_file' have " +
        std::to_string(data.test.points.n_rows) + " dimensions, but those "
        "in '--training_file' have " + std::to_string(train.points.n_rows) +
        "; give points of the same kind!");
  }
  Mix(data.test);
  if (data.test.labels.n_elem > request.testPoints)
    data.test = TakeLast(data.test, request.testPoints);
}

/**
 * Hold points out to choose steps with, and leave whole batches to train with.
 *
 * @param limit Points to train with; 0 for all.
 * @param few Are there fewer points than are wanted?
 */
void HoldOut(const DataRequest& request,
             const size_t limit,
             const bool few,
             DataSet& data)
{
  LabelledSet& train = data.train;
  const size_t all = train.labels.n_elem;
  size_t held = ValidationPoints(request, (limit == 0) ? all : limit);
  if (request.validationPoints > all / 2)
  {
    throw std::invalid_argument("Invalid value of '--validation_points' "
        "specified (" + std::to_string(held) + "): there are " +
        std::to_string(all) + " points to train with and to choose steps; "
        "give at most half of them, or leave it out!");
  }
  if (request.validationPoints == 0 && few)
    held = std::min(held, all / 6);
  data.validation = TakeLast(train, held);
  const size_t left = (limit == 0) ? train.labels.n_elem :
      std::min<size_t>(limit, train.labels.n_elem);
  const size_t points = left / request.batch * request.batch;
  if (points == 0)
  {
    throw std::invalid_argument("There are too few points to train with: " +
        std::to_string(left) + ", but a batch has " +
        std::to_string(request.batch) + "; give more points ('--points', "
        "'--training_file'), or a smaller '--batch_size'!");
  }
  if (data.validation.labels.n_elem < 10 || data.test.labels.n_elem < 10)
  {
    throw std::invalid_argument("There are too few points: " +
        std::to_string(data.validation.labels.n_elem) + " to choose steps, " +
        std::to_string(data.test.labels.n_elem) + " to test, but each needs "
        "10; give more points ('--training_file', '--test_points')!");
  }
  train.points.resize(train.points.n_rows, points);
  train.labels.resize(points);
}

//! Count classes, and make two of more if that is asked for.
void SetClasses(const DataRequest& request, DataSet& data)
{
  const std::vector<LabelledSet*> sets = { &data.train, &data.validation,
      &data.test };
  data.classes = data.train.labels.max() + 1;
  for (const LabelledSet* set : sets)
  {
    if (set->labels.max() >= data.classes)
    {
      throw std::invalid_argument("A point that is not trained with has the "
          "label " + std::to_string(set->labels.max()) + ", but those that are "
          "go to " + std::to_string(data.classes - 1) + "; give more "
          "'--points'!");
    }
  }
  if (data.classes < 2)
  {
    throw std::invalid_argument("All labels are the same; give points of at "
        "least 2 classes ('--labels_file')!");
  }
  if (!request.binary || data.classes == 2)
    return;
  for (LabelledSet* set : sets)
  {
    set->labels.transform([&](const size_t label)
        { return size_t(label < data.classes / 2); });
  }
  data.classes = 2;
}

} // namespace

std::vector<std::string> DataFiles(const std::string& data)
{
  std::vector<std::string> names;
  if (data == "fashion_mnist")
  {
    for (const std::string start : { "train", "t10k" })
    {
      names.push_back(start + "-images-idx3-ubyte.gz");
      names.push_back(start + "-labels-idx1-ubyte.gz");
    }
  }
  else if (data == "cifar10")
  {
    for (size_t i = 1; i <= 5; ++i)
      names.push_back("data_batch_" + std::to_string(i) + ".bin");
    names.push_back("test_batch.bin");
  }
  return names;
}

DataSet ReadData(const DataRequest& request)
{
  const bool drawn = request.data == "synthetic" ||
      request.data == "synthetic_sparse";
  const size_t limit = (request.points == 0 && drawn) ? 10000 : request.points;
  const size_t wanted = (limit == 0) ? std::numeric_limits<size_t>::max() / 4 :
      limit + ValidationPoints(request, limit);
  DataSet data;
  arma::arma_rng::set_seed(arma::arma_rng::seed_type(request.seed));
  if (request.data == "fashion_mnist")
  {
    ReadImages(request.folder, "train", wanted, data.train, data.shape);
    ReadImages(request.folder, "t10k", request.testPoints, data.test,
        data.shape);
  }
  else if (request.data == "cifar10")
    ReadAllCifar(request, wanted, data);
  else if (drawn)
    DrawAll(request, wanted, data);
  else
    ReadFiles(request, data);
  if (!request.shape.empty())
    data.shape = request.shape;

  HoldOut(request, limit, data.train.labels.n_elem < wanted, data);
  if (request.data == "fashion_mnist" || request.data == "cifar10")
    Centre(data);
  SetClasses(request, data);
  return data;
}

} // namespace study
} // namespace dasgd
