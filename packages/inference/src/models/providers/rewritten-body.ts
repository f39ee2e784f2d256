import { spendIn } from '../wire/collect-reply.ts'
import type { CallBounds } from '../llm-provider.ts'

/** Reads the bytes of an answer and writes them in another form; `end` returns the rest. */
export interface AnswerWriter {
  take(bytes: Uint8Array): string
  end(): string
}

/** Rewrites a body. A writer that keeps the bytes of a whole answer until its end counts them as held memory. */
export async function* rewrittenBody(
  body: AsyncIterable<Uint8Array>,
  writer: AnswerWriter,
  bounds: CallBounds = {},
): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) {
    bounds.hold?.(bytes.length)
    const text = spendIn(bounds, () => writer.take(bytes))
    if (text !== '') yield Buffer.from(text)
  }
  const last = spendIn(bounds, () => writer.end())
  if (last !== '') yield Buffer.from(last)
}
