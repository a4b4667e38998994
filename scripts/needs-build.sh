#!/bin/sh
# Refuses a command that needs the built gateway if it is not built. The scripts of package.json call it before the command.
[ -e dist/bundle/gateway.js ] && [ -e dist/bundle/start.sh ] && exit 0
echo 'The gateway is not built: npm run build' >&2
exit 1
