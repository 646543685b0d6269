/** A sentence whose `commands` stand between backticks, as the verifier writes them for a terminal. */
export function WithCode({ text }: { readonly text: string }) {
  return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}
