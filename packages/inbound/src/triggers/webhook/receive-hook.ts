import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { WebhookReceipt } from '@flotilla/protocol/webhook-api'
import { createTurns } from '@flotilla/protocol/turns'
import type { Turns } from '@flotilla/protocol/turns'
import { conditionHolds, parseCondition } from '../conditions/index.ts'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { GroupedCommit } from '@flotilla/foundation/storage'
import { readDeliveryHead, requireJsonHead } from './delivery-head.ts'
import type { BodyMemory } from './body-memory.ts'
import type { DeliveryHead, RawHeaders } from './delivery-head.ts'
import type { DeliveryRow, DeliveryTable } from './delivery-table.ts'
import type { GiveDelivery } from './give-delivery.ts'
import type { HookRates } from './hook-rates.ts'
import type { HookSecrets } from './hook-secrets.ts'
import type { Hook, HookTable } from './hook-table.ts'
import { forOutside, noteRefusal } from './note-refusal.ts'
import { payloadText } from './payload-text.ts'
import { readPayload } from './read-payload.ts'
import type { Payload } from './read-payload.ts'
import type { RefusalStore } from './refusal-store.ts'
import { missingSignature, timestampWindowSeconds, verifySignature } from './verify-signature.ts'

/** How long a delivery with a signed timestamp can be replayed: twice the timestamp window, in milliseconds. */
export const signedWindowMs = 2 * timestampWindowSeconds * 1000

/** A delivery whose headers were read. */
interface OpenDelivery {
  /**
   * Checks the delivery with its body. Resolves once its row and its run are persisted. Throws the Problems
   * `signature-refused`, `webhook-disabled`, `rate-limited`, `bad-json`, `not-found` and those of `submitRun`.
   */
  receive(body: Uint8Array): Promise<WebhookReceipt>
  /** Records in the history why the body was rejected. */
  refused(error: unknown, sizeBytes: number): void
}

/**
 * Opens a delivery by its headers, before its body is read. Throws the same Problem `not-found` for
 * every unknown webhook, otherwise the Problems that the headers show.
 */
export type ReceiveHook = (hookId: string, headers: RawHeaders) => OpenDelivery

interface ReceiveHookDeps {
  readonly hooks: HookTable
  readonly deliveries: DeliveryTable
  readonly bodies: BodyMemory
  readonly secrets: HookSecrets
  readonly rates: HookRates
  readonly refusals: RefusalStore
  readonly give: GiveDelivery
  /** Concurrent deliveries share a commit. */
  readonly commits: GroupedCommit
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
}

export function createReceiveHook(deps: ReceiveHookDeps): ReceiveHook {
  const { hooks, clock } = deps

  function required(hookId: string): Hook {
    const hook = hooks.find(hookId)
    if (hook) return hook
    throw new Problem('not-found', { detail: 'no webhook has this address' })
  }

  const turns = createTurns()

  return (hookId, headers) => {
    const hook = required(hookId)
    const refused = (error: unknown, sizeBytes: number, senderId: string | null): unknown => {
      noteRefusal(deps, hook, { error, sizeBytes, senderId })
      return forOutside(error)
    }
    const head = readHead(hook, headers, (error) => refused(error, 0, null))
    return {
      receive: async (body) => {
        try {
          // The webhook may have been changed or deleted while the body arrived.
          return await judge({ ...deps, turns }, required(hookId), { head, body, now: clock.now() })
        } catch (error) {
          required(hookId)
          throw refused(error, body.length, head.senderId)
        }
      },
      refused: (error, sizeBytes) => noteRefusal(deps, hook, { error, sizeBytes, senderId: head.senderId }),
    }
  }
}

function readHead(hook: Hook, headers: RawHeaders, refused: (error: unknown) => unknown): DeliveryHead {
  try {
    requireJsonHead(headers)
    const head = readDeliveryHead(headers)
    const missing = hook.secretNumber === null ? null : missingSignature(head)
    if (missing !== null) throw new Problem('signature-refused', { detail: missing })
    return head
  } catch (error) {
    throw refused(error)
  }
}

interface Arrived {
  readonly head: DeliveryHead
  readonly body: Uint8Array
  readonly now: number
}

/**
 * Decides on a delivery. The order of checks matters: a caller without the secret learns nothing and uses up nothing,
 * and a known delivery does not use up the rate limit again.
 */
