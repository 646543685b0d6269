/** A digest: short to read, whole to copy, the cut end always with a sign. */
import { useState } from 'preact/hooks';

export function Digest({ value, label }: { readonly value: string; readonly label: string }) {
  const [said, setSaid] = useState('');
  const copy = (): void => {
    navigator.clipboard?.writeText(value).then(
      () => setSaid('copied'),
      () => setSaid('select and copy'),
    );
  };
  return (
    <span class="digest">
      <code title={value}>
        <span class="short">{value.length > 12 ? `${value.slice(0, 12)}…` : value}</span>
        <span class="whole">{value}</span>
      </code>
      <button type="button" class="quiet no-print" aria-label={`copy ${label}`} onClick={copy}>
        copy
      </button>
      <span class="said" role="status">
        {said}
      </span>
    </span>
  );
}
