import { createHash } from 'node:crypto'
import * as z from 'zod/mini'
import {
  harnessEndpoints,
  harnessInputMaxChars,
  harnessSubjectMaxChars,
} from '@flotilla/protocol/harness-api'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { cleanAndCut } from '../tools/cut-middle.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { contentText, readRequestedCall } from './read-update.ts'
import { hasContent, joinStated } from './stated-call.ts'
import type { StatedCall } from './stated-call.ts'

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
    statedOf,
    signal,
    onWait,
  }: {
    readonly mesh: RunMesh
    readonly sessionId: string
    /** Returns what the harness stated about the call before; a request leaves out what did not change. */
    readonly statedOf: (callId: string) => StatedCall | null
    readonly signal: AbortSignal
    readonly onWait: () => void
  },
): Promise<Outcome> {
  const parsed = requestSchema.safeParse(params)
  const call = parsed.success ? readRequestedCall(parsed.data.toolCall) : null
  if (!parsed.success || parsed.data.sessionId !== sessionId || call === null) return cancelled
  const reported = statedOf(call.callId)
  const body = questionOf(reported === null ? call.stated : joinStated(reported, call.stated))
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

/**
 * Returns the question to the mesh. A person sees the harness's own record of the input, or else what the call would
 * change; calls are compared by the digest of everything that the harness states. Pure.
 */
function questionOf({ tool, title, paths, input, content }: StatedCall) {
  const subject = [title ?? '', ...paths].join(' ').trim()
  const text = hasContent(input) ? JSON.stringify(input) : contentText(content)
  const shown = {
    subject: cleanAndCut(subject, harnessSubjectMaxChars),
    input: cleanAndCut(text, harnessInputMaxChars),
  }
  const stated = JSON.stringify([title, paths, input ?? null, content ?? null])
  return {
    kind: tool,
    ...shown,
    is_cut: shown.subject !== subject || shown.input !== text,
    sha256: createHash('sha256').update(stated).digest('hex'),
  }
}
