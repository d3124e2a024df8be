// Copies the tracker into dist: the package and the script that onefold serves run the same code.
import { copyFileSync } from 'node:fs'

const tracker = new URL('../../../tracker/src/', import.meta.url)
const dist = new URL('../dist/', import.meta.url)
copyFileSync(new URL('core.js', tracker), new URL('core.js', dist))
copyFileSync(new URL('onefold.vitals.js', tracker), new URL('vitals.js', dist))
