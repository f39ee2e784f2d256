import * as z from 'zod/mini'
import { harnessEndpoints, harnessSubjectMaxChars } from '@flotilla/protocol/harness-api'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { cleanAndCut } from '../tools/cut-middle.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { readRequestedCall } from './read-update.ts'

/** Choices of a request that are read. */
const optionsMax = 20
const askTimeoutMs = 15_000

const requestSchema = z.looseObject({
  sessionId: z.string(),
  toolCall: z.unknown(),
  options: z.array(z.looseObject({ optionId: z.string(), kind: z.string() })),
})

type Outcome = { readonly outcome: 'cancelled' } | { readonly outcome: 'selected'; readonly optionId: string }

const cancelled: Outcome = { outcome: 'cancelled' }

/**
 * Answers a harness that asks whether it may make a call: the mesh decides, by the owner's policy, and records it. A
 * choice for all later calls is never taken if one for this call exists, so that the mesh decides each of them.
 * Rejects only with the signal's reason; a mesh that does not answer permits nothing.
 */
export async function answerPermission(
  params: unknown,
  {
    mesh,
    sessionId,
    signal,
  }: { readonly mesh: RunMesh; readonly sessionId: string; readonly signal: AbortSignal },
): Promise<Outcome> {
  const parsed = requestSchema.safeParse(params)
  const call = parsed.success ? readRequestedCall(parsed.data.toolCall) : null
  if (!parsed.success || parsed.data.sessionId !== sessionId || call === null) return cancelled
  const subject = cleanAndCut([call.title ?? '', ...call.paths].join(' ').trim(), harnessSubjectMaxChars)
  const isAllowed = await mesh
    .call({
      endpoint: harnessEndpoints.permit,
      body: { kind: call.tool ?? 'other', subject },
      timeoutMs: askTimeoutMs,
      waitForMesh: false,
      signal,
    })
    .then(
      (reply) => isJsonObject(reply) && reply['allowed'] === true,
      () => false,
    )
  signal.throwIfAborted()
  const kinds = isAllowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  const options = parsed.data.options.slice(0, optionsMax)
  const chosen = kinds.flatMap((kind) => options.find((option) => option.kind === kind) ?? [])[0]
  return chosen === undefined ? cancelled : { outcome: 'selected', optionId: chosen.optionId }
}
