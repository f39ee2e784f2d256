import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { isObject, refused, shown } from './closed-form.ts'
import type { Rule } from './closed-form.ts'

const nameMaxChars = 200

/**
 * The name of a function that the client runs. A name that begins with another character than a letter, a digit or
 * `_`, such as `$web_search`, may have a special meaning at a provider and would run there.
 */
export const functionName: Rule = (value, reading) => {
  if (typeof value === 'string' && /^[\p{L}\p{N}_]/u.test(value) && value.length <= nameMaxChars) return value
  throw refused(
    reading,
    `${shown(value)} is not a valid function name: a name begins with a letter, a digit or _`,
  )
}

/**
 * The name of a tool that a model called. The model may have invented it, so no name ends the conversation. A leading
 * `$` is removed, because a provider might run such a name.
 */
export const calledName: Rule = (value, reading) => {
  if (typeof value !== 'string') throw refused(reading, `${shown(value)} is not a valid name of a function`)
  const plain = value.normalize('NFKC').trimStart()
  return plain.startsWith('$') ? plain.replace(/^[\s$]+/, '') || 'unnamed_call' : value
}

/** The name of an offered tool; recorded, so that a tool choice may name it. */
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

/** Members that contain schemas under names chosen by the author, which are not keywords of JSON Schema. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const references = new Set(['$ref', '$dynamicRef', '$recursiveRef'])
/** Members that change the base against which references are resolved. */
const bases = new Set(['$id', 'id', '$anchor', '$dynamicAnchor', '$recursiveAnchor', '$schema'])
/** The addresses of the standard's own schemas, which need no fetch. */
const knownSchema = /^https?:\/\/json-schema\.org\/[a-z0-9/-]+#?$/

/** A JSON Schema; its references must point into itself. */
export const schema: Rule = (value, reading) => {
  if (!isObject(value)) throw refused(reading, 'must be a JSON Schema')
  const waiting: { readonly part: JsonValue; readonly holdsNames: boolean }[] = [
    { part: value, holdsNames: false },
  ]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { part, holdsNames } = next
    if (typeof part !== 'object' || part === null) continue
    if (Array.isArray(part)) {
      for (const entry of part)
        if (typeof entry === 'object') waiting.push({ part: entry, holdsNames: false })
      continue
    }
    for (const name in part) {
      const member = part[name]
      const isSchema = holdsNames && (isJsonObject(member) || typeof member === 'boolean')
      if (!isSchema && leadsOut(name, member)) {
        throw refused(reading, `${name} refers to ${shown(member)}; a schema may only refer to its own parts`)
      }
      if (typeof member === 'object')
        waiting.push({ part: member, holdsNames: !holdsNames && named.has(name) })
    }
  }
  return value
}

function leadsOut(name: string, member: JsonValue | undefined): boolean {
  if (references.has(name)) return typeof member !== 'string' || !member.startsWith('#')
  if (!bases.has(name)) return false
  if (typeof member !== 'string') return name === '$id' || name === '$schema'
  if (name === '$schema' && knownSchema.test(member)) return false
  // Returns true if the value has a scheme, names another host, or is an absolute path.
  return /:|^\s*[/\\]/.test(member)
}

/**
 * A tool of another kind runs at the provider, where no isolation of the mesh applies and the price list does not
 * know its cost. `serverToolTerms` checks later whether the owner has allowed and priced it for the model.
 */
export const serverTool: Rule = (value, reading) => {
  const type = isJsonObject(value) ? value['type'] : undefined
  const index = reading.path.at(-1)
  if (typeof type !== 'string' || typeof index !== 'number') {
    throw refused(reading, 'must be a tool of the type function')
  }
  reading.found.serverTools.push({ index, type })
  return value
}
