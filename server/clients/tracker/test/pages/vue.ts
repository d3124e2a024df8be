// A Vue application with the plugin and the directive.
import { createApp, defineComponent, h, ref, resolveDirective, withDirectives } from 'vue'
import { onefold } from '@onefold/tracker/vue'
import { endpoint, go } from './here.js'

const App = defineComponent(() => {
  const plan = ref('pro')
  return () => [
    withDirectives(h('button', 'Sign up'), [[resolveDirective('track'), { name: 'signup', props: { plan: plan.value } }]]),
    withDirectives(h('button', { onClick: () => { plan.value = 'max' } }, 'Change'), [[resolveDirective('track'), 'change']]),
    h('button', { onClick: () => go('/vue/next') }, 'Next'),
  ]
})

createApp(App).use(onefold, { site: 'blog', endpoint }).mount(document.body.appendChild(document.createElement('div')))
