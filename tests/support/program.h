// SPDX-License-Identifier: BSD-2-Clause
//
// Other programs as children: started with another environment, waited for, their output kept.
#ifndef HPZERO_TESTS_SUPPORT_PROGRAM_H
#define HPZERO_TESTS_SUPPORT_PROGRAM_H

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace hpz::test {

struct Outcome {
  int status = -1;  // exit status, or minus the number of the signal that ended it
  std::string out, err;

  // The NAME=VALUE lines of the output; "" for a name that is not there.
  std::string operator[](const std::string &name) const;
};
std::ostream &operator<<(std::ostream &out, const Outcome &outcome);

struct Setting {
  // NAME=VALUE. The variables that steer the library are taken out of the environment first.
  std::vector<std::string> environment;
  // Called in the child before the program starts; what it throws is reported as status 125.
  std::function<void()> prepare;
  unsigned timeout_s = 60;  // then it is killed: status -9
};

Outcome run(const std::vector<std::string> &arguments, const Setting &setting = {});

// What a child of this test gets: the present environment, less the library's variables, plus
// these.
std::vector<std::string> environment_with(const std::vector<std::string> &additions);

}  // namespace hpz::test

#endif
