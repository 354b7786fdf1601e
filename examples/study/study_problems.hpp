/**
 * @file study_problems.hpp
 *
 * What step_study trains: networks of several kinds on images, ratings, and
 * words, in single precision.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_STUDY_STUDY_PROBLEMS_HPP
#define DASGD_EXAMPLES_STUDY_STUDY_PROBLEMS_HPP

#include <armadillo>

#include <dasgd/core/random.hpp>
#include <data/idx_file.hpp>
#include <language/letters.hpp>
#include <paper/cifar10.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

namespace study {

//! How good a model is on points that it has not seen.
struct Score
{
  double loss = 0;
  //! Not a number where there are no answers.
  double accuracy = std::nan("");
};

/**
 * Something to train.  All ranks of a simulation share one, memory for what is
 * between its layers included, since they take turns.
 */
class Problem
{
 public:
  virtual ~Problem() = default;

  size_t TrainPoints() const { return trainPoints; }

  virtual arma::fmat Start(const std::uint64_t seed) const = 0;

  /**
   * The loss, summed over points.
   *
   * @param points Their numbers; those to test with follow those to train with.
   * @param gradient Becomes the gradient of that, unless it is null.
   * @param right Right answers are added to it.
   */
  virtual double Visit(const float* model,
                       const std::uint32_t* points,
                       const size_t size,
                       float* gradient,
                       size_t& right) = 0;

  //! The mean over the first so many points to test with.
  virtual Score Judge(const arma::fmat& model, const size_t count)
  {
    const size_t all = std::min(count, testPoints);
    double sum = 0;
    size_t right = 0;
    std::array<std::uint32_t, 32> points;
    for (size_t i = 0; i < all; i += points.size())
    {
      std::iota(points.begin(), points.end(), std::uint32_t(trainPoints + i));
      sum += Visit(model.memptr(), points.data(),
          std::min(points.size(), all - i), nullptr, right);
    }
    return { sum / double(all), double(right) / double(all) };
  }

 protected:
  size_t trainPoints = 0;
  size_t testPoints = 0;
};

//! Parameters where they lie.
inline arma::fmat Part(const float* memory, const size_t rows,
                       const size_t cols)
{ return arma::fmat(const_cast<float*>(memory), rows, cols, false, true); }

//! Uniform numbers that suit so many inputs, as PyTorch begins with them.
inline void FillUniform(float* values,
                        const size_t count,
                        const size_t inputs,
                        dasgd::Random& random)
{
  const double bound = 1 / std::sqrt(double(inputs));
  for (size_t i = 0; i < count; ++i)
    values[i] = float(random.Uniform(-bound, bound));
}

/**
 * From scores, a column for each point, to the derivatives by them.
 *
 * @return The sum of the losses.
 */
template<typename LabelFunctionType>
double Softmax(arma::fmat& scores,
               const LabelFunctionType& label,
               size_t& right)
{
  double loss = 0;
  for (size_t i = 0; i < scores.n_cols; ++i)
  {
    float* begin = scores.colptr(i);
    float* end = begin + scores.n_rows;
    float* best = std::max_element(begin, end);
    const float largest = *best;
    const size_t own = label(i);
    right += (size_t(best - begin) == own);
    const float score = begin[own] - largest;
    float sum = 0;
    for (float* at = begin; at < end; ++at)
      sum += (*at = std::exp(*at - largest));
    for (float* at = begin; at < end; ++at)
      *at /= sum;
    begin[own] -= 1;
    loss += std::log(sum) - score;
  }
  return loss;
}

//! Layers that connect everything, with ReLU between them and softmax at last;
//! of each layer the weights (outputs x inputs) and then the biases.
class DenseLayers
{
 public:
  explicit DenseLayers(std::vector<size_t> widthsIn) :
      widths(std::move(widthsIn)), values(widths.size()) { }

  size_t Elements() const
  {
    size_t sum = 0;
    for (size_t i = 1; i < widths.size(); ++i)
      sum += widths[i] * (widths[i - 1] + 1);
    return sum;
  }

  void Start(float* model, dasgd::Random& random) const
  {
    for (size_t i = 1; i < widths.size(); ++i)
    {
      const size_t elements = widths[i] * (widths[i - 1] + 1);
      FillUniform(model, elements, widths[i - 1], random);
      model += elements;
    }
  }

  //! What goes in, a column for each point; holds the gradient by that after
  //! Visit() if `back` is set.
  arma::fmat& Input() { return values[0]; }

