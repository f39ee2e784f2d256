import type { FileHandle } from 'node:fs/promises'
import type { Clock } from '@flotilla/protocol/clock'

const readEveryMs = 60
const chunkBytes = 64 * 1024
/** The maximum length of a line in characters; a longer line is returned in pieces. */
const lineMaxChars = 1024 * 1024

/**
 * Yields the lines that are appended to a file from a position on, until the signal aborts; then the rest is read
 * once more. It polls, because a watch would miss appends on some file systems. Closes the file at its end.
 */
export async function* followLines(
  file: FileHandle,
  options: { readonly from: number; readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<string, void, undefined> {
  const buffer = Buffer.alloc(chunkBytes)
  const decoder = new TextDecoder()
  let position = options.from
  let rest = ''
  try {
    for (;;) {
      const last = options.signal.aborted
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, position)
      position += bytesRead
      rest += decoder.decode(buffer.subarray(0, bytesRead), { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > lineMaxChars) {
        lines.push(rest)
        rest = ''
      }
      yield* lines.filter((line) => line !== '')
      if (bytesRead > 0) continue
      // A running mesh empties a log that is too large, after it has copied it to another file.
      if ((await file.stat()).size < position) {
        position = 0
        continue
      }
      if (last) {
        if (rest !== '') yield rest
        return
      }
      await options.clock.sleep(readEveryMs, options.signal).catch(() => undefined)
    }
  } finally {
    await file.close()
  }
}
