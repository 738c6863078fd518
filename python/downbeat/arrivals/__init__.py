"""How the processes of an application arrive at its collectives, and what that costs it."""
