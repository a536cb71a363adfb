# Ends an embedded PostgreSQL and removes its directory ($1) as soon as standard input says a word
# or ends. The JVM holds the other end of that pipe: it says the word on an orderly close, and the
# kernel ends it when the JVM is killed, by SIGKILL too.

trap '' INT TERM HUP QUIT # Ctrl-C reaches the whole process group; the JVM may outlive it a while

data="$1/data"
orderly=
read -r orderly

# Killed at the very start: let initdb and pg_ctl, which go on alone, get to where they are found.
[ -n "$orderly" ] || [ -e "$data/postmaster.pid" ] || sleep 3

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

# An initdb that still writes gets in the way of rm; without its directory it soon gives up.
tries=0
until rm -rf "$1" || [ "$tries" -ge 20 ]; do
  sleep 0.5
  tries=$((tries + 1))
done
