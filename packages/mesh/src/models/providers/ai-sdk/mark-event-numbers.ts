import { withMarkedNumbers } from '@flotilla/protocol/json-as-written'

/** Longest line that is searched, characters; the reader of the package bounds longer ones. */
const lineMaxChars = 8 * 1024 * 1024
const dataField = 'data:'

/**
 * The same stream of events, in which whole numbers beyond 2^53 are marked texts (`withMarkedNumbers`): the package
 * parses each event and prints the arguments of a call again, so that such a number would become another one.
 */
export async function* markEventNumbers(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  // Pieces of the line that has not ended; each is searched once.
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

/** Only where the line is a whole JSON text; one of several lines goes on as it is. */
function markedLine(line: string): string {
  if (!line.startsWith(dataField)) return line
  try {
    return `${dataField} ${withMarkedNumbers(line.slice(dataField.length))}`
  } catch {
    return line
  }
}
