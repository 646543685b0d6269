// Who may import whom, as data. ARCHITECTURE.md explains the table; test/architecture/imports.test.ts holds it.

/**
 * One row for every part. `may`: parts it may import, through their doors; `npm`: packages; `core`: modules of Node.
 * `only`: what single files may use beyond their row. A part that is not named imports nothing outside itself.
 */
const parts = {
  attestation: {
    path: '^attestation/',
    door: '^attestation/src/(base|records)/index\\.ts$',
    npm: ['@noble/curves', '@noble/hashes'],
    only: { '^attestation/src/base/cbor\\.ts$': ['cbor-x'] },
  },
  step: {
    path: '^libs/step/',
    door: '^libs/step/src/index\\.ts$',
    may: ['attestation'],
    npm: ['@noble/hashes'],
  },
  'zk-verifier': {
    testsMay: ['^libs/zk/'],
    path: '^libs/zk/src/(groth16/(relation|verifier)|merkle|relation|transcript|verifier|soundness\\.ts)',
    door: '^libs/zk/src/verifier/index\\.ts$',
    may: ['attestation', 'step', 'zk-plain'],
    npm: ['@noble/curves', '@noble/hashes'],
  },
  'zk-kernels': {
    path: '^libs/zk/src/commit/kernels/(?!build\\.)',
    may: ['attestation', 'zk-plain'],
    testsMay: ['^libs/zk/'],
    core: ['crypto', 'events', 'fs', 'worker_threads'],
    npm: ['@noble/hashes'],
  },
  'zk-kernels-build': { path: '^libs/zk/src/commit/kernels/build\\.', core: '.*', npm: ['assemblyscript'] },
  'zk-plain': {
    path: '^libs/zk/src/commit/(field/|layout/|(blake3|commitment|hash|keccak|keccak-module|params)\\.ts)',
    may: ['attestation', 'step'],
    testsMay: ['^libs/zk/'],
    npm: ['@noble/hashes'],
  },
  'zk-commit': {
    path: '^libs/zk/src/commit/(?!kernels/|field/|layout/|(blake3|commitment|hash|keccak|keccak-module|params)\\.ts)',
    door: '^libs/zk/src/commit/index\\.ts$',
    may: ['attestation', 'step', 'zk-plain', 'zk-kernels-inside'],
    testsMay: ['^libs/zk/'],
  },
  'zk-prover': {
    testsMay: ['^libs/zk/'],
    path: '^libs/zk/src/(prover|index\\.ts)',
    door: '^libs/zk/src/index\\.ts$',
    may: ['attestation', 'step', 'zk-inside', 'zk-plain', 'zk-committing', 'zk-kernels-inside'],
    npm: ['@noble/curves', '@noble/hashes'],
    core: '.*',
  },
  'zk-groth16-commitment': {
    testsMay: ['^libs/zk/'],
    path: '^libs/zk/src/groth16/commitment/',
    door: '^libs/zk/src/groth16/commitment/index\\.ts$',
    may: ['attestation', 'step', 'zk-inside', 'zk-plain', 'zk-commit'],
    npm: ['@noble/curves'],
  },
  'zk-groth16': {
    testsMay: ['^libs/zk/'],
    path: '^libs/zk/src/groth16/(prover|toolchain|index\\.ts)',
    door: '^libs/zk/src/groth16/index\\.ts$',
    may: ['attestation', 'process', 'step', 'zk-inside', 'zk-plain', 'zk-groth16-commitment'],
    npm: ['@noble/curves', '@noble/hashes'],
    only: { '^libs/zk/src/groth16/toolchain/': ['snarkjs'] },
    core: '.*',
  },
  enclave: {
    path: '^enclave/',
    may: ['attestation', 'sealing', 'step', 'wire-channel', 'zk-commit', 'onnx'],
    npm: ['@noble/curves', '@noble/ed25519', '@noble/hashes'],
    core: ['crypto', 'fs', 'fs/promises', 'net', 'util'],
    testsMay: ['^libs/process/src/index\\.ts$'],
    only: {
      '^enclave/src/attesters/': ['koffi'],
      '^enclave/src/attesters/nvidia\\.ts$': ['koffi', 'judge'],
      '^enclave/src/attesters/simulated\\.ts$': ['judge', 'simulated-vendor'],
    },
  },
  sealing: lib('sealing', {
    may: ['attestation'],
    npm: ['@hpke/core', '@hpke/dhkem-x25519', '@noble/curves'],
    core: [],
  }),
  data: lib('data', {
    may: ['attestation', 'process', 'step'],
    npm: [...['@huggingface/tokenizers', 'csv-parse', 'hyparquet', 'hyparquet-compressors', 'jpeg-js', 'pngjs']],
  }),
  collateral: lib('collateral', { may: ['attestation', 'judge'] }),
  guest: lib('guest', { may: ['attestation', 'process'], npm: ['zod'] }),
  'enclave-channel': lib('enclave-channel', { may: ['attestation', 'process', 'wire-channel'] }),
  process: lib('process', { may: ['attestation'] }),
  models: lib('models', { may: ['attestation', 'step'], testsMay: ['^libs/onnx/src/index\\.ts$'], core: [] }),
  onnx: lib('onnx', { may: ['attestation', 'step'], npm: ['onnxruntime-node'], core: ['worker_threads'] }),
  wire: {
    path: '^libs/wire/src/(?!channel/)',
    door: '^libs/wire/src/index\\.ts$',
    npm: ['@nats-io', 'zod'],
  },
  'wire-channel': {
    path: '^libs/wire/src/channel/',
    door: '^libs/wire/src/channel/index\\.ts$',
    may: ['attestation'],
  },
  node: lib('node', {
    may: ['attestation', 'process', 'proof', 'settlement', 'telemetry', 'wire', 'zk-verifier'],
    npm: ['@nestjs/microservices', 'rxjs', 'zod'],
  }),
  proof: lib('proof', { may: ['attestation', 'judge', 'step', 'zk-verifier'], core: [] }),
  review: lib('review', {
    door: '^libs/review/src/(text/)?index\\.ts$',
    may: ['attestation', 'judge', 'transparency', 'step', 'proof', 'zk-commit', 'zk-groth16-commitment'],
    npm: ['@noble/curves', '@noble/hashes'],
    core: [],
  }),
  client: lib('client', {
    door: '^libs/client/src/((api|files|judging)/)?index\\.ts$',
    may: [
      ...['attestation', 'judge', 'step', 'process', 'proof', 'zk-verifier', 'zk-commit', 'zk-groth16-commitment'],
      ...['review', 'sealing', 'settlement', 'data', 'models', 'transparency'],
    ],
    npm: ['@noble/curves', 'ethers', 'zod'],
  }),
  log: lib('log', {
    may: ['attestation', 'transparency', 'process'],
    npm: ['@electric-sql/pglite', '@noble/hashes', 'aws4fetch', 'pg'],
  }),
  persistence: lib('persistence', {
    may: ['attestation', 'migrations', 'process', 'wire'],
    npm: ['@electric-sql/pglite', 'pg', 'reflect-metadata', 'typeorm'],
  }),
  settlement: lib('settlement', {
    door: '^libs/settlement/src/(index|deployment)\\.ts$',
    may: ['attestation', 'judge', 'process', 'zk-verifier', 'contracts-abi'],
    testsMay: ['^libs/step/src/index\\.ts$'],
    npm: ['@noble/curves', 'ethers', 'zod'],
  }),
  'simulated-vendor': lib('simulated-vendor', {
    may: ['attestation', 'judge'],
    npm: ['@noble/hashes', '@peculiar/x509', 'reflect-metadata'],
  }),
  telemetry: lib('telemetry', {
    npm: ['@opentelemetry', 'pino', 'prom-client'],
    core: ['http', 'net', 'timers/promises'],
  }),
  'control-plane': app('control-plane', {
    may: [
      ...['attestation', 'judge', 'transparency', 'step', 'proof', 'collateral', 'log', 'wire', 'persistence'],
      ...['process', 'settlement', 'telemetry'],
    ],
    npm: [
      ...['@apollo/server', '@as-integrations/express5', '@nats-io', '@nestjs', 'graphql', 'graphql-ws'],
      ...['@noble/curves', 'aws4fetch', 'ethers', 'express', 'prom-client', 'reflect-metadata', 'rxjs'],
      ...['openid-client', 'standardwebhooks', 'typeorm', 'zod'],
    ],
  }),
  'key-broker': app('key-broker', {
    may: [
      'attestation',
      'judge',
      'transparency',
      'sealing',
      'step',
      'proof',
      'collateral',
      'log',
      'process',
      'settlement',
      'telemetry',
    ],
    npm: ['@nestjs', '@noble', 'ethers', 'express', 'reflect-metadata', 'zod'],
  }),
  'log-server': app('log', {
    may: ['attestation', 'transparency', 'log', 'process', 'settlement', 'telemetry'],
    npm: ['@nestjs', '@noble/curves', 'ethers', 'express', 'reflect-metadata', 'zod'],
  }),
  witness: app('witness', {
    may: ['attestation', 'transparency', 'process', 'telemetry'],
    npm: ['@noble/curves', '@noble/hashes', 'zod'],
  }),
  'host-agent': app('host-agent', {
    may: [
      ...['attestation', 'judge', 'collateral', 'wire-channel', 'enclave-channel', 'wire', 'node', 'settlement'],
      ...['proof', 'step', 'telemetry'],
    ],
    npm: ['ethers', 'zod'],
  }),
  'prover-worker': app('prover-worker', {
    may: [
      ...['attestation', 'step', 'zk-verifier', 'zk-commit', 'zk-prover', 'zk-groth16', 'zk-groth16-commitment'],
      ...['process', 'proof', 'sealing'],
      ...['wire', 'node', 'settlement', 'telemetry'],
    ],
    npm: ['@noble', 'ethers', 'zod'],
  }),
  cli: app('cli', {
    may: [
      ...['attestation', 'judge', 'transparency', 'client', 'review', 'step', 'process', 'proof', 'zk-verifier'],
      'collateral',
      ...['enclave-channel', 'guest', 'log', 'wire', 'onnx', 'data', 'models', 'settlement', 'simulated-vendor'],
    ],
    npm: ['@noble', '@peculiar/x509', 'commander', 'ethers', 'pngjs', 'reflect-metadata', 'zod'],
  }),
  // Of the wire its types alone: what a browser loads has no schemas (apps/console/test/build.test.ts).
  console: {
    path: '^apps/console/(src|test)/',
    may: ['attestation', 'review', 'step', 'models', 'wire'],
    npm: ['preact'],
  },
  'console-build': { path: '^apps/console/vite\\.(console\\.)?config\\.ts$', npm: ['vite'], core: ['crypto'] },
  migrations: { path: '^migrations/', door: '^migrations/index\\.ts$', npm: ['typeorm'] },
  contracts: {
    path: '^contracts/',
    may: ['zk-verifier'],
    testsMay: [
      '^(attestation/src/(base/|records/)?|libs/(settlement|simulated-vendor|collateral|step)/src/)index\\.ts$',
      '^libs/zk/',
    ],
    core: '.*',
    npm: ['ethers', 'typechain', 'solc'],
  },
};

