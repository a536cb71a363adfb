# Ends an embedded PostgreSQL and removes its directory ($1) once standard input closes.
# The JVM holds the other end of that pipe and never writes to it: this runs on an orderly close,
# on exit, and when the JVM is killed by SIGKILL.

trap '' INT TERM HUP QUIT # Ctrl-C reaches the whole process group; the JVM may outlive it a while

while read -r _; do :; done

data="$1/data"
pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null)

# After a crash postmaster.pid may name a process that is somebody else's by now.
is_ours() {
  [ -n "$pid" ] || return 1
  case $(tr '\0' ' ' <"/proc/$pid/cmdline" || ps -o args= -p "$pid") in
  *"$data"*) return 0 ;;
  *) return 1 ;;
  esac
}

if is_ours; then
  # SIGQUIT and not at once SIGKILL: an immediate shutdown gives its shared memory back.
  # SIGCONT first, as a stopped process hears nothing else.
  kill -CONT "$pid"
  kill -QUIT "$pid"
  tries=0
  while [ -e "$data/postmaster.pid" ] && [ "$tries" -lt 150 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  [ -e "$data/postmaster.pid" ] && kill -KILL "$pid"
fi

# A postmaster that was only about to write postmaster.pid finds it missing within a minute and
# ends by itself.
rm -rf "$1"
