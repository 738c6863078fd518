#pragma once

#include "text/error.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace bench {

/// Expects that `work` refuses its arguments in one line that contains each of `components`.
template <typename Work> void expect_usage_error(Work work, const std::vector<std::string> &components) {
    try {
        work();
        ADD_FAILURE() << "was accepted";
    } catch (const Error &error) {
        const std::string message = error.what();
        EXPECT_EQ(error.status(), ExitStatus::bad_arguments);
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        for (const std::string &component : components) {
            EXPECT_NE(message.find(component), std::string::npos) << message;
        }
    }
}

} // namespace bench
