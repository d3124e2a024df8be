import { gzipAsync } from '@gfx/zopfli'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { brotliCompressSync, constants } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

// Files are compressed once, at build time, as well as each format allows: Zopfli's gzip is 3 to 4
// % smaller than zlib's.
const compress = (): Plugin => ({
  name: 'compress',
  generateBundle: {
    order: 'post',
    async handler(_, bundle) {
      for (const f of Object.values(bundle)) {
        const text = Buffer.from(f.type === 'chunk' ? f.code : f.source)
        if (text.length < 512) continue
        this.emitFile({ type: 'asset', fileName: f.fileName + '.gz', source: await gzipAsync(text, {}) })
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: text.length }
        this.emitFile({ type: 'asset', fileName: f.fileName + '.br', source: brotliCompressSync(text, { params }) })
      }
    },
  },
})

// The result is embedded in the binary: dist/web is built, and dist/README.md lets a checkout
// compile without Node. Nothing is inlined, so that the dashboard works under a policy without
// inline scripts and styles. The code that every page starts with is one file: split into six by
// sharing pages, it takes more bytes and more requests.
export default defineConfig({
  plugins: [svelte(), compress()],
  base: '/',
  build: {
    outDir: 'dist/web',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: '.vite/licenses.json' }, // for packaging/notices; not embedded
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'index', tags: ['$initial'] }] } } },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
} as Parameters<typeof defineConfig>[0])
