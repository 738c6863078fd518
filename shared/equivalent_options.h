/* Options of other benchmarks that users may try, and the equivalent options of downbeat-bench, for its error messages
 * (bench/src/text/words.cc) and those of `downbeat`, which parses this file (python/downbeat/commands/help.py). Each
 * line: option, its benchmark, equivalent. RANKS: the launcher's option for the number of ranks. */
/* clang-format off */
EQUIVALENT("-i", "OSU", "-r")
EQUIVALENT("-x", "OSU", "--warmup N")
EQUIVALENT("-c", "OSU", "--validate")
EQUIVALENT("-f", "OSU", "the default")
EQUIVALENT("-iter", "IMB", "-r")
EQUIVALENT("-msglen", "IMB", "-m")
EQUIVALENT("-msglog", "IMB", "-m, e.g. 8:64K,")
EQUIVALENT("-npmin", "IMB", "RANKS")
EQUIVALENT("-np", "mpirun", "RANKS")
EQUIVALENT("--np", "mpirun", "RANKS")
