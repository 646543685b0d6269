/** What this release is called, in reports and on pages; a test compares it with package.json. */
export const releaseVersion = '0.1.0';
