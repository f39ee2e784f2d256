import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonValue } from '@flotilla/protocol/json-value'

/** Number of blocks of one result that are read; the caller cuts the text for the model. */
const blocksMax = 200

/** A server's result of a call as text. Pure. */
export function formatResult(result: {
  readonly content?: unknown
  readonly structuredContent?: unknown
}): string {
  const blocks = Array.isArray(result.content) ? result.content : []
  const texts = blocks.slice(0, blocksMax).map(formatBlock)
  if (blocks.length > blocksMax) texts.push(`[${blocks.length - blocksMax} more blocks left out]`)
  // `structuredContent` is ignored beside text: a server that returns both repeats the same content.
  const filled = texts.filter((word) => word !== '')
  if (filled.length > 0) return filled.join('\n')
  return result.structuredContent === undefined ? '' : JSON.stringify(result.structuredContent, null, 1)
}

function formatBlock(block: JsonValue): string {
  if (!isJsonObject(block)) return ''
  const type = textOf(block['type'])
  switch (type) {
    case 'text':
      return textOf(block['text'])
    case 'image':
    case 'audio':
      return formatMedia(type, block)
    case 'resource_link':
      return `[link ${textOf(block['uri'])} ${textOf(block['name'])}]`
    case 'resource': {
      const resource = isJsonObject(block['resource']) ? block['resource'] : {}
      if (typeof resource['text'] === 'string')
        return `[resource ${textOf(resource['uri'])}]\n${resource['text']}`
      return formatMedia('resource', { mimeType: resource['mimeType'] ?? '', data: resource['blob'] ?? '' })
    }
    default:
      return `[${type || 'something'}]`
  }
}

/** Describes a picture, a sound or a binary resource as text; their bytes are not passed to the model. */
function formatMedia(kind: string, block: Readonly<Record<string, JsonValue>>): string {
  const bytes = Math.floor((textOf(block['data']).length * 3) / 4)
  return `[${kind} ${textOf(block['mimeType']) || 'of unknown type'}, ${bytes} bytes]`
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