  template<typename LabelFunctionType>
  double Visit(const float* model,
               const LabelFunctionType& label,
               float* gradient,
               size_t& right,
               const bool back = false)
  {
    for (size_t i = 1; i < widths.size(); ++i)
    {
      const size_t out = widths[i], in = widths[i - 1];
      values[i] = Part(model, out, in) * values[i - 1];
      const float* biases = model + out * in;
      const float least = (i + 1 < widths.size()) ? 0 :
          -std::numeric_limits<float>::infinity();
      for (size_t k = 0; k < values[i].n_cols; ++k)
      {
        float* column = values[i].colptr(k);
        for (size_t j = 0; j < out; ++j)
          column[j] = std::max(column[j] + biases[j], least);
      }
      model += out * (in + 1);
    }
    const double loss = Softmax(values.back(), label, right);
    if (!gradient)
      return loss;
    gradient += Elements();
    for (size_t i = widths.size() - 1; i > 0; --i)
    {
      const size_t out = widths[i], in = widths[i - 1];
      model -= out * (in + 1);
      gradient -= out * (in + 1);
      Part(gradient, out, in) = values[i] * values[i - 1].t();
      Part(gradient + out * in, out, 1) = arma::sum(values[i], 1);
      if (i == 1 && !back)
        break;
      other = Part(model, out, in).t() * values[i];
      // Where ReLU gave nothing, nothing goes back.
      for (size_t j = 0; j < other.n_elem; ++j)
        values[i - 1][j] = (values[i - 1][j] > 0) ? other[j] : 0;
    }
    return loss;
  }

 private:
  std::vector<size_t> widths;
  //! Of all points, before and after each layer.
  std::vector<arma::fmat> values;
  arma::fmat other;
};

//! Images as bytes, one after the other; and what they show.
struct Images
{
  std::vector<unsigned char> bytes;
  std::vector<unsigned char> labels;

  //! Images of Fashion-MNIST, added to those that are here.
  void AddFashion(const std::string& part, const size_t count)
  {
    const char* given = std::getenv("DASGD_DATA");
    const std::string stem = (given && *given ? std::string(given) :
        "/usr/share/datasets/fashion-mnist") + "/" + part;
    dasgd::IdxFile imageFile(stem + "-images-idx3-ubyte.gz", 3);
    dasgd::IdxFile labelFile(stem + "-labels-idx1-ubyte.gz", 1);
    const size_t wanted = std::min(count, imageFile.Sizes()[0]);
    for (size_t i = 0; i < wanted; ++i)
      Append(bytes, imageFile.Read(imageFile.EntrySize()));
    Append(labels, labelFile.Read(wanted));
  }

  //! Images of a file of CIFAR-10, added to those that are here.
  void AddCifar(const std::string& name, const size_t count)
  {
    const std::filesystem::path path =
        std::filesystem::path(example::Cifar10Folder()) / name;
    const size_t wanted = std::min(count, example::cifar10::Count(path));
    std::ifstream file(path, std::ios::binary);
    std::vector<unsigned char> record(example::cifar10::recordBytes);
    for (size_t i = 0; i < wanted; ++i)
    {
      if (!file.read(reinterpret_cast<char*>(record.data()), record.size()))
        example::cifar10::Fail(path, "cannot be read");
      if (record[0] >= example::Cifar10::classes)
        example::cifar10::Fail(path, "has a label above 9");
      labels.push_back(record[0]);
      bytes.insert(bytes.end(), record.begin() + 1, record.end());
    }
  }

  //! Put images into columns, with so much for each step of a byte.
  void Copy(const std::uint32_t* points,
            const size_t size,
            const float scale,
            const float least,
            arma::fmat& to) const
  {
    const size_t each = bytes.size() / labels.size();
    to.set_size(each, size);
    for (size_t i = 0; i < size; ++i)
    {
      const unsigned char* from = bytes.data() + each * points[i];
      float* column = to.colptr(i);
      for (size_t k = 0; k < each; ++k)
        column[k] = scale * float(from[k]) + least;
    }
  }

 private:
  static void Append(std::vector<unsigned char>& all,
                     const std::vector<unsigned char>& more)
  { all.insert(all.end(), more.begin(), more.end()); }
};

//! Fashion-MNIST by softmax regression, or with a hidden layer.
class Fashion : public Problem
{
 public:
  //! @param hidden Units of the hidden layer; 0: there is none.
  Fashion(const size_t hidden, const size_t points, const size_t tests) :
      layers(hidden > 0 ? std::vector<size_t>{ 784, hidden, 10 } :
          std::vector<size_t>{ 784, 10 }),
      isConvex(hidden == 0)
  {
    images.AddFashion("train", points);
    trainPoints = images.labels.size();
    images.AddFashion("t10k", tests);
    testPoints = images.labels.size() - trainPoints;
  }

