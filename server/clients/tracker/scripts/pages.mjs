// Bundles the pages of the browser test: node scripts/pages.mjs DIRECTORY
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { compile, compileModule } from 'svelte/compiler'
import { build } from '../../../tracker/node_modules/esbuild/lib/main.js'

const svelte = {
  name: 'svelte',
  setup({ onLoad }) {
    onLoad({ filter: /\.svelte$/ }, async ({ path }) => ({ contents: compile(await readFile(path, 'utf8'), { filename: path }).js.code }))
    onLoad({ filter: /\.svelte\.js$/ }, async ({ path }) => ({ contents: compileModule(await readFile(path, 'utf8'), { filename: path }).js.code }))
  },
}
const pages = fileURLToPath(new URL('../test/pages/', import.meta.url))
await build({
  entryPoints: ['plain.ts', 'both.ts', 'react.tsx', 'vue.ts', 'svelte.js'].map((name) => pages + name),
  outdir: process.argv[2], bundle: true, splitting: true, format: 'esm', jsx: 'automatic', minify: true, logLevel: 'warning',
  conditions: ['browser'], plugins: [svelte],
  define: { 'process.env.NODE_ENV': '"development"', __VUE_OPTIONS_API__: 'true', __VUE_PROD_DEVTOOLS__: 'false', __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false' },
})
