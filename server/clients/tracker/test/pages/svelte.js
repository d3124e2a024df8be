// A Svelte application with the action.
import { mount } from 'svelte'
import { init } from '@onefold/tracker'
import App from './App.svelte'
import { endpoint } from './here.ts'

init({ site: 'blog', endpoint })
mount(App, { target: document.body })
