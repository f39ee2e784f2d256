import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Hook } from './hook-table.ts'
import type { RefusalStore } from './refusal-store.ts'

/** Records a rejection in the history. Audits a refused signature too, if it began a new row. Never throws. */
export function noteRefusal(
  deps: { readonly refusals: RefusalStore; readonly journal: Journal; readonly log: Log },
  hook: Hook,
  refusal: { readonly error: unknown; readonly sizeBytes: number; readonly senderId: string | null },
): void {
  const { error, sizeBytes, senderId } = refusal
  const code = error instanceof Problem ? error.code : 'internal-error'
  const reason = error instanceof Problem ? error.detail : 'internal error; see the log of the mesh'
  const state = code === 'rate-limited' || code === 'lane-full' ? 'limited' : 'refused'
  try {
    const isFirst = deps.refusals.note({ hookId: hook.id, state, code, reason, senderId, sizeBytes })
    if (!isFirst || code !== 'signature-refused') return
    deps.journal.append({
      actor: 'system',
      action: 'webhook.refused',
      subject: hook.id,
      detail: { code, reason },
    })
  } catch (failure) {
    deps.log.warn(
      { hookId: hook.id, code, err: failure },
      'failed to record a rejected webhook delivery; the sender received the rejection',
    )
  }
}

/** Returns the error for a caller outside of the fleet, without details about the agent. */
export function forOutside(error: unknown): unknown {
  if (!(error instanceof Problem) || !innerCodes.has(error.code)) return error
  const { retryAfterSeconds } = error
  return new Problem(error.code, {
    cause: error,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
}

const innerCodes: ReadonlySet<string> = new Set([
  'agent-archived',
  'unknown-agent',
  'lane-full',
  'disk-full',
  'denied',
  'webhook-full',
])
