# Two images from one source. `services`: control plane, key broker, host agent and prover worker, one process per
# container. `enclave`: the enclave's process in a container, for development: nothing measures a container, and production
# starts the guest's image with `veritrain host`.
#
#   docker build --target services -t veritrain/services .
#   docker build --target enclave  -t veritrain/enclave  .
#
# Compose and the manifests name one image a service, as `veritrain images build` writes them, each with its command: this one serves
# for all under their names (-t veritrain/control-plane).
#
# Node 24 is supported until April 2028. The base is named by tag, not by digest: name it by digest where a measurement
# depends on it, --build-arg NODE_IMAGE=node@sha256:…
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /veritrain
COPY . .
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM ${NODE_IMAGE} AS services
# What a published port reaches. Dispatch stays on the loopback interface until it is given a certificate.
ENV NODE_ENV=production VERITRAIN_HTTP_HOST=0.0.0.0 \
  VERITRAIN_DATA_DIR=/var/lib/veritrain VERITRAIN_CACHE_DIR=/opt/veritrain/.veritrain/cache
WORKDIR /opt/veritrain
COPY --from=build /veritrain/package.json ./
COPY --from=build /veritrain/node_modules ./node_modules
COPY --from=build /veritrain/dist ./dist
COPY --from=build /veritrain/.veritrain/cache ./.veritrain/cache
RUN install -d -o node -g node /var/lib/veritrain
USER node
# Control plane: REST, dispatch. Key broker: 4300. Host agent and prover worker: 4110, where their settings say so.
EXPOSE 4100 4101 4300 4110
# Of the control plane; with another command name its address, or switch the check off (--no-healthcheck).
ENV VERITRAIN_HEALTH_URL=http://127.0.0.1:4100/health/ready
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.VERITRAIN_HEALTH_URL).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=4", "dist/apps/control-plane/src/main.js"]

FROM ${NODE_IMAGE} AS enclave
# Nothing in a guest installs packages.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn \
  /usr/local/bin/yarnpkg /opt/yarn-* /root/.npm
ENV NODE_ENV=production ORT_DISABLE_TELEMETRY=1
WORKDIR /opt/veritrain
COPY --from=build /veritrain/package.json ./
COPY --from=build /veritrain/dist/attestation/src/base ./dist/attestation/src/base
COPY --from=build /veritrain/dist/attestation/src/records ./dist/attestation/src/records
COPY --from=build /veritrain/dist/libs/sealing ./dist/libs/sealing
COPY --from=build /veritrain/dist/libs/step ./dist/libs/step
COPY --from=build /veritrain/dist/libs/wire/src/channel ./dist/libs/wire/src/channel
COPY --from=build /veritrain/dist/libs/onnx ./dist/libs/onnx
# Of the step proofs what commits to weights, and no prover, transcript of proofs or verifier (test/architecture/image.test.ts).
COPY --from=build /veritrain/dist/libs/zk/src/commit ./dist/libs/zk/src/commit
COPY --from=build /veritrain/dist/enclave ./dist/enclave
COPY --from=build /veritrain/node_modules/@hpke ./node_modules/@hpke
COPY --from=build /veritrain/node_modules/@koromix ./node_modules/@koromix
COPY --from=build /veritrain/node_modules/@noble ./node_modules/@noble
COPY --from=build /veritrain/node_modules/cbor-x ./node_modules/cbor-x
COPY --from=build /veritrain/node_modules/koffi ./node_modules/koffi
COPY --from=build /veritrain/node_modules/onnxruntime-common ./node_modules/onnxruntime-common
COPY --from=build /veritrain/node_modules/onnxruntime-node ./node_modules/onnxruntime-node
ENTRYPOINT ["node", "dist/enclave/src/main.js"]
EXPOSE 4200
# On the loopback interface of the pod; beyond it, name who may connect: --listen tcp:0.0.0.0:4200 --peer 10.42.0.0/16.
CMD ["--listen", "tcp:127.0.0.1:4200", "--attester", "snp"]
