import * as z from 'zod/mini'
import { wireLimits } from './limits.ts'

/** Headers are counted and measured before any of them is checked. */
export const outboundHeadersSchema = z._default(
  z.pipe(
    z.custom<Record<string, string>>(
      hasFewHeaders,
      `at most ${wireLimits.outboundHeadersMax} headers of ${wireLimits.outboundHeadersMaxChars} characters together`,
    ),
    z.record(z.string(), z.string()),
  ),
  {},
)

function hasFewHeaders(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  let chars = 0
  let count = 0
  for (const [name, one] of Object.entries(value)) {
    chars += name.length + (typeof one === 'string' ? one.length : 0)
    if (++count > wireLimits.outboundHeadersMax || chars > wireLimits.outboundHeadersMaxChars) return false
  }
  return true
}
