# The digest is what counts, the tag is for people. After a change of the tag, and before the first build, compare:
# docker buildx imagetools inspect node:24.21.0-bookworm-slim
# Another name is for a registry of your own: --build-arg NODE_IMAGE=registry.example.com/node@sha256:…
ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json nest-cli.json ./
COPY src ./src
COPY scripts/bundle.ts scripts/bundle-options.ts scripts/built.ts scripts/function-names.ts scripts/own-map.ts scripts/sbom.ts ./scripts/
RUN npm run build:gateway

# What `npm run pack:sandbox` packs.
FROM build AS package
COPY CHANGELOG.md ./
COPY docs/operating.md docs/other-languages.md docs/platform.md docs/readings.md docs/recipes.md ./docs/
COPY examples/other-languages ./examples/other-languages
COPY config/response-examples.json config/openapi-3.0.json config/postman-collection.json ./config/
COPY scripts/needs-build.sh scripts/sandbox-package.ts ./scripts/
COPY sandbox ./sandbox
COPY sandbox-package ./sandbox-package
RUN npm run build:sandbox

# Node without package managers, and without programs that run as another user than the one who starts them. The list of Debian's
# packages stays, for scanners.
FROM ${NODE_IMAGE} AS bare
RUN rm -rf /usr/local/lib/node_modules /usr/local/include /usr/local/share/man /opt/yarn* \
    /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
    /usr/bin/apt* /usr/bin/dpkg* /usr/lib/apt /usr/lib/dpkg /etc/apt /var/lib/apt /var/cache/apt \
  && find / -xdev -type f -perm /6000 -exec chmod a-s {} +

# From nothing, so that what was removed takes no space in a layer below.
FROM scratch AS runtime
COPY --from=bare / /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /app

# The emulator of the platform uses nothing but Node, which strips the types itself.
FROM runtime AS sandbox
COPY package.json ./
COPY sandbox ./sandbox
# The questions that the interface leaves open, which the gateway and the sandbox share.
COPY src/config/readings.ts src/config/token-readings.ts src/config/taught-codes.ts ./src/config/
USER node
EXPOSE 4000
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${SANDBOX_PORT:-4000} && printf 'GET /__sandbox/health HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
CMD ["node", "sandbox/main.ts"]

# Gateway and emulator behind one entry, for the tests of callers. Options may follow the name of the image.
FROM runtime AS sandbox-package
COPY --from=package /app/sandbox-package/package.json /app/sandbox-package/start.cjs ./
COPY --from=package /app/sandbox-package/dist ./dist
USER node
EXPOSE 3000 4000
# With --sandbox-only there is no gateway that could answer.
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
  CMD ["bash", "-c", "at=3000/health/live; mapfile -d '' -t given </proc/1/cmdline; [[ \" ${given[*]} \" != *' --sandbox-only '* ]] || at=4000/__sandbox/health; exec 3<>/dev/tcp/127.0.0.1/${at%%/*} && printf 'GET /%s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' \"${at#*/}\" >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["node", "start.cjs", "--host", "0.0.0.0", "--port", "3000", "--sandbox-port", "4000"]

FROM runtime AS gateway
ENV NODE_ENV=production
ARG NODE_IMAGE
ARG VERSION=0.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="licensing-gateway" \
  org.opencontainers.image.description="Gateway in front of a licensing platform's order module and member center" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.base.name="${NODE_IMAGE}"
# The version, what the API page shows, and the runbook of the console.
COPY package.json CHANGELOG.md ./
COPY docs/operating.md docs/recipes.md ./docs/
COPY config/response-examples.json config/openapi-3.0.json config/postman-collection.json ./config/
# All the code in one file, and what is in it by name, version and hash: dist/bundle/sbom.cdx.json (CycloneDX).
COPY --from=build /app/dist/bundle ./dist/bundle
# V8's compiled code of the bundle: a start takes a fifth less time. It counts for this Node, user and options only; others start as without it.
# A start without settings makes it, and ends.
ENV NODE_COMPILE_CACHE=/app/compiled
# The folder is for a volume: DATABASE_URL=sqlite:/var/lib/licensing-gateway/gateway.db
RUN install --directory --owner=node compiled /var/lib/licensing-gateway
USER node
RUN sh dist/bundle/start.sh 2>/dev/null || ls compiled/*/*
EXPOSE 3000 9464
# A few bytes by bash: a Node for each check would cost more than the gateway does when it is idle. Docker checks every five seconds until
# the first success.
# With TLS on the public listener the management listener answers, which stays plain.
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
  CMD ["bash", "-c", "at=${PORT:-3000}/health/live; [ -z \"$TLS_CERT_FILE\" ] || at=${MANAGEMENT_PORT:-9464}/console/icon.svg; exec 3<>/dev/tcp/127.0.0.1/${at%%/*} && printf 'GET /%s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' \"${at#*/}\" >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
# The script becomes Node, without npm, so that SIGTERM reaches it and requests under way are finished.
CMD ["sh", "dist/bundle/start.sh"]
