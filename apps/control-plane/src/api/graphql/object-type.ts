/** Object types of GraphQL, read from the views of REST, so that a thing is described once. */
import type { Type } from '@nestjs/common';
import { Field, Float, Int, ObjectType, type ReturnTypeFuncValue } from '@nestjs/graphql';
import { GraphQLScalarType } from 'graphql';
import { z } from 'zod';

const typeOfView = new Map<z.core.$ZodType, Type>();

/** An object whose members depend on a code. */
const JSONObject = new GraphQLScalarType({ name: 'JSONObject', description: 'An object as in JSON.' });

/**
 * @param view     whose members become fields; an object in it has its own object type already
 * @param instead  types that a view does not tell: identifiers, and integers beyond 32 bits
 */
export function objectType<T extends z.ZodObject>(
  name: string,
  view: T,
  instead: { readonly [K in keyof z.infer<T>]?: GraphQLScalarType } = {},
): Type<z.infer<T>> {
  class View {}
  for (const [member, schema] of Object.entries(view.shape)) {
    const type = instead[member as keyof z.infer<T>] ?? typeOf(schema);
    Field(() => type, { nullable: isNullable(schema) })(View.prototype, member);
  }
  ObjectType(name)(View);
  typeOfView.set(view, View);
  return View as Type<z.infer<T>>;
}

function isNullable(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodNullable || schema instanceof z.ZodOptional;
}

function typeOf(schema: z.core.$ZodType): ReturnTypeFuncValue {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return typeOf(schema.unwrap());
  if (schema instanceof z.ZodArray) return [typeOf(schema.element)] as ReturnTypeFuncValue;
  if (schema instanceof z.ZodNumber) return schema.format === 'safeint' ? Int : Float;
  if (schema instanceof z.ZodBoolean) return Boolean;
  if (schema instanceof z.ZodRecord) return JSONObject;
  if (schema instanceof z.ZodString || schema instanceof z.ZodStringFormat || schema instanceof z.ZodEnum)
    return String;
  const known = typeOfView.get(schema);
  if (known === undefined)
    throw new Error('no type of GraphQL for this member: an object within a view needs an object type first');
  return known;
}
