/** onnxruntime has a telemetry client that is on unless it is switched off before it loads: libs/onnx does, and alone imports it. */
import { expect, it } from 'vitest';
import { committedFiles, textOf } from './tree.js';

const door = 'libs/onnx/src/runtime.ts';
const importing = /\b(?:from|import|require)\s*\(?\s*(['"`])onnxruntime-(?:node|common|web)\b/;
const importers = (files: readonly (readonly [path: string, text: string])[]): string[] =>
  files.filter(([, text]) => importing.test(text)).map(([path]) => path);

it('onnxruntime is imported by the module alone that switches its telemetry off', () => {
  const code = committedFiles().filter(
    (path) => /\.[cm]?[jt]sx?$/.test(path) && !path.startsWith('test/architecture/'),
  );
  expect(importers(code.map((path) => [path, textOf(path)] as const))).toEqual([door]);
});

it('the switch comes before the package', () => {
  const specifiers = [...textOf(door).matchAll(/^(?:import|export)\b.*?'([^']+)';$/gm)].map(([, name]) => name);
  expect(specifiers).toEqual(['./telemetry-off.js', 'onnxruntime-node']);
  expect(textOf('libs/onnx/src/telemetry-off.ts')).not.toMatch(/from '(?!node:)/);
});

it('the first process of a guest switches it off besides, in the environment that it gives its program', () => {
  const environment = /char \*environment\[\] = \{([^}]*)\}/.exec(textOf('enclave/guest/init.c'))![1];
  expect(environment).toContain('"ORT_DISABLE_TELEMETRY=1"');
});

it.each([
  `import { Tensor } from 'onnxruntime-node';`,
  `import 'onnxruntime-node';`,
  `const { Tensor } = await import("onnxruntime-node");`,
  `const ort = require('onnxruntime-node/dist/index.js');`,
])('catches %s', (text) => {
  expect(importers([['planted.ts', text]])).toEqual(['planted.ts']);
});
