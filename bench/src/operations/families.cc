// The list of algorithm families, and message counters of Open MPI (component pml_monitoring). In a simulation,
// bench/smpi/operations/families.cc replaces this file.
#include "mpi/communicator.h"
#include "mpi/mpi_tool.h"
#include "operations/algorithm.h"
#include "text/error.h"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace bench {

const std::vector<AlgorithmFamilyInfo> &all_algorithm_families() {
    static const std::vector<AlgorithmFamilyInfo> all = {algorithm_families::openmpi(), algorithm_families::mpich(),
                                                         algorithm_families::intel()};
    return all;
}

namespace {

// Performance variables of Open MPI 5: messages and bytes that this rank has sent, by receiver.
constexpr const char *count_variable = "pml_monitoring_messages_count";
constexpr const char *size_variable = "pml_monitoring_messages_size";

/// The traffic that Open MPI 4.1 reports to mca_common_monitoring_record_pml below. Vectors end at the highest
/// receiver.
Traffic &recorded() {
    static Traffic traffic;
    return traffic;
}

/// Counts a message to a rank.
void record(int rank, std::size_t bytes) {
    Traffic &traffic = recorded();
    const auto receiver = static_cast<std::size_t>(rank);
    if (traffic.messages.size() <= receiver) {
        traffic.messages.resize(receiver + 1);
        traffic.bytes.resize(receiver + 1);
    }
    ++traffic.messages[receiver];
    traffic.bytes[receiver] += static_cast<std::int64_t>(bytes);
}

/// The number of ranks of MPI_COMM_WORLD.
int world_size() {
    int size = 0;
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    return size;
}

/// Messages of Open MPI 4.1.
class RecordedCounter : public MessageCounter {
public:
    Traffic sent() const override {
        Traffic traffic = recorded();
        traffic.messages.resize(static_cast<std::size_t>(world_size()));
        traffic.bytes.resize(static_cast<std::size_t>(world_size()));
        return traffic;
    }
};

/// Messages of Open MPI 5, from the performance variables of pml_monitoring.
class MonitoringCounter : public MessageCounter {
public:
    MonitoringCounter() {
        check(MPI_T_pvar_session_create(&session_), "MPI_T_pvar_session_create");
        MPI_Comm world = MPI_COMM_WORLD;
        for (std::size_t i = 0; i < names.size(); ++i) {
            int index = 0;
            int count = 0;
            check(MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_SIZE, &index), "MPI_T_pvar_get_index");
            check(MPI_T_pvar_handle_alloc(session_, index, &world, &handles_[i], &count), "MPI_T_pvar_handle_alloc");
            check(MPI_T_pvar_start(session_, handles_[i]), "MPI_T_pvar_start");
            if (count != world_size()) {
                throw Error::here(fmt::format("{} has {} values for {} ranks", names[i], count, world_size()));
            }
        }
    }

    ~MonitoringCounter() override {
        for (MPI_T_pvar_handle &handle : handles_) {
            MPI_T_pvar_handle_free(session_, &handle);
        }
        MPI_T_pvar_session_free(&session_);
    }

    /// True if this MPI library has the variables.
    static bool available() {
        int index = 0;
        return MPI_T_pvar_get_index(count_variable, MPI_T_PVAR_CLASS_SIZE, &index) == MPI_SUCCESS;
    }

    Traffic sent() const override { return {.messages = read(0), .bytes = read(1)}; }

private:
    static constexpr std::array<const char *, 2> names = {count_variable, size_variable};

    /// Reads variable `index` of `names`.
    std::vector<std::int64_t> read(std::size_t index) const {
        std::vector<std::int64_t> values(static_cast<std::size_t>(world_size()));
        check(MPI_T_pvar_read(session_, handles_[index], values.data()), "MPI_T_pvar_read");
        return values;
    }

    MPI_T_pvar_session session_{};
    std::array<MPI_T_pvar_handle, 2> handles_{};
};

} // namespace

void prepare_message_counter() { set_unless_set("OMPI_MCA_pml_monitoring_enable", "1"); }

std::unique_ptr<MessageCounter> find_message_counter(const Communicator &comm) {
    open_tool_interface();
    const auto on_all_ranks = [&](bool on_this_rank) {
        int result = on_this_rank ? 1 : 0;
        check(MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MIN, comm.handle()), "MPI_Allreduce");
        return result != 0;
    };
    std::vector<std::unique_ptr<MessageCounter>> counters;
    if (on_all_ranks(MonitoringCounter::available())) {
        counters.push_back(std::make_unique<MonitoringCounter>());
    }
    counters.push_back(std::make_unique<RecordedCounter>());
    for (std::unique_ptr<MessageCounter> &counter : counters) {
        const Traffic before = counter->sent();
        check(MPI_Barrier(comm.handle()), "MPI_Barrier"); // with two or more ranks, every rank sends a message
        if (on_all_ranks(counter->sent().messages != before.messages)) {
            return std::move(counter);
        }
    }
    return nullptr;
}

} // namespace bench

/// Replaces a function of Open MPI 4.1 that pml_monitoring calls for every sent message, since the dynamic linker
/// prefers the program's function. Its counts cannot be read otherwise: Open MPI 4.1 withdraws the performance
/// variables of pml_monitoring (open-mpi/ompi issue 9260). The arguments are the receiver's rank in MPI_COMM_WORLD,
/// bytes, and the tag. No other MPI library calls it.
extern "C" [[gnu::visibility("default")]] void mca_common_monitoring_record_pml(int world_rank, std::size_t data_size,
                                                                                int tag);
extern "C" void mca_common_monitoring_record_pml(int world_rank, std::size_t data_size, int) {
    bench::record(world_rank, data_size);
}
