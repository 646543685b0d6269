/** Builds the console as the control plane serves it: a shell, and files by the digest of their bytes. */
import { defineConfig } from 'vite';
import { forBrowsers } from './vite.config.ts';

export default defineConfig({
  ...forBrowsers,
  base: '/console/',
  build: {
    ...forBrowsers.build,
    outDir: '../../dist/apps/console/served',
    emptyOutDir: true,
    rolldownOptions: { input: `${import.meta.dirname}/console.html` },
  },
});