  arma::fmat Start(const std::uint64_t seed) const override
  {
    arma::fmat model(layers.Elements(), 1, arma::fill::zeros);
    dasgd::Random random(dasgd::Mix(seed, 784));
    if (!isConvex)
      layers.Start(model.memptr(), random);
    return model;
  }

  double Visit(const float* model,
               const std::uint32_t* points,
               const size_t size,
               float* gradient,
               size_t& right) override
  {
    images.Copy(points, size, 1.0f / 255, 0, layers.Input());
    return layers.Visit(model, [&](const size_t i)
        { return images.labels[points[i]]; }, gradient, right);
  }

 private:
  DenseLayers layers;
  bool isConvex;
  Images images;
};

/**
 * A convolution with squares of 5 x 5, and the largest of each 2 x 2 of what
 * comes out, if that is above 0.  Weights are by outputs, inputs, rows and
 * columns, as PyTorch has them.
 */
template<size_t Inputs, size_t Width, size_t Outputs>
class Convolution
{
 public:
  static constexpr size_t side = 5, full = Width - side + 1, half = full / 2;
  static constexpr size_t places = side * side * Inputs;
  static constexpr size_t elements = (places + 1) * Outputs;
  //! Numbers that an image has after this.
  static constexpr size_t outputSize = Outputs * half * half;

  static void Start(float* model, dasgd::Random& random)
  { FillUniform(model, elements, places, random); }

  //! Let there be room for so many images.
  void Resize(const size_t size)
  {
    if (patches.n_slices >= size)
      return;
    patches.set_size(full * full, places, size);
    chosen.set_size(outputSize, size);
  }

  //! One image at a time, whose patches stay in the cache.
  void Forward(const float* model,
               const size_t image,
               const float* input,
               float* output)
  {
    float* to = patches.slice_memptr(image);
    // Not std::copy_n(), which is a call for each of these short rows.
    ForEachRow([&](const size_t at)
    {
      std::memcpy(to, input + at, full * sizeof(float));
      to += full;
    });
    planes = patches.slice(image) * Part(model, places, Outputs);
    arma::u16* at = chosen.colptr(image);
    for (size_t c = 0; c < Outputs; ++c)
    {
      const float* plane = planes.colptr(c);
      const float bias = model[places * Outputs + c];
      for (size_t corner = 0; corner < full * full; corner += 2 * full)
      {
        for (size_t x = corner; x < corner + full; x += 2)
        {
          size_t best = x;
          for (const size_t next : { x + 1, x + full, x + full + 1 })
            best = (plane[next] > plane[best]) ? next : best;
          *at++ = arma::u16(best);
          *output++ = std::max(plane[best] + bias, 0.0f);
        }
      }
    }
  }

  /**
   * After Forward() of the same image; adds to the gradient.
   *
   * @param slope By what came out, 0 where that was 0.
   * @param back Becomes the derivatives by what went in, unless it is null.
   */
  void Backward(const float* model,
                const size_t image,
                const float* slope,
                float* gradient,
                float* back)
  {
    planes.zeros();
    const arma::u16* at = chosen.colptr(image);
    for (size_t c = 0; c < Outputs; ++c)
    {
      float* plane = planes.colptr(c);
      float sum = 0;
      for (size_t k = 0; k < half * half; ++k, ++slope)
      {
        plane[*at++] = *slope;
        sum += *slope;
      }
      gradient[places * Outputs + c] += sum;
    }
    Part(gradient, places, Outputs) += patches.slice(image).t() * planes;
    if (!back)
      return;
    other = planes * Part(model, places, Outputs).t();
    std::fill_n(back, Inputs * Width * Width, 0.0f);
    const float* from = other.memptr();
    ForEachRow([&](const size_t to)
    {
      for (size_t x = 0; x < full; ++x)
        back[to + x] += *from++;
    });
  }

 private:
  //! Patches have a column for each place in a square, which consists of parts
  //! of rows of the image; say where these begin.
  template<typename ActionType>
  static void ForEachRow(const ActionType& action)
  {
    for (size_t c = 0; c < Inputs; ++c)
    {
      for (size_t place = 0; place < side * side; ++place)
      {
        for (size_t y = 0; y < full; ++y)
          action((c * Width + place / side + y) * Width + place % side);
      }
    }
  }

