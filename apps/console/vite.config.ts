/** Builds reviewer.html: one file with one script and one style, whose own policy names them by digest. */
import { createHash } from 'node:crypto';
import { defineConfig, type Plugin, type UserConfig } from 'vite';

const sha256 = (text: string, form: 'base64' | 'hex'): string => createHash('sha256').update(text).digest(form);

/** Nothing in a script ends the element that it stands in. */
const inlined = (script: string): string => script.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');

/**
 * What the page may do. Step proofs are verified by two small modules of WebAssembly that are part of the script; nothing
 * else may be compiled, and nothing fetched.
 */
const policyOf = (script: string, style: string): string =>
  [
    "default-src 'none'",
    `script-src 'sha256-${sha256(script, 'base64')}' 'wasm-unsafe-eval'`,
    `style-src 'sha256-${sha256(style, 'base64')}'`,
    ...['img-src data:', "base-uri 'none'", "form-action 'none'"],
    ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
  ].join('; ');

function oneFile(): Plugin {
  return {
    name: 'veritrain-one-file',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const chunk = files.find((file) => file.type === 'chunk');
      const [html, css] = ['.html', '.css'].map((end) => files.find(({ fileName }) => fileName.endsWith(end)));
      if (chunk?.type !== 'chunk' || html?.type !== 'asset' || css?.type !== 'asset' || files.length !== 3) {
        throw new Error(
          `one page, one script, one style expected, got ${files.map(({ fileName }) => fileName).join(', ')}`,
        );
      }
      const script = inlined(chunk.code.trim());
      const style = String(css.source).trim();
      const policy = policyOf(script, style);
      const source = String(html.source)
        .replace(/<script\b[^>]*><\/script>/, '')
        .replace(/<link\b[^>]*>/, '')
        .replace(
          /<meta charset="utf-8" ?\/?>/i,
          (charset) => `${charset}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
        )
        .replace('</head>', () => `<style>${style}</style>\n  </head>`)
        .replace('</body>', () => `<script type="module">${script}</script>\n  </body>`);
      for (const { fileName } of files) delete bundle[fileName];
      this.emitFile({ type: 'asset', fileName: 'reviewer.html', source });
      this.emitFile({
        type: 'asset',
        fileName: 'reviewer.html.sha256',
        source: `${sha256(source, 'hex')}  reviewer.html\n`,
      });
    },
  };
}

/** What both builds share. */
export const forBrowsers = {
  root: import.meta.dirname,
  logLevel: 'warn',
  // Its other door compiles code while it loads, which no policy here allows; the same bytes come out of both.
  resolve: {
    alias: [{ find: /^cbor-x$/, replacement: 'cbor-x/index-no-eval' }],
    conditions: ['source', 'browser', 'module', 'import', 'default'],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: { target: 'es2023', modulePreload: false, assetsInlineLimit: 0, reportCompressedSize: false },
} as const satisfies UserConfig;

export default defineConfig({
  ...forBrowsers,
  base: './',
  build: {
    ...forBrowsers.build,
    outDir: '../../dist/apps/console',
    emptyOutDir: true,
    rolldownOptions: { input: `${import.meta.dirname}/reviewer.html` },
  },
  plugins: [oneFile()],
});
