/** Door of what every page and command prints with, without the judge. */
export { releaseVersion } from './release.js';
export { asCode, visibleText } from './visible-text.js';
