// A page without a framework, which uses all of the package.
import { event, init, isOptedOut, notFound, optIn, optOut, pageView, setUser } from '@onefold/tracker'
import { button, endpoint, go } from './here.js'

event('early', { props: { step: 1 } })
setUser('user-7')
init({ site: '', endpoint }) // a setting that is missing: starts nothing
init({ site: 'blog', endpoint })
init({ site: 'blog', endpoint })

button('Buy', () => event('purchase', { revenue: '12.50', props: { plan: 'pro', seats: 3, trial: false, coupon: null } }))
button('Log out', () => { setUser(null); notFound() })
button('Next', () => go('/plain/next'))
button('Turn', () => pageView())
button('Opt out', () => { optOut(); event('hidden'); go('/plain/hidden') })
button('Opt in', () => { optIn(); event('again'); go('/plain/again') })
button('Choice', () => { document.title = isOptedOut() ? 'opted out' : 'counted' })
