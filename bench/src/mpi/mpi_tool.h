// Control variables of the MPI library through its tool interface, MPI_T: find, describe, read and write them. Used to
// choose the algorithms of collectives.
#pragma once

#include <mpi.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Opens MPI_T on the first call. It is opened once for the run: MPICH 4.0 forgets its variables when it is closed.
void open_tool_interface();

/// Closes MPI_T if it is open. Before MPI_Finalize: Open MPI crashes otherwise.
void close_tool_interface();

/// A control variable of the MPI library. It must not be bound to an MPI object, e.g. a communicator. MPI_T must be
/// open.
class ControlVariable {
public:
    /// Finds a variable by its name. Returns nullopt if the library has no such variable.
    static std::optional<ControlVariable> find(const std::string &name);
    /// Like find(), but throws Error::here if the library has no such variable.
    static ControlVariable get(const std::string &name);

    const std::string &name() const { return name_; }
    const std::string &description() const { return description_; }
    /// The numbers and names of its valid values; empty if the library does not name them.
    const std::vector<std::pair<int, std::string>> &values() const { return values_; }
    bool writable() const { return writable_; }

    /// Reads an integer or a boolean.
    int read() const;
    /// Writes an integer, a boolean or the number of a named value. Throws Error::here if another value reads back.
    void write(int value) const;

private:
    int index_ = 0;
    std::string name_;
    std::string description_;
    std::vector<std::pair<int, std::string>> values_;
    bool writable_ = false;
};

/// The names of all control variables.
std::vector<std::string> control_variable_names();

} // namespace bench
