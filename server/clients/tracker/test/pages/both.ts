// A page with the package and the script, which counts once.
import { event, init } from '@onefold/tracker'
import { endpoint } from './here.js'

init({ site: 'blog', endpoint })
event('once')
