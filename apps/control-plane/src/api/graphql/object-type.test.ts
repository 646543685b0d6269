import { expect, it } from 'vitest';
import { z } from 'zod';
import { objectType } from './object-type.js';

it('wants the object type of a view before that of a view around it', () => {
  const Inner = z.object({ count: z.int() });
  const Outer = z.object({ inner: z.array(Inner).nullable() });
  expect(() => objectType('PlantedOuter', Outer)).toThrow('needs an object type first');
  objectType('PlantedInner', Inner);
  expect(() => objectType('PlantedOuter', Outer)).not.toThrow();
});

it('takes no member whose type GraphQL has no word for', () => {
  expect(() => objectType('Planted', z.object({ either: z.union([z.string(), z.number()]) }))).toThrow();
});
