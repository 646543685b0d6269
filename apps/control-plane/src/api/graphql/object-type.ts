/** Types of GraphQL, read from the views and bodies of REST, so that a thing is described once. */
import type { Type } from '@nestjs/common';
import { Field, Float, InputType, Int, ObjectType, type ReturnTypeFuncValue } from '@nestjs/graphql';
import { GraphQLScalarType } from 'graphql';
import { z } from 'zod';

type Known = Map<z.core.$ZodType, Type>;
const typeOfView: Known = new Map();
const typeOfBody: Known = new Map();

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
    const type = instead[member as keyof z.infer<T>] ?? typeOf(schema, typeOfView);
    Field(() => type, { nullable: isNullable(schema) })(View.prototype, member);
  }
  ObjectType(name)(View);
  typeOfView.set(view, View);
  return View as Type<z.infer<T>>;
}

/** What is sent: its bounds are still the body's own, which whoever takes it asks. */
export function inputType<T extends z.ZodObject>(name: string, body: T): Type<z.infer<T>> {
  class Input {}
  for (const [member, schema] of Object.entries(body.shape)) {
    const type = typeOf(schema, typeOfBody);
    Field(() => type, { nullable: isNullable(schema) })(Input.prototype, member);
  }
  InputType(name)(Input);
  typeOfBody.set(body, Input);
  return Input as Type<z.infer<T>>;
}

function isNullable(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodNullable || schema instanceof z.ZodOptional;
}

function typeOf(schema: z.core.$ZodType, all: Known): ReturnTypeFuncValue {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return typeOf(schema.unwrap(), all);
  if (schema instanceof z.ZodArray) return [typeOf(schema.element, all)] as ReturnTypeFuncValue;
  if (schema instanceof z.ZodNumber) return schema.format === 'safeint' ? Int : Float;
  if (schema instanceof z.ZodBoolean) return Boolean;
  if (schema instanceof z.ZodRecord) return JSONObject;
  if (schema instanceof z.ZodString || schema instanceof z.ZodStringFormat || schema instanceof z.ZodEnum)
    return String;
  const known = all.get(schema);
  if (known === undefined)
    throw new Error('no type of GraphQL for this member: an object within a view needs an object type first');
  return known;
}
