/** On paper: from where and when it is. Nothing of it shows on a screen. */
import { useEffect, useRef } from 'preact/hooks';
import { openForPaper } from '../ui/paper.js';
import { utcOf } from './figures.js';

export function Printed() {
  const line = useRef<HTMLParagraphElement>(null);
  const write = (): void => {
    if (line.current !== null)
      line.current.textContent = `${location.href}, printed ${utcOf(new Date().toISOString())}`;
  };
  useEffect(() => openForPaper(write), []);
  return <p class="print-only note printed" ref={line} />;
}