/** Parts that are no folder of their own: what some parts may reach of others. */
const doors = {
  judge: '^attestation/src/index\\.ts$',
  transparency: '^attestation/src/log/index\\.ts$',
  'zk-plain': parts['zk-plain'].path,
  'zk-inside': parts['zk-verifier'].path,
  'zk-committing': '^libs/zk/src/commit/[a-z-]+\\.ts$',
  'zk-kernels-inside': '^libs/zk/src/commit/kernels/(index|pool)\\.ts$',
  'contracts-abi': '^contracts/(abi/|snp-issuers\\.json$)',
};

function lib(name, row) {
  return { path: `^libs/${name}/`, door: `^libs/${name}/src/index\\.ts$`, core: '.*', ...row };
}

function app(name, row) {
  return { path: `^apps/${name}/`, core: '.*', ...row };
}

const project = '^(apps|attestation|contracts|enclave|libs|migrations|test)/';
/** Tests and what only tests use. */
const tests = '(\\.test\\.ts$|^apps/[^/]+/test/|^contracts/test/|^libs/zk/src/testing/)';
const npmTypes = 'npm npm-dev npm-optional npm-peer npm-bundled npm-no-pkg npm-unknown undetermined'.split(' ');

const packagePath = (name) => `(^|/)node_modules/(@types/)?${name.replace('/', '\\/')}(/|$)`;
const corePath = (name) => `^(node:)?${name}$`;
const isOurs = (name) => name in doors || name in parts;
const doorOf = (name) => doors[name] ?? parts[name].door;

