# Ends an embedded PostgreSQL and removes its directory ($1) once standard input closes.
# The JVM holds the other end of that pipe and never writes to it, so this runs on an orderly close, on exit, and when the JVM is killed with -9.

trap '' INT TERM HUP # Ctrl-C reaches the whole process group, and the JVM may outlive it by a while

while read -r _; do :; done

data="$1/data"
pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null)
arguments=$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || ps -o args= -p "$pid" 2>/dev/null)

# After a crash postmaster.pid may name a process that is somebody else's by now.
case "$arguments" in
*"$data"*)
  # SIGQUIT, not SIGKILL: an immediate shutdown gives shared memory back. CONT comes first, as a stopped process hears nothing else.
  kill -CONT "$pid"
  kill -QUIT "$pid"
  tries=0
  while [ -e "$data/postmaster.pid" ] && [ "$tries" -lt 150 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  [ -e "$data/postmaster.pid" ] && kill -KILL "$pid"
  ;;
esac

rm -rf "$1"
