/** Gather of constant rows by token. */
import { cannot } from '../../errors.js';
import { intOf } from '../attributes.js';
import { isConstant } from '../constant.js';
import type { LayerDraft } from '../draft.js';
import { constantInput, edgeInput, type Rule } from '../rule.js';
import { isWhole, movedView } from '../view.js';
import { selectRule } from '../view-rules.js';

function embeddingDraft(vocab: number, out: number, W: Float64Array): LayerDraft {
  return {
    op: 'embedding',
    members: { vocab, out },
    W: { dims: [vocab, out], values: W },
    scaled: (scale, shift) =>
      embeddingDraft(
        vocab,
        out,
        W.map((value, i) => value * scale[i % out]! + shift[i % out]!),
      ),
  };
}

/** A Gather: rows of a table by token, or constant places of an edge. */
const gather: Rule = (node, inputs, scene) => {
  const [table] = inputs;
  if (table === undefined || !isConstant(table)) return selectRule(node, inputs, scene);
  const tokens = edgeInput(inputs, 1);
  const { dims, values } = constantInput(inputs, 0, 'table');
  if (!tokens.edge.isTokens || tokens.affine !== undefined || !isWhole(tokens.view, tokens.edge.shape))
    cannot('places that are no tokens', 'the input of tokens as it is');
  if (dims.length !== 2 || intOf(node, 'axis', 0) !== 0)
    cannot('a Gather that is no row of a table', 'an embedding [vocabulary, channels]');
  const [vocab, out] = dims as [number, number];
  const edge = scene.draft.layer(embeddingDraft(vocab, out, values), [...tokens.edge.shape, out], tokens.edge);
  const moved = movedView(tokens.view, ({ size, stride }) => ({ size, stride: stride * out }));
  return [{ edge, view: { dims: [...moved.dims, out === 1 ? [] : [{ size: out, stride: 1 }]], offset: 0 } }];
};

export const embeddingRules: Readonly<Record<string, Rule>> = { Gather: gather };
