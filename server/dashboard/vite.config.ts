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

// Charts have lines and bars. uPlot puts further shapes in an object, which keeps them in the bundle.
const shapes = (): Plugin => ({
  name: 'shapes',
  transform(code, id) {
    if (!id.endsWith('/uPlot.esm.js')) return
    let left = 0
    const less = code.replace(/^\t\(paths\.(stepped|spline) *=.*$/gm, () => (left++, ''))
    if (left !== 2) this.error('uPlot registers its shapes in another way: change or remove this plugin')
    return { code: less, map: null }
  },
})

// Classes of components are s and four characters instead of svelte- and seven: they are in scripts
// and style sheets. Two components with one class would share their styles.
const components = new Map<string, string>()
const cssHash = ({ hash, filename }: { hash: (text: string) => string; filename: string }) => {
  const name = 's' + hash(filename).slice(0, 4)
  const other = components.get(name)
  if (other !== undefined && other !== filename) throw new Error(`${other} and ${filename} have the class ${name}: use more characters of the hash`)
  components.set(name, filename)
  return name
}

// The result is embedded in the binary: dist/web is built, and dist/README.md lets a checkout
// compile without Node. Nothing is inlined, so that the dashboard works under a policy without
// inline scripts and styles. The code that every page starts with is one file, and so is what other
// pages share: split by which pages share it, it takes more bytes and more requests.
export default defineConfig({
  plugins: [svelte({ compilerOptions: { cssHash, discloseVersion: false } }), shapes(), compress()],
  base: '/',
  build: {
    outDir: 'dist/web',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: '.vite/licenses.json' }, // for packaging/notices; not embedded
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: 'index', tags: ['$initial'], priority: 2 }, { name: 'channels', test: /ChannelForm|devices.Secret/, priority: 3 }, { name: 'shared', minShareCount: 2, priority: 1 }] } } },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
} as Parameters<typeof defineConfig>[0])
