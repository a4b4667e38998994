#!/bin/sh
# Refuses a command that needs the built gateway where it is not built. In the scripts of package.json, in front of the command.
[ -e dist/bundle/gateway.js ] && [ -e dist/bundle/start.sh ] && exit 0
echo 'The gateway is not built: npm run build' >&2
exit 1