/** Project files: its own and the doors of `may`. Tests beside the code keep to the same row, and may use test/support. */
function projectRules([name, { path, may = [], only = {}, testsMay = [] }]) {
  const allowed = [path, ...may.map(doorOf)];
  const rule = (suffix, from, extra) => ({
    name: `${name}-imports${suffix}`,
    severity: 'error',
    from,
    to: { path: project, pathNot: [...allowed, ...extra] },
  });
  const opened = Object.entries(only).flatMap(([file, names]) =>
    names.some(isOurs) ? [[file, names.filter(isOurs).map(doorOf)]] : [],
  );
  return [
    rule('', { path, pathNot: [tests, ...opened.map(([file]) => file)] }, []),
    rule('-in-tests', { path: `(?=${path}).*${tests.replaceAll('^', '')}` }, [
      '^test/support/',
      doorOf('simulated-vendor'),
      doors.judge,
      ...testsMay,
    ]),
    ...opened.map(([file, extra], index) => rule(`-opened-${index + 1}`, { path: file, pathNot: tests }, extra)),
  ];
}

/** Packages and modules of Node. Tests are free in what they check with. */
function outsideRules([name, { path, npm = [], core = [], only = {} }]) {
  const files = Object.entries(only).map(([file, names]) => [file, names.filter((other) => !isOurs(other))]);
  const rule = (suffix, from, packages) => ({
    name: `${name}-packages${suffix}`,
    severity: 'error',
    from,
    to: { dependencyTypes: npmTypes, pathNot: packages.map(packagePath) },
  });
  return [
    rule('', { path, pathNot: [tests, ...files.map(([file]) => file)] }, npm),
    ...files.map(([file, extra], index) =>
      rule(`-opened-${index + 1}`, { path: file, pathNot: tests }, [...npm, ...extra]),
    ),
    {
      name: `${name}-node`,
      severity: 'error',
      from: { path, pathNot: tests },
      to: { dependencyTypes: ['core'], ...(core === '.*' ? { pathNot: '.*' } : { pathNot: core.map(corePath) }) },
    },
  ];
}

