/* Options of other benchmarks and their equivalents, for downbeat-bench and for `downbeat`, which parses this file
 * (python/downbeat/commands/help.py). RANKS: the launcher's option for the number of ranks. */
/* clang-format off */
ELSEWHERE("-i", "OSU", "-r")
ELSEWHERE("-x", "OSU", "--warmup N")
ELSEWHERE("-c", "OSU", "--validate")
ELSEWHERE("-f", "OSU", "the default")
ELSEWHERE("-iter", "IMB", "-r")
ELSEWHERE("-msglen", "IMB", "-m")
ELSEWHERE("-msglog", "IMB", "-m, e.g. 8:64K,")
ELSEWHERE("-npmin", "IMB", "RANKS")
ELSEWHERE("-np", "mpirun", "RANKS")
ELSEWHERE("--np", "mpirun", "RANKS")
