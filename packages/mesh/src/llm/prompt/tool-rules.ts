import type { JsonValue } from '@flotilla/protocol/json-value'
import { isObject, refused, shown } from './closed-form.ts'
import type { Rule } from './closed-form.ts'

const nameMaxChars = 200

/**
 * A function that runs where it was called from. A name that begins with anything but a letter, a digit or `_` may have
 * a meaning of its own at a provider, as `$web_search` has, and would run there.
 */
export const functionName: Rule = (value, reading) => {
  if (typeof value === 'string' && /^[\p{L}\p{N}_]/u.test(value) && value.length <= nameMaxChars) return value
  throw refused(reading, `${shown(value)} is no name of a function: it begins with a letter, a digit or _`)
}

/** The name that a model called, which may be any; but what a provider would run, it would run for this as well. */
export const calledName: Rule = (value, reading) => {
  if (typeof value === 'string' && !value.normalize('NFKC').trimStart().startsWith('$')) return value
  throw refused(reading, `${shown(value)} is no name of a function that runs here`)
}

/** The name of a tool that is offered, which a choice may then name. */
export const offeredName: Rule = (value, reading) => {
  functionName(value, reading)
  reading.found.toolNames.add(value as string)
  return value
}

/** The name of a tool that must have been offered. */
export const chosenName: Rule = (value, reading) => {
  if (typeof value === 'string' && reading.found.toolNames.has(value)) return value
  throw refused(reading, `no tool of this call is named ${shown(value)}`)
}

/** A JSON Schema; what it refers to stands in it. */
export const schema: Rule = (value, reading) => {
  if (!isObject(value)) throw refused(reading, 'a JSON Schema is expected')
  const waiting: JsonValue[] = [value]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== 'object' || next === null) continue
    if (Array.isArray(next)) {
      for (const entry of next) if (typeof entry === 'object') waiting.push(entry)
      continue
    }
    for (const name in next) {
      const member = next[name]
      if (typeof member === 'object') waiting.push(member)
      else if (refers(name) && typeof member === 'string' && !member.startsWith('#')) {
        throw refused(reading, `${name} leads to ${shown(member)}; a schema refers to its own parts alone`)
      }
    }
  }
  return value
}

function refers(name: string): boolean {
  return name === '$ref' || name === '$dynamicRef' || name === '$recursiveRef'
}

/**
 * A tool of another kind runs at the provider, where it reaches the network past every wall here and costs what no
 * price list knows. Whether the owner has named and priced it for the model is asked when the model is known.
 */
export const serverTool: Rule = (value, reading) => {
  const type = isObject(value) ? value['type'] : undefined
  const index = reading.path.at(-1)
  if (typeof type !== 'string' || typeof index !== 'number') {
    throw refused(reading, 'a tool of the type function is expected')
  }
  reading.found.serverTools.push({ index, type })
  return value
}
