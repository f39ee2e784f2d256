import { diag, DiagLogLevel } from '@opentelemetry/api'
import { jsonLimits } from '@flotilla/protocol/limits'
import { oneLine } from '@flotilla/protocol/one-line'
import * as z from 'zod'
import { readJsonQuietly } from '@flotilla/foundation/intake'

/** How many spans of a batch a collector rejected although it accepted the others, and why. */
export interface CollectorRefusal {
  /** Number of spans that the collector did not accept; 0 for a warning. */
  readonly spans: number
  /** The collector's reason; empty if it gave none. */
  readonly reason: string
}

const wordsMaxChars = 200
const refusalMaxChars = 64 * 1024
/** The start of the line with which the official exporter logs a partial success. */
const partialSuccess = 'Received Partial Success response'

/** The count is a 64-bit number of protobuf, which the exporter writes as text or as a number. */
const refusalSchema = z.looseObject({
  rejectedSpans: z.coerce.number().int().nonnegative().catch(0),
  errorMessage: z.string().nullish(),
})

/**
 * Calls `refused` for each batch that the collector accepted in part. The official exporter only logs these, to a
 * diagnostic logger of the process: the last caller gets all refusals. Returns a function that stops the calls.
 */
export function followRefusals(refused: (refusal: CollectorRefusal) => void): () => void {
  const ignore = (): void => undefined
  const warn = (message: string, answer?: unknown): void => {
    const refusal = message.startsWith(partialSuccess) ? readRefusal(answer) : null
    if (refusal !== null) refused(refusal)
  }
  const logger = { warn, error: ignore, info: ignore, debug: ignore, verbose: ignore }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  return () => diag.disable()
}

/** Reads what the collector rejected from its answer; null if it rejected nothing. */
function readRefusal(answer: unknown): CollectorRefusal | null {
  if (typeof answer !== 'string' || answer.length > refusalMaxChars) return null
  const read = refusalSchema.safeParse(readJsonQuietly(answer, jsonLimits.serverReply))
  if (!read.success) return null
  const { rejectedSpans: spans, errorMessage } = read.data
  const reason = oneLine(errorMessage ?? '', wordsMaxChars)
  return spans === 0 && reason === '' ? null : { spans, reason }
}