  arma::fcube patches;
  arma::fmat planes, other;
  //! Which number of the plane each output is.
  arma::Mat<arma::u16> chosen;
};

//! CIFAR-10 by the network of PyTorch's tutorial.
class Cifar : public Problem
{
 public:
  Cifar(const size_t points, const size_t tests) :
      layers({ 400, 120, 84, 10 })
  {
    images.bytes.reserve((std::min<size_t>(points, 50000) + tests) *
        example::Cifar10::values);
    for (size_t i = 1; i <= 5; ++i)
    {
      images.AddCifar("data_batch_" + std::to_string(i) + ".bin",
          points - trainPoints);
      trainPoints = images.labels.size();
    }
    images.AddCifar("test_batch.bin", tests);
    testPoints = images.labels.size() - trainPoints;
  }

  arma::fmat Start(const std::uint64_t seed) const override
  {
    arma::fmat model(toLayers + layers.Elements(), 1);
    dasgd::Random random(dasgd::Mix(seed, 3072));
    first.Start(model.memptr(), random);
    second.Start(model.memptr() + toSecond, random);
    layers.Start(model.memptr() + toLayers, random);
    return model;
  }

  double Visit(const float* model,
               const std::uint32_t* points,
               const size_t size,
               float* gradient,
               size_t& right) override
  {
    images.Copy(points, size, 2.0f / 255, -1, input);
    first.Resize(size);
    second.Resize(size);
    middle.set_size(first.outputSize, size);
    arma::fmat& last = layers.Input();
    last.set_size(second.outputSize, size);
    for (size_t i = 0; i < size; ++i)
    {
      first.Forward(model, i, input.colptr(i), middle.colptr(i));
      second.Forward(model + toSecond, i, middle.colptr(i), last.colptr(i));
    }
    const double loss = layers.Visit(model + toLayers, [&](const size_t i)
        { return images.labels[points[i]]; },
        gradient ? gradient + toLayers : nullptr, right, true);
    if (!gradient)
      return loss;
    std::fill_n(gradient, toLayers, 0.0f);
    back.set_size(first.outputSize);
    for (size_t i = 0; i < size; ++i)
    {
      second.Backward(model + toSecond, i, last.colptr(i), gradient + toSecond,
          back.memptr());
      const float* values = middle.colptr(i);
      for (size_t k = 0; k < back.n_elem; ++k)
        back[k] = (values[k] > 0) ? back[k] : 0;
      first.Backward(model, i, back.memptr(), gradient, nullptr);
    }
    return loss;
  }

 private:
  Convolution<3, 32, 6> first;
  Convolution<6, 14, 16> second;
  //! Where in the model their successors begin.
  static constexpr size_t toSecond = decltype(first)::elements;
  static constexpr size_t toLayers = toSecond + decltype(second)::elements;
  DenseLayers layers;
  Images images;
  arma::fmat input, middle;
  arma::fvec back;
};

//! Ratings as products of two vectors, as mlpack's RegularizedSVDFunction.
class Factorization : public Problem
{
 public:
  explicit Factorization(const size_t points)
  {
    trainPoints = std::min<size_t>(points, 60000);
    testPoints = 6000;
    // Sums of two or three uniform numbers are close enough to a bell.
    dasgd::Random random(8);
    const auto bell = [&random]()
    { return random.Uniform(-1, 1) + random.Uniform(-1, 1) +
        random.Uniform(-1, 1); };
    arma::mat truth(8, users + items);
    truth.transform([&](double) { return bell() / std::sqrt(8.0); });
    for (size_t i = 0; i < 60000 + testPoints; ++i)
    {
      const size_t user = random.Below(users), item = random.Below(items);
      const double rating = 3 + 1.5 * arma::dot(truth.col(user),
          truth.col(users + item)) * std::sqrt(8.0) / 2 + 0.3 * bell();
      if (i < trainPoints || i >= 60000)
        ratings.push_back({ user, users + item, float(rating) });
    }
  }

  arma::fmat Start(const std::uint64_t seed) const override
  {
    // As mlpack begins.
    arma::fmat model(rank, users + items);
    dasgd::Random random(dasgd::Mix(seed, users));
    model.transform([&](float) { return float(random.Uniform()); });
    return model;
  }

