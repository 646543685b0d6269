/**
 * A strict reader for the small part of XML 1.0 with namespaces that signed RIM files use, and its canonical form.
 * Refused, because it is where signature wrapping hides: DTDs, entities and character references, comments, processing
 * instructions, CDATA, xml:* attributes, undeclared prefixes, duplicate attributes, carriage returns, tabs in values.
 */
import { utf8 } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';

const depthMax = 16;
const elementsMax = 4096;

interface XmlAttribute {
  readonly prefix: string;
  readonly local: string;
  /** Namespace name; empty without a prefix. */
  readonly namespace: string;
  readonly value: string;
}

export interface XmlElement {
  readonly prefix: string;
  readonly local: string;
  readonly namespace: string;
  /** Namespaces in scope by prefix; the default one under the empty string. */
  readonly scope: ReadonlyMap<string, string>;
  readonly attributes: readonly XmlAttribute[];
  readonly children: readonly (XmlElement | string)[];
}

const ncName = '[A-Za-z_][A-Za-z0-9_.-]*';
const name = `(?:(${ncName}):)?(${ncName})`;
// Values and text can hold no character that Canonical XML would write differently.
const attributePattern = `[ \\n]+(?:${ncName}:)?${ncName}="[^"<&\\t\\n\\r]*"`;
const token = new RegExp(`</${name}[ \\n]*>|<${name}((?:${attributePattern})*)[ \\n]*(/?)>|[^<>&\\r]+`, 'y');
const attribute = new RegExp(`${name}="([^"]*)"`, 'g');
const declaration = /^<\?xml version="1\.0"(?: encoding="(?:UTF-8|utf-8)")?\?>\n?/;
const illegalCharacter = /(?![\n\t])[\p{Cc}\p{Cs}\ufffe\uffff]/u;

interface OpenElement extends XmlElement {
  readonly children: (XmlElement | string)[];
}

/**
 * @param text the whole document, decoded from UTF-8
 * @returns    the root element
 * @throws     Rejection NVIDIA_RIM_XML
 * @source     XML 1.0 §2, Namespaces in XML 1.0; only the subset named above
 */
export function parseXml(text: string): XmlElement {
  if (illegalCharacter.test(text))
    throw bad('characters that XML 1.0 allows, without control characters', 'another one');
  const stack: OpenElement[] = [];
  let root: XmlElement | undefined;
  let elements = 0;
  token.lastIndex = declaration.exec(text)?.[0].length ?? 0;
  while (token.lastIndex < text.length) {
    const at = token.lastIndex;
    const match = token.exec(text);
    if (match === null) throw bad('an element or plain text', `${JSON.stringify(text.slice(at, at + 20))} at ${at}`);
    const [whole, endPrefix, endLocal, prefix, local, attributes, empty] = match;
    const parent = stack.at(-1);
    if (endLocal !== undefined) {
      if (parent === undefined || parent.local !== endLocal || parent.prefix !== (endPrefix ?? '')) {
        throw bad(`the end of <${parent?.local ?? ''}>`, whole);
      }
      stack.pop();
    } else if (local !== undefined) {
      if (parent === undefined && root !== undefined) throw bad('one root element', `<${local}> after it`);
      if (++elements > elementsMax || stack.length === depthMax)
        throw bad(`${elementsMax} elements, ${depthMax} deep`, 'more');
      const element = openElement(prefix ?? '', local, attributes ?? '', parent);
      if (parent === undefined) root = element;
      else parent.children.push(element);
      if (empty === '') stack.push(element);
    } else if (parent !== undefined) {
      parent.children.push(whole);
    } else if (!/^[ \n\t]*$/.test(whole)) {
      throw bad('only white space around the root', JSON.stringify(whole.slice(0, 20)));
    }
  }
  if (root === undefined || stack.length > 0) throw bad('one complete root element', 'the end of the text');
  return root;
}

/** Every element has a map of those in scope. */
const namespacesMax = 16;

function openElement(prefix: string, local: string, source: string, parent: XmlElement | undefined): OpenElement {
  const scope = new Map(parent?.scope);
  const plain: { prefix: string; local: string; value: string }[] = [];
  const seen = new Set<string>();
  for (const match of source.matchAll(attribute)) {
    const [, matched, attributeLocal, value] = match as unknown as [string, string | undefined, string, string];
    const attributePrefix = matched ?? '';
    const qualified = `${attributePrefix}:${attributeLocal}`;
    if (seen.has(qualified)) throw bad('every attribute once', qualified);
    seen.add(qualified);
    const declares = attributePrefix === 'xmlns' ? attributeLocal : qualified === ':xmlns' ? '' : undefined;
    if (declares === undefined) plain.push({ prefix: attributePrefix, local: attributeLocal, value });
    else if (value === '' || /^xml/i.test(declares)) throw bad('a named namespace for an ordinary prefix', qualified);
    else scope.set(declares, value);
    if (scope.size > namespacesMax) throw bad(`${namespacesMax} namespaces`, 'more');
  }
  const attributes = plain.map((item) => ({
    ...item,
    namespace: item.prefix === '' ? '' : resolve(scope, item.prefix),
  }));
  if (new Set(attributes.map((item) => `${item.namespace} ${item.local}`)).size !== attributes.length) {
    throw bad('every attribute once', `two of one name in <${local}>`);
  }
  const namespace = prefix === '' ? (scope.get('') ?? '') : resolve(scope, prefix);
  return { prefix, local, namespace, scope, attributes, children: [] };
}

function resolve(scope: ReadonlyMap<string, string>, prefix: string): string {
  const namespace = scope.get(prefix);
  if (namespace === undefined) throw bad('declared prefixes', prefix);
  return namespace;
}

/**
 * Canonical XML 1.1 of `apex` and everything below it, except the element `omit`. Equal to inclusive Canonical
 * XML 1.0 here, as xml:* attributes never pass the parser; an apex below the root carries all namespaces in scope.
 *
 * @source Canonical XML 1.1 §2.3; enveloped-signature: XML Signature §6.6.4
 */
export function canonicalize(apex: XmlElement, omit?: XmlElement): Uint8Array {
  return utf8(render(apex, new Map(), omit));
}

function render(element: XmlElement, outer: ReadonlyMap<string, string>, omit: XmlElement | undefined): string {
  const qualified = qualify(element);
  const namespaces = [...element.scope]
    .filter(([prefix, uri]) => outer.get(prefix) !== uri)
    .sort(([a], [b]) => order(a, b))
    .map(([prefix, uri]) => ` xmlns${prefix === '' ? '' : `:${prefix}`}="${uri}"`);
  const attributes = [...element.attributes]
    .sort((a, b) => order(a.namespace, b.namespace) || order(a.local, b.local))
    .map((item) => ` ${qualify(item)}="${item.value}"`);
  let text = `<${qualified}${namespaces.join('')}${attributes.join('')}>`;
  for (const child of element.children) {
    if (typeof child === 'string') text += child;
    else if (child !== omit) text += render(child, element.scope, omit);
  }
  return `${text}</${qualified}>`;
}

function qualify(item: { readonly prefix: string; readonly local: string }): string {
  return item.prefix === '' ? item.local : `${item.prefix}:${item.local}`;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function bad(expected: string, got: string): Rejection {
  return new Rejection('NVIDIA_RIM_XML', { expected, got, rule: 'XML 1.0 §2; attestation/EVIDENCE.md §3.5' });
}
