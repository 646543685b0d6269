/** Starts the page. */
import { render } from 'preact';
import { openForPaper } from '../ui/paper.js';
import { Page } from './page.js';

render(<Page />, document.getElementById('page')!);
openForPaper();
