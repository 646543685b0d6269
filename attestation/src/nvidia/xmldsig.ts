/**
 * The one form of XML Signature that RIM files carry: enveloped, over the whole document, ECDSA P-384 with SHA-384,
 * Canonical XML 1.1 (XML Signature 1.1 §4, §6; attestation/EVIDENCE.md §3.5). Everything else is refused before any
 * key is used.
 */
import { equalBytes, fromBase64, toBase64 } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { verifySignature } from '../base/signatures.js';
import { canonicalize, type XmlElement } from './xml.js';

const namespace = 'http://www.w3.org/2000/09/xmldsig#';
const c14n11 = 'http://www.w3.org/2006/12/xml-c14n11';
const certificatesMax = 8;

export interface EnvelopedSignature {
  readonly document: XmlElement;
  readonly element: XmlElement;
  readonly signedInfo: XmlElement;
  /** SHA-384 that the signature states for the document. */
  readonly digest: Uint8Array;
  /** r ‖ s, 96 bytes, big-endian. */
  readonly signature: Uint8Array;
  /** KeyInfo's certificates, DER, in document order. */
  readonly certificates: readonly Uint8Array[];
}

/**
 * Finds the only Signature of a document, a child of its root, and takes it apart.
 * @throws Rejection NVIDIA_RIM_SIGNATURE_FORM
 */
export function findSignature(document: XmlElement): EnvelopedSignature {
  const found = signaturesBelow(document);
  const element = childElements(document).find((child) => child.local === 'Signature');
  if (found !== 1 || element === undefined) throw bad('one Signature, child of the root', `${found} in the document`);
  const [signedInfo, value, keyInfo] = open(element, {}, ['SignedInfo', 'SignatureValue', 'KeyInfo']);
  const [c14n, method, reference] = open(signedInfo, {}, ['CanonicalizationMethod', 'SignatureMethod', 'Reference']);
  open(c14n, { Algorithm: c14n11 }, []);
  open(method, { Algorithm: 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384' }, []);
  const [transforms, digestMethod, digestValue] = open(reference, { URI: '' }, [
    'Transforms',
    'DigestMethod',
    'DigestValue',
  ]);
  const [first, second] = open(transforms, {}, ['Transform', 'Transform']);
  open(first, { Algorithm: `${namespace}enveloped-signature` }, []);
  open(second, { Algorithm: c14n11 }, []);
  open(digestMethod, { Algorithm: 'http://www.w3.org/2001/04/xmldsig-more#sha384' }, []);
  const [data] = open(keyInfo, {}, ['X509Data']);
  const count = childElements(data!).length;
  if (count === 0 || count > certificatesMax) throw bad(`1 to ${certificatesMax} certificates`, `${count}`);
  const certificates = open(data, {}, Array<string>(count).fill('X509Certificate')).map(base64Of);
  return {
    document,
    element,
    signedInfo: signedInfo!,
    digest: base64Of(digestValue),
    signature: base64Of(value),
    certificates,
  };
}

/**
 * @param spki key of the certificate whose chain the caller brought to a pinned root
 * @throws Rejection NVIDIA_RIM_DIGEST (the document is not the one that was signed), SIGNATURE_MISMATCH, SIGNATURE_RANGE,
 *   SIGNATURE_KEY
 */
export async function verifyEnveloped(signature: EnvelopedSignature, spki: Uint8Array): Promise<void> {
  const message = canonicalize(signature.document, signature.element) as Uint8Array<ArrayBuffer>;
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-384', message));
  if (!equalBytes(digest, signature.digest)) {
    throw new Rejection('NVIDIA_RIM_DIGEST', {
      expected: 'the document that was signed',
      got: 'an altered document',
      rule: 'XML Signature §3.2.1',
    });
  }
  await verifySignature('ecdsa-p384-sha384', spki, signature.signature, canonicalize(signature.signedInfo));
}

/**
 * The document in the one spelling that has its digest and its signature: canonical XML, the Signature at the end, and of
 * the Signature nothing that is not signed and could be otherwise.
 */
export function spellEnveloped({ document, element, signedInfo }: EnvelopedSignature): Uint8Array {
  const bare = (node: XmlElement): XmlElement => {
    if (node === signedInfo) return node;
    const inner = childElements(node).map(bare);
    const children = inner.length > 0 ? inner : [toBase64(base64Of(node))];
    return { ...node, prefix: signedInfo.prefix, scope: signedInfo.scope, children };
  };
  const rest = document.children.filter((child) => child !== element);
  return canonicalize({ ...document, children: [...rest, bare(element)] });
}

export function childElements(element: XmlElement): XmlElement[] {
  return element.children.filter((child) => typeof child !== 'string');
}

function signaturesBelow(element: XmlElement): number {
  return childElements(element).reduce(
    (count, child) => count + (child.local === 'Signature' ? 1 : 0) + signaturesBelow(child),
    0,
  );
}

/** The children of an element of the signature vocabulary that has exactly these attributes and children. */
function open(
  element: XmlElement | undefined,
  attributes: Readonly<Record<string, string>>,
  children: readonly string[],
): XmlElement[] {
  if (element === undefined || element.namespace !== namespace) throw bad('an element of XML Signature', 'another');
  const given = element.attributes.map(
    (item) => [item.prefix === '' ? item.local : `${item.prefix}:${item.local}`, item.value] as const,
  );
  const wanted = Object.entries(attributes);
  if (
    given.length !== wanted.length ||
    wanted.some(([key, value]) => !given.some((g) => g[0] === key && g[1] === value))
  ) {
    throw bad(`<${element.local}> with ${JSON.stringify(attributes)}`, JSON.stringify(Object.fromEntries(given)));
  }
  const elements = childElements(element);
  const names = elements.map((child) => child.local).join(' ');
  if (names !== children.join(' '))
    throw bad(`<${element.local}> with ${children.join(' ') || 'nothing'} in it`, names);
  const text = element.children.some((child) => typeof child === 'string' && !/^[ \n\t]*$/.test(child));
  if (text && children.length > 0) throw bad(`no text in <${element.local}>`, 'text');
  return elements;
}

function base64Of(element: XmlElement | undefined): Uint8Array {
  open(element, {}, []);
  return fromBase64(element!.children.join('').replace(/[ \n\t]/g, ''));
}

function bad(expected: string, got: string): Rejection {
  return new Rejection('NVIDIA_RIM_SIGNATURE_FORM', {
    expected,
    got,
    rule: 'XML Signature §4; attestation/EVIDENCE.md §3.5',
  });
}
