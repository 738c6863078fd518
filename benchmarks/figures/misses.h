/* Mode "misses". */
#ifndef DOWNBEAT_FIGURES_MISSES_H
#define DOWNBEAT_FIGURES_MISSES_H

void mode_misses(void);

#endif
