import type { JsonValue } from '@flotilla/protocol/json-value'
import { isObject, refused, shown } from './closed-form.ts'
import type { Reading, Rule } from './closed-form.ts'
import type { MediaKind } from './prompt-found.ts'

/** The most media addresses in one call. */
const remoteMediaMax = 8
/** The maximum length of the address of a picture or document in a prompt, in characters. */
const addressMaxChars = 8192

/** The only accepted spelling of an address; other spellings could be parsed differently by different parsers. */
const fetched = /^https?:\/\/[^\s\\]+$/

const kinds = {
  image: {
    types: ['image/png', 'image/jpeg', 'image/jpg', 'image/gif', 'image/webp'],
    address: /^data:(image\/(?:png|jpe?g|gif|webp));base64,/,
    words: 'a PNG, JPEG, GIF or WebP picture',
  },
  document: {
    types: ['application/pdf'],
    address: /^data:(application\/pdf);base64,/,
    words: 'a PDF document',
  },
} as const satisfies Record<MediaKind, unknown>

const signatures: readonly { readonly type: string; readonly kind: MediaKind; is(head: string): boolean }[] =
  [
    { type: 'image/png', kind: 'image', is: (head) => head.startsWith('\x89PNG\r\n\x1a\n') },
    { type: 'image/jpeg', kind: 'image', is: (head) => head.startsWith('\xff\xd8\xff') },
    { type: 'image/gif', kind: 'image', is: (head) => /^GIF8[79]a/.test(head) },
    {
      type: 'image/webp',
      kind: 'image',
      is: (head) => head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP',
    },
    { type: 'application/pdf', kind: 'document', is: (head) => head.startsWith('%PDF-') },
  ]

/** Returns the media type by the first bytes and not by the declared type; null if models do not accept it. Pure. */
export function mediaTypeOf(bytes: Uint8Array, kind: MediaKind): string | null {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  return signatures.find((one) => one.kind === kind && one.is(head))?.type ?? null
}

/** Accepts a `data:` address, or a web address, which is recorded so that the mesh fetches it. */
export function mediaAddress(kind: MediaKind): Rule {
  return (value, reading) => {
    if (typeof value === 'string') {
      const head = kinds[kind].address.exec(value)?.[0]
      if (head !== undefined) {
        checkBase64(value.slice(head.length), kind, reading)
        return value
      }
      if (fetched.test(value)) {
        noteRemote(value, { kind, as: 'address' }, reading)
        return value
      }
    }
    throw refused(
      reading,
      `${kinds[kind].words} must be sent as data:${kinds[kind].types[0]};base64,... or as an address that begins with https:// or http://, not as ${shown(value)}`,
    )
  }
}

/** Rules for the `source` of a picture or document in the Messages API, as base64 or address. */
export function mediaSource(kind: MediaKind): Record<'base64' | 'url', Rule> {
  return {
    base64: (value, reading) => {
      const source = value as { readonly [name: string]: JsonValue }
      const names: readonly string[] = kinds[kind].types
      only(source, ['type', 'media_type', 'data'], reading)
      if (typeof source['media_type'] !== 'string' || !names.includes(source['media_type'])) {
        reading.path.push('media_type')
        throw refused(
          reading,
          `${shown(source['media_type'])} is not accepted; accepted are ${names.join(', ')}`,
        )
      }
      reading.path.push('data')
      if (typeof source['data'] !== 'string') throw refused(reading, 'must be a text in base64')
      checkBase64(source['data'], kind, reading)
      reading.path.pop()
      return value
    },
    url: (value, reading) => {
      const { url, ...rest } = value as { readonly [name: string]: JsonValue }
      only(rest, ['type'], reading)
      if (typeof url !== 'string' || !fetched.test(url)) {
        reading.path.push('url')
        throw refused(reading, `must be an address that begins with https:// or http://, not ${shown(url)}`)
      }
      noteRemote(url, { kind, as: 'source' }, reading)
      return value
    },
  }
}

/** The sounds that a chat completion can carry, by their types in Google's form. */
const soundTypes = ['audio/wav', 'audio/mp3', 'audio/mpeg']

/** Accepts the data of a picture, document or sound in Google's form, also in the base64 of addresses. */
export const inlineMedia: Rule = (value, reading) => {
  if (!isObject(value)) throw refused(reading, 'an object is expected')
  const { data } = value
  const mimeType = value['mimeType'] ?? value['mime_type']
  const isOf = (kind: MediaKind): boolean => (kinds[kind].types as readonly unknown[]).includes(mimeType)
  const kind = isOf('image') ? 'image' : isOf('document') ? 'document' : null
  const isSound = (soundTypes as readonly unknown[]).includes(mimeType)
  if (kind === null && !isSound) {
    reading.path.push('mimeType')
    const names = [...kinds.image.types, ...kinds.document.types, ...soundTypes]
    throw refused(reading, `${shown(mimeType)} is not accepted; accepted are ${names.join(', ')}`)
  }
  reading.path.push('data')
  if (typeof data !== 'string') throw refused(reading, 'must be a text in base64')
  const plain = data.replaceAll('-', '+').replaceAll('_', '/')
  if (kind !== null) checkBase64(plain, kind, reading)
  else if (decoded(plain) === null) throw refused(reading, 'the data is not base64')
  else {
    reading.found.sounds++
    reading.found.dataBytes += plain.length
  }
  reading.path.pop()
  const isSame = plain === data && 'mimeType' in value && Object.keys(value).length === 2
  return isSame ? value : { mimeType: mimeType as string, data: plain }
}

function only(
  source: { readonly [name: string]: JsonValue },
  names: readonly string[],
  reading: Reading,
): void {
  for (const name in source) {
    if (names.includes(name) || source[name] === null) continue
    reading.path.push(name)
    throw refused(reading, 'this is not taken here')
  }
}

function noteRemote(url: string, as: { kind: MediaKind; as: 'address' | 'source' }, reading: Reading): void {
  const { found } = reading
  if (url.length > addressMaxChars) {
    throw refused(reading, `an address has at most ${addressMaxChars} characters`)
  }
  if (found.remote.length >= remoteMediaMax) {
    throw refused(
      reading,
      `one call may refer to at most ${remoteMediaMax} pictures and documents by address`,
    )
  }
  found.remote.push({ ...as, url, path: [...reading.path] })
  count(as.kind, found)
}

function checkBase64(data: string, kind: MediaKind, reading: Reading): void {
  const bytes = decoded(data)
  if (bytes === null) throw refused(reading, 'the data is not base64')
  if (mediaTypeOf(bytes, kind) === null) {
    throw refused(reading, `the data is not ${kinds[kind].words}`)
  }
  count(kind, reading.found)
  reading.found.dataBytes += data.length
}

/** Returns the decoded bytes; null for text that is not base64, in which the decoder would skip characters. */
export function decoded(data: string): Uint8Array | null {
  const bytes = Buffer.from(data, 'base64')
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return bytes.length === Math.floor(((data.length - padding) * 3) / 4) && bytes.length > 0 ? bytes : null
}

function count(kind: MediaKind, found: Reading['found']): void {
  if (kind === 'image') found.images++
  else found.documents++
}
