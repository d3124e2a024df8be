import './app.css'
import { mount } from 'svelte'
import App from './App.svelte'
import { startRouter } from './lib/router.svelte'
import { startTheme } from './lib/theme.svelte'

startTheme()
startRouter()
mount(App, { target: document.getElementById('app')! })
