/** This page as a file without script: everything open, nothing to press, the same policy less the script. */
export function frozenPage(): Uint8Array {
  const page = document.documentElement.cloneNode(true) as HTMLElement;
  for (const node of page.querySelectorAll('script, noscript, .no-print, .said')) node.remove();
  for (const group of page.querySelectorAll('details')) group.setAttribute('open', '');
  for (const button of page.querySelectorAll('ol.chain button')) {
    const box = document.createElement('div');
    box.className = 'frozen';
    box.append(...button.childNodes);
    button.replaceWith(box);
  }
  const policy = page.querySelector('meta[http-equiv="Content-Security-Policy"]');
  policy?.setAttribute('content', (policy.getAttribute('content') ?? '').replace(/script-src [^;]+;/, ''));
  return new TextEncoder().encode(`<!doctype html>\n${page.outerHTML}\n`);
}
