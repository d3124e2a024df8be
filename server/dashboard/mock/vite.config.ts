import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// For work on the page: the API is that of the mock, which `node mock/server.mjs` serves, or of a real server.
export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  plugins: [svelte()],
  server: { proxy: { '/api': process.env['ONEFOLD'] ?? 'http://127.0.0.1:5180' } },
})