/** What starts a process, is started by a tool, or is read by a person: nothing imports these. */
const entries = [
  '(^|/)[a-z-]*main\\.ts$',
  '\\.(test|bench|d)\\.ts$',
  '^apps/cli/bin/',
  '^libs/zk/src/commit/kernels/(assembly/|build\\.|worker\\.ts$)',
  '^libs/persistence/src/build-template\\.ts$',
  '^apps/control-plane/src/write-documents\\.ts$',
  '^contracts/(script|tools)/',
  '^apps/console/(vite\\.(console\\.)?config\\.ts|src/[a-z]+/main\\.tsx)$',
  '^test/(bench/main|support/(check|bless|dev))\\.ts$',
];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: { pathNot: tests }, to: { circular: true } },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, pathNot: entries }, to: {} },
    {
      name: 'installed-in-production',
      comment: 'What runs after `npm ci --omit=dev` imports no development dependency, types aside.',
      severity: 'error',
      from: {
        pathNot: [
          tests,
          '^test/',
          '^apps/console/',
          '^contracts/(script|tools)/',
          '^libs/zk/src/commit/kernels/build\\.',
        ],
      },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm', 'type-only'] },
    },
    {
      name: 'row-for-every-folder',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: [tests, '/bin/', ...Object.values(parts).map(({ path }) => path)] },
      to: {},
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'apps-apart',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'test-support-for-tests',
      severity: 'error',
      from: { pathNot: ['^test/', tests] },
      to: { path: '^test/' },
    },
    {
      name: 'simulated-only-when-asked',
      comment: 'A measured guest never loads the simulated attester: it is imported on demand, by name.',
      severity: 'error',
      from: { pathNot: ['^test/', tests] },
      to: { path: '^enclave/src/attesters/simulated\\.ts$', dynamic: false },
    },
    {
      name: 'former-bundles-at-the-door',
      comment: 'Versions 1 to 3 are read into the shape of version 4, and no check asks which version it is.',
      severity: 'error',
      from: { pathNot: ['^attestation/src/(records/(bundle|index)|verdict/(former|read)-bundle)\\.ts$', tests] },
      to: { path: '^attestation/src/(records|verdict)/former-bundle\\.ts$' },
    },
    {
      name: 'commitment-without-prover',
      comment: 'The trusted base grows by commitments, not by the protocol or whoever proves with it.',
      severity: 'error',
      from: { path: '^libs/zk/src/commit/', pathNot: tests },
      to: {
        path: '^libs/zk/src/(?!commit/)',
        reachable: true,
      },
    },
    ...Object.entries(parts).flatMap((part) => [...projectRules(part), ...outsideRules(part)]),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|libs/zk/src/commit/kernels/assembly|contracts/(cache|out))/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      conditionNames: ['source', 'import', 'node', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.tsx', '.mjs', '.cjs', '.js', '.json', '.d.ts'],
    },
  },
};

/**
 * Where `reached` of test/architecture/imports.test.ts begins: processes, tools, doors, and tests of the reference that
 * it is. The tool's own rule walks the graph once for every pair. Hidden from the tool, which knows no such member.
 */
Object.defineProperty(module.exports, 'roots', {
  value: [...entries, doors.judge, ...Object.values(parts).flatMap(({ door }) => door ?? [])],
});
