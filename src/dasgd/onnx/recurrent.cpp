#include "operators.hpp"

namespace dasgd {
namespace graph {

void AddRecurrent(std::map<std::string, Operator>&) { }

} // namespace graph
} // namespace dasgd
