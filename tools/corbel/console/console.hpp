// SPDX-License-Identifier: Apache-2.0
// How this program is called and shown. terminal.hpp has the rest of what is known of a terminal.
#pragma once

#include <string>
#include <vector>

namespace corbel::cli {

// The words of the command line in UTF-8, without the program's name.
std::vector<std::string> arguments_of(int count, char** values);

// Has the terminal take UTF-8 and colours, where that is not its state already, until this program
// ends or restore_terminal() is called.
void prepare_terminal();
// Puts the terminal back as it was, for other programs that share it.
void restore_terminal();

}  // namespace corbel::cli
