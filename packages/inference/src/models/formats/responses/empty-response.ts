import { isRecord } from '../empty-answer.ts'

/** Event types that frame a response and have no content. */
const framing: readonly unknown[] = [
  'response.created',
  'response.queued',
  'response.in_progress',
  'keepalive',
]

/** Whether this response, or this event of its stream, has no word, no call and no reason for its end. Pure. */
export function saysNoResponse(value: Readonly<Record<string, unknown>>): boolean {
  const { type } = value
  if (value['object'] === 'response') return isEmptyResponse(value)
  if (typeof type !== 'string') return false
  if (framing.includes(type)) return true
  if (type === 'response.completed') return isRecord(value['response']) && isEmptyResponse(value['response'])
  if (type.startsWith('response.output_item.')) return isEmptyItem(value['item'])
  if (type.endsWith('.delta')) return value['delta'] === ''
  const part = value['part']
  return isRecord(part) ? isEmptyPart(part) : isEmptyPart(value)
}

function isEmptyResponse(response: Readonly<Record<string, unknown>>): boolean {
  const { output, status } = response
  return status !== 'incomplete' && status !== 'failed' && Array.isArray(output) && output.every(isEmptyItem)
}

/** Whether an item has no content. Items of other kinds than these two, such as calls, are content. */
function isEmptyItem(item: unknown): boolean {
  if (!isRecord(item)) return false
  const { content, summary, encrypted_content: encrypted } = item
  if (item['type'] === 'message') return Array.isArray(content) && content.every(isEmptyPart)
  if (item['type'] !== 'reasoning' || (encrypted ?? '') !== '') return false
  return [content, summary].flat().every((part) => part === undefined || part === null || isEmptyPart(part))
}

function isEmptyPart(part: unknown): boolean {
  if (!isRecord(part)) return false
  const texts = ['text', 'refusal'].flatMap((field) => (field in part ? [part[field]] : []))
  return texts.length > 0 && texts.every((text) => text === '')
}
