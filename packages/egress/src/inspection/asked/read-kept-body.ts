import { createHash } from 'node:crypto'
import { Problem } from '@flotilla/protocol/problem'
import { keptBodyLimits } from './kept-body-table.ts'

/** A body that has arrived completely. */
export interface WholeBody {
  readonly bytes: Buffer
  readonly sha256: string
}

/**
 * Reads a body to its end, so that its final bytes can be shown and bound. `take` counts bytes that are held in
 * memory, and `spend` charges the work. Problem `policy-denied` for a body that is too large to be kept.
 */
export async function readKeptBody(
  body: AsyncIterable<unknown> | Iterable<unknown> | null,
  { take, spend }: { readonly take: (bytes: number) => void; readonly spend: <T>(work: () => T) => T },
): Promise<WholeBody> {
  const hash = createHash('sha256')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    if (!(chunk instanceof Buffer)) throw new TypeError('a body has only bytes')
    size += chunk.length
    if (size > keptBodyLimits.oneMaxBytes) {
      throw new Problem('policy-denied', {
        detail: `a person must approve this request, and its body is larger than the ${keptBodyLimits.oneMaxBytes} bytes that can be kept for them`,
      })
    }
    take(chunk.length)
    spend(() => hash.update(chunk))
    chunks.push(chunk)
  }
  return { bytes: Buffer.concat(chunks), sha256: hash.digest('hex') }
}
