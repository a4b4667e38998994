# syntax=docker/dockerfile:1
FROM node:24.21.0-bookworm-slim AS base
WORKDIR /app

# The emulator of the platform uses nothing but Node, which strips the types itself.
FROM base AS sandbox
COPY package.json ./
COPY sandbox ./sandbox
USER node
EXPOSE 4000
HEALTHCHECK --interval=5s --timeout=2s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.SANDBOX_PORT || 4000) + '/__sandbox/health').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "sandbox/main.ts"]

FROM base AS build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json nest-cli.json ./
COPY src ./src
# The optional packages are a Node for older hosts and tools' binaries: the image has its own Node.
RUN npm run build && npm prune --omit=dev --omit=optional --no-audit --no-fund

FROM base AS gateway
ENV NODE_ENV=production
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
USER node
EXPOSE 3000
HEALTHCHECK --interval=5s --timeout=2s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 3000) + '/health/live').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Node itself, not npm, so that SIGTERM reaches it and requests under way are finished.
CMD ["node", "dist/main.js"]
