"""The numbers of launches and experiments for other programs: frames, and kinds of files to write them to."""
