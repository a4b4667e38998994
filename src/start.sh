#!/bin/sh
# Starts the gateway, with further options of Node if this script gets some.
# V8 reads the limit of its semi-spaces, which hold young objects, at the start only. With 512 MiB of memory its default is 1 MiB, and it
# would copy long-lived objects all the time. A limit in NODE_OPTIONS overrides the one of this script.
# V8 also begins with 1 MiB. A start that begins with 16 MiB copies less: it takes a tenth less of the processor, and 12 MiB more memory.
# The last option stops V8 from allocating objects of some places in the code as old at once, because those of a busy moment lived long.
# The places differ from process to process, and their objects stay until a full collection.
set -eu
readonly GIB=1073741824

# Succeeds if the machine, or the control group of this process, has less than 1 GiB of memory.
is_small() {
  [ -r /proc/meminfo ] || return 1
  read -r _ kib _ < /proc/meminfo
  [ "$kib" -ge 1048576 ] || return 0
  while IFS=: read -r _ controllers group; do
    # A container sees its own group as the root. The second version of control groups names no controllers.
    case ,$controllers, in
      ,,) base=/sys/fs/cgroup file=memory.max ;;
      *,memory,*) base=/sys/fs/cgroup/memory file=memory.limit_in_bytes ;;
      *) continue ;;
    esac
    for limited in "$base/$file" "$base$group/$file"; do
      if [ -r "$limited" ] && read -r limit < "$limited" && [ "$limit" != max ] && [ "$limit" -lt $GIB ]; then
        return 0
      fi
    done
  done < /proc/self/cgroup
  return 1
}

case ${NODE_OPTIONS:-} in
  *--max-semi-space-size=*) ;;
  *) if is_small; then set -- --max-semi-space-size=32 "$@"; else set -- --min-semi-space-size=16 --max-semi-space-size=64 "$@"; fi ;;
esac
set -- --no-allocation-site-pretenuring "$@"
case $0 in */*) folder=${0%/*} ;; *) folder=. ;; esac
exec node "$@" "$folder/gateway.js"
