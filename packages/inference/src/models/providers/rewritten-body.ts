import { spendIn } from '../wire/collect-reply.ts'
import type { CallBounds } from '../llm-provider.ts'

/** Reads the bytes of an answer and writes them in another form; `end` returns the rest. */
export interface AnswerWriter {
  take(bytes: Uint8Array): string
  end(): string
}

/** The same for a stream that is no text. */
export interface BinaryWriter {
  take(bytes: Uint8Array): Buffer
  end(): Buffer
}

/** Rewrites a body. A writer that keeps the bytes of a whole answer until its end counts them as held memory. */
export async function* rewrittenBody(
  body: AsyncIterable<Uint8Array>,
  writer: AnswerWriter | BinaryWriter,
  bounds: CallBounds = {},
): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) {
    bounds.hold?.(bytes.length)
    const written = spendIn(bounds, () => writer.take(bytes))
    if (written.length > 0) yield asBytes(written)
  }
  const last = spendIn(bounds, () => writer.end())
  if (last.length > 0) yield asBytes(last)
}

function asBytes(written: string | Buffer): Uint8Array {
  return typeof written === 'string' ? Buffer.from(written) : written
}
