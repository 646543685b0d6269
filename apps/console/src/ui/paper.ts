/** On paper every group is open, and closed again behind it. @param before  what else is due; @returns undoes it */
export function openForPaper(before: () => void = () => undefined): () => void {
  const closed: HTMLDetailsElement[] = [];
  const open = (): void => {
    for (const group of document.querySelectorAll<HTMLDetailsElement>('details:not([open])')) {
      group.open = true;
      closed.push(group);
    }
    before();
  };
  const close = (): void => {
    for (const group of closed.splice(0)) group.open = false;
  };
  addEventListener('beforeprint', open);
  addEventListener('afterprint', close);
  return () => {
    removeEventListener('beforeprint', open);
    removeEventListener('afterprint', close);
  };
}
