set -l ask env _DOWNBEAT_COMPLETE=complete_fish _TYPER_COMPLETE_ARGS=\(commandline -cp\)
complete -c downbeat -n "$ask _TYPER_COMPLETE_FISH_ACTION=is-args downbeat" -a "($ask _TYPER_COMPLETE_FISH_ACTION=get-args downbeat)"
