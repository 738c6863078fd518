/* Interrupts the library at a chosen place of a call, by standing between it and MPI. */
#ifndef DOWNBEAT_INTERRUPTION_H
#define DOWNBEAT_INTERRUPTION_H

/* At the `count`th completion from now on of a reduction to process 0 or a broadcast. */
void interrupt_completion(int count, void (*how)(void));

/* When the broadcast of the next call completes: the deadline is set, and this process is not ready yet. No clock
 * synchronization must be due, for that broadcasts, too. */
void interrupt_before_wait(void (*how)(void));

/* The same, but during the wait, under clock=wtime. */
void interrupt_wait(void (*how)(void));

/* MPI_Wtime is set back during the next call's wait, if that is too short for a sleep, and stays so. */
void set_back_in_wait(double seconds);

/* Whether an interruption of the wait is still to come; not any more. */
int interruption_due(void);
void cancel_interruption(void);

#endif
