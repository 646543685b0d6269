/** Images, manifests and units name settings, paths and programs that exist. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { loadAll } from 'js-yaml';
import { expect, it } from 'vitest';
import { readNats } from '../../apps/control-plane/src/core/config/transports.js';
import { committedFiles, root, textOf } from './tree.js';

interface Resource {
  readonly kind: string;
  readonly spec: { readonly template?: { readonly spec: PodSpec }; readonly selector?: unknown };
}
interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes?: readonly { readonly name: string }[];
}
interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly volumeMounts?: readonly { readonly name: string }[];
}

const files = committedFiles();
const manifests = files.filter((path) => /^apps\/[^/]+\/deploy\/.*\.yaml$/.test(path));
const units = files.filter((path) => /\.service$/.test(path));
const workloads = manifests.flatMap((path) =>
  (loadAll(textOf(path)) as Resource[])
    .filter(({ spec }) => spec.template !== undefined)
    .map(({ spec }) => ({ path, spec, pod: spec.template!.spec })),
);
const containers = workloads.flatMap(({ path, pod }) => pod.containers.map((container) => ({ path, container })));
const settingsRead = new Set(
  files
    .filter((path) => /^(apps|libs)\/.*\.ts$/.test(path))
    .flatMap((path) => textOf(path).match(/\b(VERITRAIN_[A-Z_]+|DATABASE_URL|NATS_URL)\b/g) ?? []),
);
const programs = (text: string): string[] => text.match(/\bdist\/[\w/-]+\.js\b/g) ?? [];
const sourceOf = (program: string): string => program.replace(/^dist\//, '').replace(/\.js$/, '.ts');

it('manifests set what the code reads', () => {
  const names = containers.flatMap(({ path, container }) => (container.env ?? []).map(({ name }) => ({ path, name })));
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter(({ name }) => !settingsRead.has(name))).toEqual([]);
});

it('programs that are started have a source', () => {
  const named = [...manifests, ...units, 'Dockerfile'].flatMap((path) =>
    programs(textOf(path)).map((name) => ({ path, name })),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(({ name }) => !existsSync(join(root, sourceOf(name))))).toEqual([]);
});

/** Commands of the images that `veritrain images build` writes, by name. */
const commands = new Map(
  [...textOf('libs/guest/src/oci/services.ts').matchAll(/^ {2}'?([a-z-]+)'?: \{ flags: \[(.*?)\]/gm)].map(
    ([, name, flags]) => {
      const words = [...flags!.matchAll(/'([^']+)'/g)].map(([, flag]) => flag!);
      return [`veritrain/${name}`, ['node', ...words, `dist/apps/${name}/src/main.js`]];
    },
  ),
);

it('images are those that are written, each started by its own command', () => {
  expect(commands.size).toBeGreaterThan(5);
  for (const { path, container } of containers) expect(container.args, path).toEqual(commands.get(container.image));
});

it('every mount has its volume', () => {
  const missing = workloads.flatMap(({ path, spec, pod }) => {
    const claims = (spec as { volumeClaimTemplates?: { metadata: { name: string } }[] }).volumeClaimTemplates ?? [];
    const names = [...(pod.volumes ?? []).map(({ name }) => name), ...claims.map(({ metadata }) => metadata.name)];
    return pod.containers
      .flatMap(({ volumeMounts = [] }) => volumeMounts)
      .filter(({ name }) => !names.includes(name))
      .map(({ name }) => `${path}: ${name}`);
  });
  expect(missing).toEqual([]);
});

it('the image of the enclave has the packages that it imports', () => {
  const copied = [...textOf('Dockerfile').matchAll(/\/node_modules\/(\S+) \.\/node_modules/g)].map(([, name]) => name!);
  const own = ['enclave', 'attestation', 'libs/onnx', 'libs/sealing', 'libs/step', 'libs/wire/src/channel'];
  const imported = new Set(
    files
      .filter(
        (path) =>
          own.some((folder) => path.startsWith(folder.includes('/src/') ? `${folder}/` : `${folder}/src/`)) &&
          /(?<!\.test)\.ts$/.test(path),
      )
      .flatMap((path) => [...textOf(path).matchAll(/\bfrom '([^'.#]+)'|\bimport\('([^'.#]+)'\)/g)])
      .map(([, named, loaded]) => (named ?? loaded)!)
      .filter((name) => !name.startsWith('node:'))
      .map((name) =>
        name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/'),
      ),
  );
  expect(imported.size).toBeGreaterThan(4);
  expect([...imported].filter((name) => !copied.some((path) => name === path || name.startsWith(`${path}/`)))).toEqual(
    [],
  );
});

it('what is copied of the build is made of the source', () => {
  const copied = [...textOf('Dockerfile').matchAll(/\/dist\/(\S+)/g)].map(([, path]) => path!.replace(/\.js$/, '.ts'));
  expect(copied.length).toBeGreaterThan(2);
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it('W-M10 images run on a line of Node that is supported, and that the package takes', () => {
  const [, major] = /^ARG NODE_IMAGE=node:(\d+)-bookworm-slim$/m.exec(textOf('Dockerfile')) ?? [];
  // Ends of support by the schedule of the Node project: 20 in April 2026, 22 in April 2027, 24 in April 2028.
  expect(Number(major)).toBeGreaterThanOrEqual(24);
  expect(Number(major) % 2).toBe(0);
  const { engines } = JSON.parse(textOf('package.json')) as { engines: { node: string } };
  expect(engines.node).toContain(`>=22.12.0`);
});

it('W-M10 the services’ image is reached where it is published, and says how it is', () => {
  const services = /AS services\n(.*?)\nFROM /s.exec(textOf('Dockerfile'))![1]!;
  expect(services).toMatch(/^ENV .*VERITRAIN_HTTP_HOST=0\.0\.0\.0/m);
  expect(services).toMatch(/^EXPOSE .*\b4100\b.*\b4101\b.*\b4300\b/m);
  expect(services).toMatch(/^HEALTHCHECK [\s\S]*VERITRAIN_HEALTH_URL/m);
  const [, check] = /CMD \["node", "-e", "(fetch.*)"\]/.exec(services)!;
  expect(() => new Script(check!)).not.toThrow();
});

it('W-M10 ports that manifests open are those that are listened on, and memory has room for what is refused', () => {
  const control = containers.find(({ path }) => path.startsWith('apps/control-plane/'))!.container as unknown as {
    readonly env: readonly { readonly name: string; readonly value: string }[];
    readonly ports: readonly { readonly containerPort: number }[];
    readonly resources: { readonly limits: { readonly memory: string } };
  };
  const valueOf = (name: string) => control.env.find((entry) => entry.name === name)?.value;
  expect(control.ports.map(({ containerPort }) => String(containerPort))).toEqual([
    valueOf('VERITRAIN_HTTP_PORT'),
    valueOf('VERITRAIN_DISPATCH_PORT'),
  ]);
  // Beyond the loopback interface dispatch starts with a certificate alone (CONFIG_PLAIN).
  expect(valueOf('VERITRAIN_DISPATCH_TLS_CERT')).toBeDefined();
  expect(Number(/^(\d+)Mi$/.exec(control.resources.limits.memory)?.[1])).toBeGreaterThanOrEqual(1024);
});

it('A-L5 the enclave’s image has no package manager', () => {
  const enclave = /AS enclave\n(.*)$/s.exec(textOf('Dockerfile'))![1]!;
  const [, removed] = /^RUN rm -rf ((?:.*\\\n)*.*)$/m.exec(enclave)!;
  const places = [
    '/usr/local/lib/node_modules',
    ...['npm', 'npx', 'corepack', 'yarn'].map((n) => `/usr/local/bin/${n}`),
  ];
  for (const place of [...places, '/opt/yarn-*']) expect(removed!.split(/[\s\\]+/)).toContain(place);
  expect(enclave).not.toMatch(/\b(npm|yarn|apt-get)\b (run|install|ci|prune)/);
});

it('A-L7 no manifest or unit opens a port for the enclave, or shows the host’s configfs', () => {
  const open = [...manifests, ...units].filter((path) =>
    /--listen|tcp:|\/sys\/kernel\/config/.test(textOf(path).replace(/^\s*#.*$/gm, '')),
  );
  expect(open).toEqual([]);
  const lines = textOf('Dockerfile').split('\n');
  const listens = lines.filter((line) => /--listen/.test(line) && /tcp:/.test(line));
  expect(listens.length).toBeGreaterThan(0);
  expect(listens.filter((line) => !/tcp:127\.0\.0\.1:/.test(line) && !/--peer\b/.test(line))).toEqual([]);
});

/** What of its node a pod reaches beyond the folder of a guest's socket. */
function nodeReach(pod: NodePod): string[] {
  const flags = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((flag) => pod[flag] === true);
  const folders = (pod.volumes ?? [])
    .map(({ hostPath }) => hostPath?.path)
    .filter((path) => path !== undefined && !/^\/run\/veritrain\/\d+$/.test(path));
  const own = pod.containers.flatMap(({ ports = [], securityContext }) => [
    ...ports.filter(({ hostPort }) => hostPort !== undefined).map(({ hostPort }) => `port ${hostPort}`),
    ...(securityContext?.privileged === true ? ['privileged'] : []),
  ]);
  return [...flags, ...(folders as string[]), ...own];
}

interface NodePod {
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly volumes?: readonly { readonly hostPath?: { readonly path: string } }[];
  readonly containers: readonly {
    readonly ports?: readonly { readonly hostPort?: number }[];
    readonly securityContext?: { readonly privileged?: boolean };
  }[];
}

it('A-L7 manifests reach of their node the folder of a guest’s socket alone', () => {
  expect(
    workloads.flatMap(({ path, pod }) => nodeReach(pod as unknown as NodePod).map((what) => [path, what])),
  ).toEqual([]);
  const containers = [{ ports: [{ hostPort: 4200 }], securityContext: { privileged: true } }];
  const volumes = ['/sys/kernel/config', '/run/veritrain', '/run/veritrain/0'].map((path) => ({ hostPath: { path } }));
  const planted = { hostNetwork: true, volumes, containers };
  expect(nodeReach(planted)).toEqual([
    'hostNetwork',
    '/sys/kernel/config',
    '/run/veritrain',
    'port 4200',
    'privileged',
  ]);
});

it('manifests run as nobody in particular, take no rights and write nothing of their root', () => {
  const pods = workloads.map(({ path, pod }) => ({ path, pod: pod as unknown as SecurePod }));
  expect(pods.length).toBeGreaterThan(2);
  for (const { path, pod } of pods) {
    expect(pod.securityContext?.runAsNonRoot, path).toBe(true);
    expect(pod.automountServiceAccountToken, path).toBe(false);
    for (const { securityContext: own } of pod.containers) {
      expect(own?.allowPrivilegeEscalation, path).toBe(false);
      expect(own?.readOnlyRootFilesystem, path).toBe(true);
      expect(own?.capabilities?.drop, path).toEqual(['ALL']);
    }
  }
});

interface SecurePod {
  readonly automountServiceAccountToken?: boolean;
  readonly securityContext?: { readonly runAsNonRoot?: boolean };
  readonly containers: readonly {
    readonly securityContext?: {
      readonly allowPrivilegeEscalation?: boolean;
      readonly readOnlyRootFilesystem?: boolean;
      readonly capabilities?: { readonly drop?: readonly string[] };
    };
  }[];
}

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly privileged?: boolean;
  readonly devices?: readonly string[];
  readonly read_only?: boolean;
  readonly networks?: readonly string[];
  readonly network_mode?: string;
}

it('compose starts services alone: no guest, no device, ports of this machine only, settings that the code reads', () => {
  const [document] = loadAll(textOf('apps/control-plane/deploy/compose.yml')) as [
    { services: Record<string, Service>; volumes: object; networks: object },
  ];
  expect(Object.keys(document.services)).toEqual(['postgres', 'nats', 'control-plane', 'key-broker']);
  for (const [name, service] of Object.entries(document.services)) {
    expect([service.privileged, service.devices], name).toEqual([undefined, undefined]);
    expect(
      (service.ports ?? []).filter((port) => !port.startsWith('127.0.0.1:')),
      name,
    ).toEqual([]);
    const mounts = (service.volumes ?? []).map((volume) => volume.split(':')[0]!);
    expect(
      mounts.filter((from) => !from.startsWith('./') && !(from in document.volumes)),
      name,
    ).toEqual([]);
    expect(
      (service.networks ?? []).filter((network) => !(network in document.networks)),
      name,
    ).toEqual([]);
    if (!service.image.startsWith('veritrain/')) continue;
    expect(service.read_only, name).toBe(true);
    expect(service.command, name).toEqual(commands.get(service.image));
    expect(Object.keys(service.environment!).filter((key) => !settingsRead.has(key))).toEqual([]);
  }
});

it('compose: the control plane takes the addresses that it is given', () => {
  const [document] = loadAll(textOf('apps/control-plane/deploy/compose.yml')) as [
    { services: Record<string, Service> },
  ];
  const plane = document.services['control-plane']!;
  const { NATS_URL } = plane.environment!;
  expect(readNats({ NATS_URL })).toMatchObject({ urls: [NATS_URL] });
  expect(new URL(NATS_URL!).hostname).toBe('127.0.0.1');
  expect(plane.network_mode).toBe('service:nats');
});
