import * as z from 'zod'
import { ChannelFailure } from '../../adapter.ts'

/** The wait, in milliseconds, if Meta rejects a call by rate limit without naming a duration. */
const retryAfterMs = 60_000
/** The longest wait that is accepted from WhatsApp before a call is retried, in milliseconds. */
const retryAfterMaxMs = 60 * 60 * 1000

export const graphErrorSchema = z.looseObject({
  error: z.looseObject({
    code: z.number(),
    message: z.string().nullish(),
    error_data: z.looseObject({ details: z.string().nullish() }).nullish(),
  }),
})

/** Rate limit codes, from the page "Error codes" of the Cloud API. */
const limited: ReadonlySet<number> = new Set([4, 80007, 130429, 131048, 131056, 133016])
const gone: ReadonlySet<number> = new Set([131021, 131026, 131030, 131045, 131050, 133010])
const unsure: ReadonlySet<number> = new Set([1, 2, 131000, 131016, 133004])
const tooLarge: ReadonlySet<number> = new Set([131052])

/** Meta's error code for a person whose last message is more than 24 hours old. */
const windowClosed = 131047

/** Classifies an error response. Pure. */
export function graphFailure(
  status: number,
  answer: unknown,
  retryAfter: string | string[] | undefined,
): ChannelFailure {
  const read = graphErrorSchema.safeParse(answer)
  const error = read.success ? read.data.error : null
  const text = `WhatsApp says: ${(error?.error_data?.details ?? error?.message ?? `status ${status}`).slice(0, 200)}`
  const code = error?.code ?? 0
  if (code === windowClosed) {
    return new ChannelFailure(
      'gone',
      'WhatsApp accepts answers only within 24 hours of the person’s last message; answers work again after their next message',
    )
  }
  if (status === 429 || limited.has(code)) {
    const seconds = typeof retryAfter === 'string' && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : null
    return new ChannelFailure(
      'rate-limited',
      text,
      seconds === null ? retryAfterMs : Math.min(retryAfterMaxMs, seconds * 1000),
    )
  }
  if (gone.has(code)) return new ChannelFailure('gone', text)
  if (status === 413 || tooLarge.has(code)) return new ChannelFailure('too-large', text)
  return new ChannelFailure(unsure.has(code) || status >= 500 ? 'unsure' : 'refused', text)
}
