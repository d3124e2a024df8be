// Turns event data into lines that can be shown and compared.

export type Kind = 'text' | 'number' | 'truth' | 'nothing' | 'empty' | 'group'
export interface Line { path: string; name: string; depth: number; kind: Kind; value: string }

const isGroup = (v: unknown): v is object => typeof v === 'object' && v !== null
const entries = (v: object): [string, unknown][] => (Array.isArray(v) ? v.map((x, i) => [String(i + 1), x]) : Object.entries(v))

function kindOf(v: unknown): Kind {
  if (v === null) return 'nothing'
  switch (typeof v) {
    case 'number': return 'number'
    case 'boolean': return 'truth'
    case 'string': return v === '' ? 'empty' : 'text'
  }
  return 'empty'
}

const written = (v: unknown) => (v === '' ? 'empty text' : Array.isArray(v) ? 'empty list' : isGroup(v) ? 'no fields' : String(v))

// lines lists the fields of a value, nested fields after their parent, at most LONGEST of them.
export const LONGEST = 2000
export function lines(data: unknown, most = LONGEST): Line[] {
  const found: Line[] = []
  const walk = (v: unknown, name: string, path: string, depth: number) => {
    if (found.length >= most) return
    const group = isGroup(v) && entries(v).length > 0
    found.push({ path, name, depth, kind: group ? 'group' : kindOf(v), value: group ? '' : written(v) })
    if (group) for (const [k, inner] of entries(v)) walk(inner, k, path + '\n' + k, depth + 1)
  }
  if (isGroup(data) && entries(data).length > 0) for (const [k, v] of entries(data)) walk(v, k, k, 0)
  else found.push({ path: '', name: '', depth: 0, kind: kindOf(data), value: written(data) })
  return found
}

export interface Difference { name: string; sign: '+' | '−' | '~'; before?: string; after?: string }

// difference compares two values field by field, sorted by field name.
export function difference(before: unknown, after: unknown): Difference[] {
  const flat = (v: unknown) => new Map((isGroup(v) && entries(v).length ? lines(v, Infinity) : []).filter((l) => l.kind !== 'group').map((l) => [l.path, l]))
  const was = flat(before), is = flat(after)
  const all: Difference[] = []
  for (const path of [...new Set([...was.keys(), ...is.keys()])].sort()) {
    const b = was.get(path), a = is.get(path), name = path.replaceAll('\n', ' › ')
    if (b && a) {
      if (b.value !== a.value || b.kind !== a.kind) all.push({ name, sign: '~', before: b.value, after: a.value })
    } else if (a) all.push({ name, sign: '+', after: a.value })
    else if (b) all.push({ name, sign: '−', before: b.value })
  }
  return all
}

// brief summarizes event data in one line.
export function brief(data: unknown): string {
  const parts: string[] = []
  for (const l of lines(data, 12)) if (l.kind !== 'group') parts.push(l.name ? `${l.name} ${l.value}` : l.value)
  return parts.join(', ')
}
