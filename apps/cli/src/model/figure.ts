/** A measured number as people read it: so many digits, and never a power of ten for what is large. */

export function figure(value: number, digits = 5): string {
  const text = value.toPrecision(digits);
  return text.includes('e+') ? String(Number(text)) : text;
}
