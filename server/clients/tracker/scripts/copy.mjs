// Copies the tracker into dist: the package and the script that onefold serves run the same code.
import { copyFileSync } from 'node:fs'

const tracker = new URL('../../../tracker/src/', import.meta.url)
const dist = new URL('../dist/', import.meta.url)
copyFileSync(new URL('core.js', tracker), new URL('core.js', dist))
for (const part of ['vitals', 'check']) copyFileSync(new URL(`onefold.${part}.js`, tracker), new URL(part + '.js', dist))
