import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// For development: the API is the mock of `node mock/server.mjs`, or a real server.
export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  plugins: [svelte()],
  server: { proxy: { '/api': process.env['ONEFOLD'] ?? 'http://127.0.0.1:5180' } },
})
