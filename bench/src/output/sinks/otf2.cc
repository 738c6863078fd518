#include "output/output.h"
#include "output/sinks/format.h"
#include "output_file.h"
#include "text/error.h"

#include <algorithm>
#include <cstdarg>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <otf2/otf2.h>
#include <unistd.h>

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t ticks_per_second = 1'000'000'000;

// Attributes of both events of an operation and a synchronizer.
enum Attribute : OTF2_AttributeRef { cell_attribute, sample_attribute, verdict_attribute, delay_attribute };

/// Errors are thrown where they are met, instead of printed.
OTF2_ErrorCode keep_quiet(void *, const char *, std::uint64_t, const char *, OTF2_ErrorCode code, const char *,
                          va_list) {
    return code;
}

OTF2_FlushType flush(void *, OTF2_FileType, OTF2_LocationRef, void *, bool) { return OTF2_FLUSH; }

/// An archive is the file that `path` names, which readers open, a file of definitions and a folder of events beside
/// it, all of one name.
struct ArchivePath {
    fs::path anchor;
    fs::path folder() const { return fs::path(anchor).replace_extension(); }
    fs::path definitions() const { return fs::path(anchor).replace_extension(".def"); }
    fs::path parent() const { return anchor.has_parent_path() ? anchor.parent_path() : "."; }
};

[[noreturn]] void refuse(const ArchivePath &path, const std::string &reason) {
    throw Error::here(fmt::format("cannot write '{}': {}", path.anchor.string(), reason));
}

/// Removes an earlier archive, complete or not, and nothing else.
void remove_archive(const ArchivePath &path) {
    std::error_code error;
    if (fs::exists(path.folder())) {
        for (const fs::directory_entry &file : fs::directory_iterator(path.folder(), error)) {
            if (file.path().extension() != ".evt" && file.path().extension() != ".def") {
                refuse(path,
                       fmt::format("folder '{}' is to hold its events, but holds '{}'; move that, or name another "
                                   "file",
                                   path.folder().string(), file.path().filename().string()));
            }
        }
        if (error) {
            refuse(path, fmt::format("'{}', the folder of its events, is not a folder", path.folder().string()));
        }
    }
    for (const fs::path &component : {path.anchor, path.definitions(), path.folder()}) {
        fs::remove_all(component, error);
        if (error) {
            refuse(path, error.message());
        }
    }
}

/// The ranks' timelines on the global clock, for Vampir and other readers of OTF2: one location per rank, one region
/// per synchronizer and per cell.
class Otf2Writer : public TraceWriter {
public:
    explicit Otf2Writer(const std::string &path) : path_{path} {
        OTF2_Error_RegisterCallback(keep_quiet, nullptr);
        if (access(path_.parent().c_str(), W_OK) != 0) { // what the library would only notice in the end
            refuse(path_, std::generic_category().message(errno));
        }
        remove_archive(path_);
        std::string fresh = path_.folder().string() + ".XXXXXX"; // where a neighbor can plant no links
        if (mkdtemp(fresh.data()) == nullptr) {
            refuse(path_, std::generic_category().message(errno));
        }
        fresh_ = fresh;
        archive_.reset(OTF2_Archive_Open(fresh_.c_str(), path_.folder().filename().c_str(), OTF2_FILEMODE_WRITE,
                                         OTF2_CHUNK_SIZE_MIN, OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX,
                                         OTF2_COMPRESSION_NONE));
        if (archive_ == nullptr) {
            refuse(path_, "the OTF2 library cannot create the archive");
        }
        static constexpr OTF2_FlushCallbacks callbacks = {flush, nullptr};
        check(OTF2_Archive_SetFlushCallbacks(archive_.get(), &callbacks, nullptr));
        check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_.get()));
        check(OTF2_Archive_OpenEvtFiles(archive_.get()));
    }
    ~Otf2Writer() override {
        archive_.reset();
        std::error_code error;
        fs::remove_all(fresh_, error);
    }
    Otf2Writer(const Otf2Writer &) = delete;
    Otf2Writer &operator=(const Otf2Writer &) = delete;

    void begin(const SamplingContext &context, const std::vector<Cell> &cells) override {
        selection_.begin(context.trace_samples, cells.size());
        check(OTF2_Archive_SetCreator(archive_.get(), ("downbeat-bench " + context.version).c_str()));
        check(OTF2_Archive_SetDescription(archive_.get(), context.command_line.c_str()));
        if (!context.simulated.empty()) {
            property("DOWNBEAT::SIMULATED", context.simulated);
        }
        definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_.get());
        string(""); // 0, for what is left empty
        write_attributes();
        write_regions(cells);
        for (const RankPlace &place : context.ranks) {
            hosts_.push_back(place.host);
            ranks_.push_back({OTF2_Archive_GetEvtWriter(archive_.get(), ranks_.size()), 0});
        }
        attributes_.reset(OTF2_AttributeList_New());
    }

    void samples(const BatchReport &report) override {
        for (const std::size_t i : selection_.take(report)) {
            const Sample sample = report.batch[i];
            for (std::size_t rank = 0; rank < report.batch.ranks; ++rank) {
                const Regions &regions = regions_[report.cell];
                add_attributes(report, i, sample.delay[rank]);
                enter(rank, sample.sync_entry[rank], regions.synchronizer);
                leave(rank, sample.entry[rank], regions.synchronizer);
                add_attributes(report, i, sample.delay[rank]);
                enter(rank, sample.entry[rank], regions.operation);
                leave(rank, sample.exit[rank], regions.operation);
            }
        }
    }

    void end() override {
        const std::uint64_t start = first_ > last_ ? 0 : first_; // without any event
        check(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, ticks_per_second, start, last_ - start + 1,
                                                        OTF2_UNDEFINED_TIMESTAMP));
        write_locations();
        property("DOWNBEAT::SAMPLES_LEFT_OUT", std::to_string(selection_.left_out()));
        property("DOWNBEAT::WARMUP_LEFT_OUT", std::to_string(selection_.warmup()));
        property("DOWNBEAT::EVENTS_MOVED", std::to_string(moved_));
        check(OTF2_Archive_CloseGlobalDefWriter(archive_.get(), definitions_));
        for (const Rank &rank : ranks_) {
            check(OTF2_Archive_CloseEvtWriter(archive_.get(), rank.writer));
        }
        check(OTF2_Archive_CloseEvtFiles(archive_.get()));
        check(OTF2_Archive_OpenDefFiles(archive_.get())); // one per rank, empty: readers look for them
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            check(OTF2_Archive_CloseDefWriter(archive_.get(), OTF2_Archive_GetDefWriter(archive_.get(), rank)));
        }
        check(OTF2_Archive_CloseDefFiles(archive_.get()));
        check(OTF2_Archive_Close(archive_.release()));
        place();
    }

