# The digest is what counts, the tag is for people. After a change of the tag, and before the first build, compare:
# docker buildx imagetools inspect node:24.21.0-bookworm-slim
FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20 AS base
WORKDIR /app

# The emulator of the platform uses nothing but Node, which strips the types itself.
FROM base AS sandbox
COPY package.json ./
COPY sandbox ./sandbox
USER node
EXPOSE 4000
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s --start-interval=2s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${SANDBOX_PORT:-4000} && printf 'GET /__sandbox/health HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
CMD ["node", "sandbox/main.ts"]

FROM base AS build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json nest-cli.json ./
COPY src ./src
COPY scripts/bundle.ts ./scripts/
# The optional packages are a Node for older hosts and tools' binaries: the image has its own Node.
RUN npm run build && npm prune --omit=dev --omit=optional --no-audit --no-fund

FROM base AS gateway
ENV NODE_ENV=production
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# The API page shows it.
COPY CHANGELOG.md ./
USER node
EXPOSE 3000
# A few bytes by bash: a Node for each check would cost more than the gateway does when it is idle.
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s --start-interval=2s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${PORT:-3000} && printf 'GET /health/live HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
# Node itself, not npm, so that SIGTERM reaches it and requests under way are finished.
CMD ["node", "--enable-source-maps", "--max-semi-space-size=16", "dist/bundle/gateway.js"]