  double Visit(const float* model,
               const std::uint32_t* points,
               const size_t size,
               float* gradient,
               size_t&) override
  {
    if (gradient)
      std::fill_n(gradient, rank * (users + items), 0.0f);
    double sum = 0;
    for (size_t i = 0; i < size; ++i)
    {
      const Rating& rating = ratings[points[i]];
      const float* a = model + rank * rating.user;
      const float* b = model + rank * rating.item;
      const float error = Error(model, points[i]);
      float squares = 0;
      for (size_t k = 0; k < rank; ++k)
        squares += a[k] * a[k] + b[k] * b[k];
      sum += error * error + lambda * squares;
      for (size_t k = 0; gradient && k < rank; ++k)
      {
        gradient[rank * rating.user + k] += 2 * (lambda * a[k] - error * b[k]);
        gradient[rank * rating.item + k] += 2 * (lambda * b[k] - error * a[k]);
      }
    }
    return sum;
  }

  //! The root of the mean squared error, on all ratings to test with.
  Score Judge(const arma::fmat& model, const size_t) override
  {
    double sum = 0;
    for (size_t i = trainPoints; i < ratings.size(); ++i)
      sum += std::pow(double(Error(model.memptr(), i)), 2);
    return { std::sqrt(sum / double(testPoints)) };
  }

 private:
  static constexpr size_t users = 600, items = 400, rank = 10;
  static constexpr float lambda = 0.02f;

  struct Rating
  {
    size_t user, item;
    float value;
  };

  float Error(const float* model, const size_t point) const
  {
    const Rating& rating = ratings[point];
    const float* a = model + rank * rating.user;
    const float* b = model + rank * rating.item;
    float error = rating.value;
    for (size_t k = 0; k < rank; ++k)
      error -= a[k] * b[k];
    return error;
  }

  std::vector<Rating> ratings;
};

//! Which language a word is of, by softmax regression on groups of letters.
class Words : public Problem
{
 public:
  Words(const size_t points, const size_t tests)
  {
    const example::WordLists lists(example::WordsFolder(), 0.01);
    scores.set_size(lists.Languages().size(), 1);
    Add(lists, { false, lists.Training(),
        std::min<std::uint64_t>(points, lists.Training()), 0, 1 });
    trainPoints = labels.size();
    Add(lists, { true, lists.Test(),
        std::min<std::uint64_t>(tests, lists.Test()), 0, 1 });
    testPoints = labels.size() - trainPoints;
  }

  arma::fmat Start(const std::uint64_t) const override
  { return arma::fmat(scores.n_rows, features + 1, arma::fill::zeros); }

  double Visit(const float* model,
               const std::uint32_t* points,
               const size_t size,
               float* gradient,
               size_t& right) override
  {
    const size_t classes = scores.n_rows;
    if (gradient)
      std::fill_n(gradient, classes * (features + 1), 0.0f);
    double sum = 0;
    for (size_t i = 0; i < size; ++i)
    {
      const size_t point = points[i];
      // The first column is the intercept.
      std::copy_n(model, classes, scores.memptr());
      for (size_t k = begins[point]; k < begins[point + 1]; ++k)
      {
        const float* column = model + classes * (1 + groups[k]);
        for (size_t j = 0; j < classes; ++j)
          scores[j] += values[k] * column[j];
      }
      sum += Softmax(scores, [&](size_t) { return labels[point]; }, right);
      for (size_t j = 0; gradient && j < classes; ++j)
        gradient[j] += scores[j];
      for (size_t k = begins[point]; gradient && k < begins[point + 1]; ++k)
      {
        float* column = gradient + classes * (1 + groups[k]);
        for (size_t j = 0; j < classes; ++j)
          column[j] += values[k] * scores[j];
      }
    }
    return sum;
  }

 private:
  static constexpr size_t features = 4096, letters = 3;

  void Add(const example::WordLists& lists, const example::Part& part)
  {
    const example::Points more = example::ReadPoints(lists, part, features,
        letters);
    const arma::sp_mat& data = more.data;
    for (size_t i = 0; i < data.n_cols; ++i)
    {
      labels.push_back(std::uint16_t(more.labels[i]));
      for (size_t k = data.col_ptrs[i]; k < data.col_ptrs[i + 1]; ++k)
      {
        groups.push_back(std::uint32_t(data.row_indices[k]));
        values.push_back(float(data.values[k]));
      }
      begins.push_back(groups.size());
    }
  }

  std::vector<std::uint16_t> labels;
  //! Where the groups of each word begin, and where the last ends.
  std::vector<size_t> begins{ 0 };
  std::vector<std::uint32_t> groups;
  std::vector<float> values;
  arma::fmat scores;
};

} // namespace study

#endif
