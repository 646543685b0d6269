/** A brought model on other data than it was brought with: its weights know one header, and the data are read by it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { handMade } from '#test/onnx-files';
import { runCommand } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-start-header-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const manifest = ['--manifest', at('plan', 'manifest.json')];
const veritrain = async (...args: string[]): Promise<Record<string, unknown>> => (await runCommand(...args)).json;
const json = (...names: string[]): Record<string, unknown> =>
  JSON.parse(readFileSync(at(...names), 'utf8')) as Record<string, unknown>;

/** `yes` where a + b is above 10, in rows of a up to `most`. */
function write(name: string, most: number, colors: readonly string[]): void {
  const rows = Array.from({ length: 80 }, (_, i) => {
    const [a, b] = [(i * most) / 80, (i * 7) % 5];
    return `${a},${b},${colors[i % colors.length]},${a + b > 10 ? 'yes' : 'no'}`;
  });
  writeFileSync(at(name), `a,b,color,label\n${rows.join('\n')}\n`);
}

describe('a model that was brought', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    write('one.csv', 20, ['blue', 'red']);
    write('other.csv', 200, ['red', 'green']);
    // Inputs a, b, blue, red; answers for no and yes.
    const w = Float32Array.of(-1, 1, -1, 1, 0, 0, 0, 0);
    writeFileSync(
      at('sum.onnx'),
      handMade(['n', 4], (graph, x) =>
        graph.node('Add', [
          graph.node('MatMul', [x, graph.float32([4, 2], w)]),
          graph.float32([2], Float32Array.of(10.1, -10.1)),
        ]),
      ),
    );
    await veritrain(
      ...['model', 'import', at('sum.onnx'), '--from', at('one.csv'), '--inputs', 'raw', '--out', at('plan')],
      ...['--seed', `0x${'5a'.repeat(32)}`, '--epochs', '1', '--batch', '8', '--lr', '0.000001'],
    );
  }, 120_000);

  it('answers as before when it is trained on a file with other means', async () => {
    const trained = await veritrain('train', ...manifest, '--data', at('other.csv'), '--out', at('model'));
    expect(json('model', 'header.json')).toMatchObject({ columns: json('plan', 'header.json')['columns'] });
    const unknown = 'cells that the header does not know: 40 in column "color", such as "green"';
    expect(trained).toMatchObject({ notes: [unknown, expect.stringContaining('too far out for the integers')] });
    const measures = await veritrain('evaluate', '--model', at('model'), '--data', at('one.csv'));
    expect(measures).toMatchObject({ metrics: [{ name: 'accuracy', value: 1 }, { name: 'loss' }] });
  });

  it('is checked and sealed by the same header', async () => {
    const sealed = ['--data', at('other.csv'), '--out', at('sealed'), '--key', at('key')];
    await veritrain('dataset', 'seal', ...manifest, ...sealed);
    const { columns, label } = json('plan', 'header.json');
    expect(json('sealed', 'dataset.json')).toMatchObject({ header: { columns, label } });
    expect(await veritrain('model', 'check', manifest[1]!, '--data', at('other.csv'))).toMatchObject({
      rows: { train: 72, validation: 8 },
    });
  });

  it('names what other data do not have', async () => {
    const text = readFileSync(at('other.csv'), 'utf8');
    writeFileSync(at('renamed.csv'), text.replace('a,b', 'a,x'));
    writeFileSync(at('classes.csv'), text.replaceAll('yes', 'perhaps'));
    const out = ['--out', at('no')];
    expect(await veritrain('train', ...manifest, '--data', at('renamed.csv'), ...out)).toMatchObject({
      error: { code: 'DATA_COLUMN_MISSING', expected: 'a column "b" of renamed.csv', got: 'a, x, color, label' },
    });
    expect(await veritrain('train', ...manifest, '--data', at('classes.csv'), ...out)).toMatchObject({
      error: { code: 'DATA_LABEL', got: 'perhaps' },
    });
    const asked = ['--data', at('other.csv'), '--target', 'color', ...out];
    expect(await veritrain('train', ...manifest, ...asked)).toMatchObject({
      error: { code: 'DATA_CHOICE', got: 'color' },
    });
  });
});
