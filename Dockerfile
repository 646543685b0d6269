# Two images from one source. `services`: control plane, key broker, host agent and prover worker, one process per
# container. `enclave`: what goes into the measured guest, and nothing else.
#
#   docker build --target services -t veritrain/services .
#   docker build --target enclave  -t veritrain/enclave  .
#
# Name the base by its digest where a measurement depends on it: --build-arg NODE_IMAGE=node@sha256:…
ARG NODE_IMAGE=node:20-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /veritrain
COPY . .
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM ${NODE_IMAGE} AS services
ENV NODE_ENV=production VERITRAIN_DATA_DIR=/var/lib/veritrain VERITRAIN_CACHE_DIR=/opt/veritrain/.veritrain/cache
WORKDIR /opt/veritrain
COPY --from=build /veritrain/package.json ./
COPY --from=build /veritrain/node_modules ./node_modules
COPY --from=build /veritrain/dist ./dist
COPY --from=build /veritrain/.veritrain/cache ./.veritrain/cache
RUN install -d -o node -g node /var/lib/veritrain
USER node
CMD ["node", "--max-semi-space-size=4", "dist/apps/control-plane/src/main.js"]

FROM ${NODE_IMAGE} AS enclave
ENV NODE_ENV=production
WORKDIR /opt/veritrain
COPY --from=build /veritrain/package.json ./
COPY --from=build /veritrain/dist/attestation ./dist/attestation
COPY --from=build /veritrain/dist/libs/step ./dist/libs/step
# Of the step proofs what commits to weights, and no prover, transcript of proofs or verifier (test/architecture/image.test.ts).
COPY --from=build /veritrain/dist/libs/zk/src/params.js ./dist/libs/zk/src/
COPY --from=build /veritrain/dist/libs/zk/src/commitment ./dist/libs/zk/src/commitment
COPY --from=build /veritrain/dist/libs/zk/src/field ./dist/libs/zk/src/field
COPY --from=build /veritrain/dist/libs/zk/src/kernels ./dist/libs/zk/src/kernels
COPY --from=build /veritrain/dist/libs/zk/src/merkle/hash.js ./dist/libs/zk/src/merkle/
COPY --from=build /veritrain/dist/libs/zk/src/prover/arrays.js /veritrain/dist/libs/zk/src/prover/columns.js \
  /veritrain/dist/libs/zk/src/prover/commit.js /veritrain/dist/libs/zk/src/prover/kernel-backend.js \
  /veritrain/dist/libs/zk/src/prover/kernel-memory.js /veritrain/dist/libs/zk/src/prover/randomness.js \
  ./dist/libs/zk/src/prover/
COPY --from=build /veritrain/dist/libs/zk/src/relation ./dist/libs/zk/src/relation
COPY --from=build /veritrain/dist/libs/zk/src/transcript/keccak.js /veritrain/dist/libs/zk/src/transcript/keccak-module.js \
  ./dist/libs/zk/src/transcript/
COPY --from=build /veritrain/dist/libs/zk/src/verifier/statement.js ./dist/libs/zk/src/verifier/
COPY --from=build /veritrain/dist/enclave ./dist/enclave
COPY --from=build /veritrain/node_modules/@hpke ./node_modules/@hpke
COPY --from=build /veritrain/node_modules/@koromix ./node_modules/@koromix
COPY --from=build /veritrain/node_modules/@noble ./node_modules/@noble
COPY --from=build /veritrain/node_modules/cbor-x ./node_modules/cbor-x
COPY --from=build /veritrain/node_modules/koffi ./node_modules/koffi
COPY --from=build /veritrain/node_modules/onnxruntime-common ./node_modules/onnxruntime-common
COPY --from=build /veritrain/node_modules/onnxruntime-node ./node_modules/onnxruntime-node
ENTRYPOINT ["node", "dist/enclave/src/main.js"]
CMD ["--listen", "tcp:0.0.0.0:4200", "--attester", "snp"]
