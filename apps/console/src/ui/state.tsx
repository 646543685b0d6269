/** A state: mark and word first, colour third. */
export function State({ kind, mark, word }: { readonly kind: string; readonly mark: string; readonly word: string }) {
  return (
    <span class={`state ${kind}`}>
      <span aria-hidden="true" class="mark">
        {mark}
      </span>
      {word}
    </span>
  );
}
