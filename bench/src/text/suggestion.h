#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// The valid name that was probably meant, "" if none is near: "allreduse", "osu_allreduce", "MPI_Allreduce".
std::string nearest(std::string_view word, const std::vector<std::string> &valid);

/// How an error about an unknown name ends: "did you mean 'allreduce'?", else "choose one of ", and all of them.
std::string suggestion(std::string_view word, const std::vector<std::string> &valid, const std::string &all);

/// The error about a word that is an option of another benchmark, "OSU's -i is -r here"; "" for other words.
std::string from_elsewhere(std::string_view word);

} // namespace bench
