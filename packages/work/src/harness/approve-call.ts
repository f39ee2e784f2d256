import { harnessCallKinds, harnessCallName } from '@flotilla/protocol/harness-api'
import { quoted } from '@flotilla/protocol/shown-text'
import type { CheckEffect } from '@flotilla/identity/policy'
import * as z from 'zod'
import type { ApprovalKind } from '../approvals/index.ts'
import { harnessEffect } from './harness-effect.ts'

const argsSchema = z.strictObject({
  agent_id: z.string(),
  run_id: z.string(),
  tool: z.enum(harnessCallKinds.map(harnessCallName)),
  /** What the harness says about the call, and its input as JSON; both may be cut. */
  subject: z.string(),
  input: z.string(),
  // Approvals of an earlier release have none of these three.
  is_cut: z.boolean().default(false),
  sha256: z.string().default(''),
  /** False if the harness named no kind: `tool` is the one about which the policy decides most strictly. */
  names_kind: z.boolean().default(true),
  rule: z.string(),
  because: z.string(),
})

/** How much of the title of a call the one-line summary shows, in characters. */
const titleMaxChars = 200

/**
 * The kind of approval of a call that a harness asks for. Nothing is carried out in the mesh: the approved call is made by
 * the harness, which asks again and is allowed.
 */
export function createHarnessApprovalKind(deps: {
  readonly checkEffect: Pick<CheckEffect, 'again'>
  /** Called in the transaction that decides an approval finally. */
  readonly settled: (agentId: string) => void
}): ApprovalKind {
  return {
    action: (args) => ({ do: 'act-for-self', agentId: argsSchema.parse(args).agent_id }),
    describe: (args) => {
      const call = argsSchema.parse(args)
      const { agent_id: agentId, tool, subject, input, rule, because } = call
      const words = subject === '' ? 'a call without a title' : quoted(subject, titleMaxChars)
      const kind = call.names_kind
        ? `of the kind ${tool}`
        : `whose kind the harness does not name, decided as ${tool}`
      return {
        subject: agentId,
        summary: `let the harness of ${agentId} make a call ${kind}: ${words}`,
        consequences: [
          `The harness of ${agentId} makes the call in its container. Equal calls of the same run are not asked about again.`,
          `The harness calls it: ${quoted(subject)}`,
          ...(input === '' ? [] : [`Input, as the harness states it: ${quoted(input)}`]),
          ...(call.is_cut
            ? [
                `The harness states more than is shown here. Your answer holds for all of it, which has the SHA-256 ${call.sha256}.`,
              ]
            : []),
          `The rule ${rule} of config/policy.yaml asks: ${because}`,
        ],
        price: 'The call itself uses no model.',
      }
    },
    carryOut: async (_person, args) => {
      const { agent_id: agentId, run_id: runId, ...call } = argsSchema.parse(args)
      deps.checkEffect.again({ agentId, runId }, harnessEffect(call))
      return 'A person allowed the call. It is allowed for this run: make it now if it was refused before.'
    },
    ifCutOff: 'again',
    wasDone: () => null,
    policyEffect: (args) => {
      const { rule, ...call } = argsSchema.parse(args)
      return { details: harnessEffect(call), rule }
    },
    settled: (args) => deps.settled(argsSchema.parse(args).agent_id),
  }
}