private:
    struct Regions {
        OTF2_RegionRef synchronizer;
        OTF2_RegionRef operation;
    };
    struct Rank {
        OTF2_EvtWriter *writer;
        std::uint64_t last; // time, ns
    };

    void check(OTF2_ErrorCode code) const {
        if (code != OTF2_SUCCESS) {
            refuse(path_, OTF2_Error_GetDescription(code));
        }
    }

    /// Brings the archive to disk, and to its place.
    void place() const {
        for (const fs::directory_entry &each : fs::recursive_directory_iterator(fresh_)) {
            output_file file{};
            file.file = each.is_regular_file() ? open(each.path().c_str(), O_RDONLY | O_CLOEXEC) : -1;
            if (const int code = output_close(&file, 0)) {
                refuse(path_, output_reason(code));
            }
        }
        remove_archive(path_);
        for (const fs::path &component : {path_.folder(), path_.definitions(), path_.anchor}) {
            std::error_code error;
            fs::rename(fresh_ / component.filename(), component, error);
            if (error) {
                refuse(path_, error.message());
            }
        }
    }

    OTF2_StringRef string(const std::string &text) {
        const auto [entry, is_new] = strings_.emplace(text, static_cast<OTF2_StringRef>(strings_.size()));
        if (is_new) {
            check(OTF2_GlobalDefWriter_WriteString(definitions_, entry->second, text.c_str()));
        }
        return entry->second;
    }

    void property(const char *name, const std::string &value) {
        check(OTF2_Archive_SetProperty(archive_.get(), name, value.c_str(), true));
    }

    void write_attributes() {
        const auto write = [this](Attribute attribute, const char *name, const char *meaning, OTF2_Type type) {
            check(OTF2_GlobalDefWriter_WriteAttribute(definitions_, attribute, string(name), string(meaning), type));
        };
        write(cell_attribute, "cell", "number of the cell", OTF2_TYPE_UINT64);
        write(sample_attribute, "sample", "number of the sample within its cell", OTF2_TYPE_UINT64);
        write(verdict_attribute, "verdict", "why the sample counts or not", OTF2_TYPE_STRING);
        write(delay_attribute, "planned delay [ns]", "start after the common one, as asked for", OTF2_TYPE_INT64);
        for (const std::string &verdict : verdict_names()) {
            verdicts_.push_back(string(verdict));
        }
    }

    void write_regions(const std::vector<Cell> &cells) {
        std::map<std::string, OTF2_RegionRef> synchronizers;
        OTF2_RegionRef next = 0;
        const auto write = [&](const std::string &name, const std::string &description, OTF2_RegionRole role) {
            check(OTF2_GlobalDefWriter_WriteRegion(definitions_, next, string(name), string(name), string(description),
                                                   role, OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, string(""), 0, 0));
            return next++;
        };
        for (const Cell &cell : cells) {
            auto synchronizer = synchronizers.find(describe_synchronizer(cell));
            if (synchronizer == synchronizers.end()) {
                const OTF2_RegionRef region =
                    write(describe_synchronizer(cell), "synchronizer", OTF2_REGION_ROLE_BARRIER);
                synchronizer = synchronizers.emplace(describe_synchronizer(cell), region).first;
            }
            regions_.push_back(
                {synchronizer->second, write(describe(cell), cell.datatype, OTF2_REGION_ROLE_COLL_OTHER)});
        }
    }

    void write_locations() {
        constexpr OTF2_SystemTreeNodeRef machine = 0;
        check(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, machine, string("machine"), string("machine"),
                                                       OTF2_UNDEFINED_SYSTEM_TREE_NODE));
        std::map<std::string, OTF2_SystemTreeNodeRef> nodes;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            const auto [node, is_new] =
                nodes.emplace(hosts_[rank], static_cast<OTF2_SystemTreeNodeRef>(nodes.size() + 1));
            if (is_new) {
                check(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, node->second, string(node->first),
                                                               string("node"), machine));
            }
            const auto group = static_cast<OTF2_LocationGroupRef>(rank);
            const OTF2_StringRef name = string(fmt::format("rank {}", rank));
            check(OTF2_GlobalDefWriter_WriteLocationGroup(definitions_, group, name, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                          node->second, OTF2_UNDEFINED_LOCATION_GROUP));
            std::uint64_t events = 0;
            check(OTF2_EvtWriter_GetNumberOfEvents(ranks_[rank].writer, &events));
            check(OTF2_GlobalDefWriter_WriteLocation(definitions_, rank, name, OTF2_LOCATION_TYPE_CPU_THREAD, events,
                                                     group));
        }
    }

    void add_attributes(const BatchReport &report, std::size_t i, double delay) {
        OTF2_AttributeList *list = attributes_.get();
        const auto sample = static_cast<std::uint64_t>(report.first_attempt) + i;
        const OTF2_StringRef verdict = verdicts_[static_cast<std::size_t>(report.verdicts[i])];
        check(OTF2_AttributeList_AddUint64(list, cell_attribute, report.cell));
        check(OTF2_AttributeList_AddUint64(list, sample_attribute, sample));
        check(OTF2_AttributeList_AddStringRef(list, verdict_attribute, verdict));
        check(OTF2_AttributeList_AddInt64(list, delay_attribute, nanoseconds(delay)));
    }

    /// Nanoseconds. OTF2 takes no time before the last of the location; a clock that was synchronized anew may read
    /// one.
    std::uint64_t time(std::size_t rank, double seconds) {
        const std::uint64_t read = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds(seconds), 0));
        moved_ += read < ranks_[rank].last ? 1 : 0;
        const std::uint64_t time = ranks_[rank].last = std::max(read, ranks_[rank].last);
        first_ = std::min(first_, time);
        last_ = std::max(last_, time);
        return time;
    }

    /// With the attributes, which are used up by that.
    void enter(std::size_t rank, double seconds, OTF2_RegionRef region) {
        check(OTF2_EvtWriter_Enter(ranks_[rank].writer, attributes_.get(), time(rank, seconds), region));
    }

    void leave(std::size_t rank, double seconds, OTF2_RegionRef region) {
        check(OTF2_EvtWriter_Leave(ranks_[rank].writer, nullptr, time(rank, seconds), region));
    }

    struct Close {
        void operator()(OTF2_Archive *archive) const { OTF2_Archive_Close(archive); } // of a run that failed
        void operator()(OTF2_AttributeList *list) const { OTF2_AttributeList_Delete(list); }
    };

    ArchivePath path_;
    fs::path fresh_; // folder that the archive is written in
    std::unique_ptr<OTF2_Archive, Close> archive_;
    std::unique_ptr<OTF2_AttributeList, Close> attributes_; // of the next event
    OTF2_GlobalDefWriter *definitions_ = nullptr;
    std::map<std::string, OTF2_StringRef> strings_;
    std::vector<OTF2_StringRef> verdicts_;
    std::vector<Regions> regions_; // per cell
    std::vector<std::string> hosts_;
    std::vector<Rank> ranks_;
    TraceSelection selection_;
    std::uint64_t first_ = std::numeric_limits<std::uint64_t>::max(); // ns
    std::uint64_t last_ = 0;                                          // ns
    long moved_ = 0;                                                  // events
};

} // namespace

Format formats::otf2() {
    return {.name = "otf2",
            .description = "the ranks' timelines, for Vampir and other readers of OTF2, file and folder; .otf2",
            .suffix = ".otf2",
            .of_cells_alone = true,
            .make_trace = Make<Otf2Writer>{}};
}

} // namespace bench
