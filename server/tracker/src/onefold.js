import { start } from './core.js'

// The script of pages, which configure it with attributes of its tag.
const script = document.currentScript
if (script) {
  start(script.dataset, new URL('/api/event', script.src), name => {
    import(script.src.replace(/(\.js)?(\?.*)?$/, '.' + name + '.js')).catch(() => {})
  })
}
