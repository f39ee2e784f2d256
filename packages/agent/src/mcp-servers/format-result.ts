import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { isDeepStrictEqual } from 'node:util'
import { parseShown } from '@flotilla/protocol/json-as-written'
import type { JsonValue } from '@flotilla/protocol/json-value'

/** Number of blocks of one result that are read; the caller cuts the text for the model. */
const blocksMax = 200

/** A server's result of a call as text. Pure. */
export function formatResult(result: {
  readonly content?: unknown
  readonly structuredContent?: unknown
}): string {
  const blocks = blocksIn(result.content)
  const texts = blocks.slice(0, blocksMax).map(formatBlock)
  if (blocks.length > blocksMax) texts.push(`[${blocks.length - blocksMax} more blocks left out]`)
  // Most servers repeat `structuredContent` as text; others write only a summary or a picture beside it.
  const { structuredContent: structured } = result
  if (structured !== undefined && structured !== null) {
    const parsed = comparable(JSON.stringify(structured))
    if (!blocks.slice(0, blocksMax).some((block) => repeats(block, parsed)))
      texts.push(JSON.stringify(structured, null, 1))
  }
  return texts.filter((word) => word !== '').join('\n')
}

/** Whether the block is the text of this value, as servers repeat it for older clients. */
function repeats(block: JsonValue, parsed: unknown): boolean {
  const text = isJsonObject(block) && block['type'] === 'text' ? textOf(block['text']).trim() : ''
  if (!/^[{[]/.test(text)) return false
  try {
    return isDeepStrictEqual(comparable(text), parsed)
  } catch {
    return false
  }
}

/** Returns a value in which numbers in different notations are equal, and others are not, however close. */
function comparable(text: string): unknown {
  return parseShown(text)
}

/** Returns the blocks; some servers write one text or one block in place of a list. */
function blocksIn(content: unknown): readonly JsonValue[] {
  if (Array.isArray(content)) return content as readonly JsonValue[]
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return isJsonObject(content) ? [content] : []
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
      return `[link ${['uri', 'name', 'mimeType', 'description']
        .map((name) => textOf(block[name]))
        .join(' ')
        .trimEnd()}]`
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
