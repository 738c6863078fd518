complete -c downbeat-bench -a "(downbeat-bench --help 2>/dev/null | string match -ra -- '--[a-z][a-z-]+')"
