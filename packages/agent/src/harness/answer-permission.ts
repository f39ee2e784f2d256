import * as z from 'zod/mini'
import {
  harnessEndpoints,
  harnessInputMaxChars,
  harnessSubjectMaxChars,
} from '@flotilla/protocol/harness-api'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { cleanAndCut } from '../tools/cut-middle.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { readRequestedCall } from './read-update.ts'
import type { CallReport } from './read-update.ts'

/** Choices of a request that are read. */
const optionsMax = 20

const requestSchema = z.looseObject({
  sessionId: z.string(),
  toolCall: z.unknown(),
  options: z.array(z.looseObject({ optionId: z.string(), kind: z.string() })),
})

type Outcome = { readonly outcome: 'cancelled' } | { readonly outcome: 'selected'; readonly optionId: string }

const cancelled: Outcome = { outcome: 'cancelled' }

/**
 * Answers a harness that asks whether it may make a call: the mesh decides, by the owner's policy, and records it. While
 * a person is asked, the request stays open and `onWait` is called. A choice for all later calls is never taken if one
 * for this call exists, so that the mesh decides each of them. Rejects only with the signal's reason; a mesh that does
 * not answer permits nothing.
 */
export async function answerPermission(
  params: unknown,
  {
    mesh,
    sessionId,
    signal,
    onWait,
  }: {
    readonly mesh: RunMesh
    readonly sessionId: string
    readonly signal: AbortSignal
    readonly onWait: () => void
  },
): Promise<Outcome> {
  const parsed = requestSchema.safeParse(params)
  const call = parsed.success ? readRequestedCall(parsed.data.toolCall) : null
  if (!parsed.success || parsed.data.sessionId !== sessionId || call === null) return cancelled
  const body = {
    kind: call.tool ?? 'other',
    subject: cleanAndCut([call.title ?? '', ...call.paths].join(' ').trim(), harnessSubjectMaxChars),
    input: cleanAndCut(inputText(call), harnessInputMaxChars),
  }
  let answer = unanswered
  do {
    answer = await mesh
      .call({ endpoint: harnessEndpoints.permit, body, signal })
      .then(readAnswer, () => unanswered)
    signal.throwIfAborted()
    onWait()
  } while (answer.waits)
  const kinds = answer.allowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  const options = parsed.data.options.slice(0, optionsMax)
  const chosen = kinds.flatMap((kind) => options.find((option) => option.kind === kind) ?? [])[0]
  return chosen === undefined ? cancelled : { outcome: 'selected', optionId: chosen.optionId }
}

const unanswered = { allowed: false, waits: false }

function readAnswer(reply: unknown): typeof unanswered {
  const { allowed, waits } = isJsonObject(reply) ? reply : unanswered
  return { allowed: allowed === true, waits: waits === true }
}

/** What the harness says about the input: its own record, or else what the call would change. */
function inputText({ input, output }: CallReport): string {
  return input === undefined || input === null ? output : JSON.stringify(input)
}
