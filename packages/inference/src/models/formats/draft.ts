import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Spelling } from './spelling.ts'

/** The JSON of an outgoing call without its token bound, with room in the buffer for that bound. */
export interface Draft {
  /** The size of the JSON in bytes, with its closing brace. Appending the bound overwrites that brace. */
  readonly bytes: number
  /** Appends the bound (an integer from 1) or nothing. Call once: the result shares the draft's memory. */
  closed(bound: { readonly field: string; readonly value: number } | null): Uint8Array
}

/** Room for the longest name of the bound, the largest number and the separators, bytes. */
const boundRoomBytes = 64

/** Copies members from the bytes of the client's body where `spelling` has them, and prints all others. Pure. */
export function draftOf(model: string, forwarded: JsonObject, spelling: Spelling | null = null): Draft {
  const parts =
    spelling === null ? [JSON.stringify({ model, ...forwarded })] : partsOf(model, forwarded, spelling)
  let bytes = 0
  for (const part of parts) bytes += typeof part === 'string' ? Buffer.byteLength(part) : part.length
  const memory = Buffer.allocUnsafe(bytes + boundRoomBytes)
  let at = 0
  for (const part of parts) {
    if (typeof part === 'string') at += memory.write(part, at, 'utf8')
    else {
      memory.set(part, at)
      at += part.length
    }
  }
  return {
    bytes,
    closed(bound) {
      if (bound === null) return memory.subarray(0, bytes)
      const end = `,"${bound.field}":${bound.value}}`
      return memory.subarray(0, bytes - 1 + memory.write(end, bytes - 1, 'latin1'))
    },
  }
}

function partsOf(model: string, forwarded: JsonObject, spelling: Spelling): (string | Uint8Array)[] {
  const parts: (string | Uint8Array)[] = []
  let text = `{"model":${JSON.stringify(model)}`
  for (const [name, value] of Object.entries(forwarded)) {
    const spelled = spelling.of(name, value)
    text += `,${JSON.stringify(name)}:`
    if (spelled === null) text += JSON.stringify(value)
    else {
      parts.push(text, spelled)
      text = ''
    }
  }
  parts.push(`${text}}`)
  return parts
}
