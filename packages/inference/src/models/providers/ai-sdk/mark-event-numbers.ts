import { withMarkedNumbers } from '@flotilla/protocol/json-as-written'

/** The longest line that is searched, characters; the package's own reader rejects longer ones. */
const lineMaxChars = 8 * 1024 * 1024
const dataField = 'data:'

/**
 * Replaces integers beyond 2^53 in a stream of events by marked texts (`withMarkedNumbers`): the package parses each
 * event and prints tool arguments again, which would change such a number.
 */
export async function* markEventNumbers(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  // The pieces of the incomplete line; each piece is searched once.
  let open: string[] = []
  let openChars = 0
  for await (const bytes of body) {
    const text = decoder.decode(bytes, { stream: true })
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) {
      yield markedText([...open, text.slice(0, end)].join(''))
      open = []
      openChars = 0
    }
    open.push(text.slice(end))
    openChars += text.length - end
    if (openChars > lineMaxChars) {
      yield Buffer.from(open.join(''))
      open = []
      openChars = 0
    }
  }
  const last = [...open, decoder.decode()].join('')
  if (last !== '') yield markedText(last)
}

function markedText(text: string): Uint8Array {
  return Buffer.from(text.split('\n').map(markedLine).join('\n'))
}

/** Marks a line that is a whole JSON text; a part of a JSON text on several lines stays unchanged. */
function markedLine(line: string): string {
  if (!line.startsWith(dataField)) return line
  try {
    return `${dataField}${withMarkedNumbers(line.slice(dataField.length))}`
  } catch {
    return line
  }
}
