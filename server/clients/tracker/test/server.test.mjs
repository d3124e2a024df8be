// On a server, there is no window: nothing of the package fails, and nothing is sent.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { createSSRApp, h, resolveDirective, withDirectives } from 'vue'
import { renderToString as renderVue } from 'vue/server-renderer'
import * as tracker from '@onefold/tracker'
import { Onefold, useEvent, useUser } from '@onefold/tracker/react'
import { track } from '@onefold/tracker/svelte'
import { onefold } from '@onefold/tracker/vue'

globalThis.fetch = () => assert.fail('something is sent')
const options = { site: 'blog', endpoint: 'http://127.0.0.1:1/api/event' }

test('every function can be called', () => {
  tracker.init(options)
  tracker.init({})
  tracker.event('signup', { props: { plan: 'pro' } })
  tracker.pageView()
  tracker.notFound()
  tracker.setUser('user-7')
  tracker.optOut()
  assert.equal(tracker.isOptedOut(), false)
  tracker.optIn()
  assert.equal(typeof track, 'function')
  assert.equal(globalThis.onefold, undefined)
})

test('a React component is rendered', () => {
  const Account = () => {
    useUser('user-7')
    useEvent('signup')
    return createElement('b', null, 'account')
  }
  assert.equal(renderToString(createElement('div', null, createElement(Onefold, options), createElement(Account))), '<div><b>account</b></div>')
})

test('a Vue application is rendered', async () => {
  const app = createSSRApp({ render: () => withDirectives(h('button', 'Sign up'), [[resolveDirective('track'), 'signup']]) })
  assert.equal(await renderVue(app.use(onefold, options)), '<button>Sign up</button>')
})