async function judge(
  deps: ReceiveHookDeps & { readonly turns: Turns },
  hook: Hook,
  arrived: Arrived,
): Promise<WebhookReceipt> {
  const judged = { arrived, ...requireSignature(deps, hook, arrived) }
  if (!hook.enabled) throw new Problem('webhook-disabled')
  return deps.turns.take(namesOf(hook, judged), async () => {
    const known = takenBefore(deps, hook, judged)
    if (known) {
      deps.refusals.note({
        hookId: hook.id,
        state: 'duplicate',
        code: null,
        reason: `the body is the same as that of delivery ${known.number}`,
        senderId: arrived.head.senderId,
        sizeBytes: arrived.body.length,
      })
      return { ...receiptOf(known), duplicate: true }
    }
    if (judged.remembered !== null && hook.repeats === 'refuse') {
      deps.bodies.requireRoom(hook.id, { digest: judged.remembered, at: arrived.now })
    }
    deps.rates.take(hook)
    // The run of a paused agent is queued until the owner ends the pause.
    return { ...receiptOf(await take(deps, hook, judged)), duplicate: false }
  })
}

/** Returns the keys by which `takenBefore` recognizes a delivery. Pure. */
function namesOf(hook: Hook, { arrived, digest }: Judged): readonly string[] {
  const { senderId } = arrived.head
  return [
    ...(senderId === null ? [] : [`${hook.id} id ${senderId}`]),
    ...(digest === null || hook.repeats === 'accept' ? [] : [`${hook.id} body ${digest}`]),
  ]
}

/** The digest by which a body is recognized. */
interface SignedBody {
  /** The digest if the signature covers only the body; otherwise null. */
  readonly digest: string | null
  /** The digest if a body-only signature was sent, also next to a stronger signature, which a replay could omit. */
  readonly remembered: string | null
}

function requireSignature(deps: ReceiveHookDeps, hook: Hook, { head, body, now }: Arrived): SignedBody {
  if (hook.secretNumber === null) return { digest: null, remembered: null }
  const verdict = verifySignature(head, body, { secrets: deps.secrets.of(hook, now), nowMs: now })
  if (!verdict.valid) throw new Problem('signature-refused', { detail: verdict.reason })
  const digest = createHash('sha256').update(body).digest('hex')
  if (!verdict.coversId) return { digest, remembered: digest }
  return { digest: null, remembered: head.bodySignature === null ? null : digest }
}

interface Judged extends SignedBody {
  readonly arrived: Arrived
}

type Taken = Pick<DeliveryRow, 'number' | 'state' | 'runId'>

/**
 * Returns the earlier delivery that this one repeats, or null. A signature of the body alone covers
 * no id, so the same body is the same delivery, unless the owner accepts repeated bodies.
 */
function takenBefore(
  { deliveries, bodies }: ReceiveHookDeps,
  hook: Hook,
  { arrived, digest }: Judged,
): Taken | null {
  const { senderId } = arrived.head
  const named = senderId === null ? null : deliveries.bySenderId(hook.id, senderId, digest)
  if (named || digest === null || hook.repeats === 'accept') return named
  const number = bodies.find(hook.id, digest)
  if (number === null) return null
  // The history may have deleted the delivery, because the body memory lasts longer than the history.
  return deliveries.find(hook.id, number) ?? { number, state: 'accepted', runId: null }
}

/** Accepts a delivery. Everything that can be rejected is rejected before the shared commit. */
function take(
  deps: ReceiveHookDeps,
  hook: Hook,
  { arrived, digest, remembered }: Judged,
): Promise<Pick<DeliveryRow, 'state' | 'runId'>> {
  const { head, body, now } = arrived
  const payload = readPayload(body)
  const delivery = {
    way: 'sender',
    senderId: head.senderId,
    digest,
    sizeBytes: body.length,
    replayOf: null,
    payload: payloadText(payload.text),
    at: now,
  } as const
  const reason = whySkipped(hook, payload)
  const keep = (number: number): void => {
    if (remembered === null) return
    deps.bodies.keep(hook.id, { digest: remembered, delivery: number, at: now }, hook.repeats === 'accept')
  }
  return deps.commits.add(() => {
    if (reason === null) {
      const { number, runId } = deps.give(hook, delivery)
      keep(number)
      return { state: 'accepted', runId }
    }
    keep(deps.deliveries.insert({ ...delivery, hookId: hook.id, state: 'skipped', reason }))
    return { state: 'skipped', runId: null }
  })
}

/** Returns why this payload starts no run, or null. Pure. */
export function whySkipped(hook: Pick<Hook, 'when'>, { value }: Pick<Payload, 'value'>): string | null {
  if (hook.when === null || conditionHolds(parseCondition(hook.when), value())) return null
  return `the condition is false: ${hook.when}`
}

function receiptOf(row: Pick<DeliveryRow, 'state' | 'runId'>): Omit<WebhookReceipt, 'duplicate'> {
  return { status: row.state === 'skipped' ? 'skipped' : 'accepted', run_id: row.runId }
}
