import { harnessCallKinds, harnessCallName } from '@flotilla/protocol/harness-api'
import type { CheckEffect } from '@flotilla/identity/policy'
import * as z from 'zod'
import type { ApprovalKind } from '../approvals/index.ts'

const argsSchema = z.strictObject({
  agent_id: z.string(),
  run_id: z.string(),
  tool: z.enum(harnessCallKinds.map(harnessCallName)),
  /** What the harness says about the call, and its input as JSON, cut. */
  subject: z.string(),
  input: z.string(),
  rule: z.string(),
  because: z.string(),
})

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
      const { agent_id: agentId, tool, subject, input, rule, because } = argsSchema.parse(args)
      const words = subject === '' ? 'a call without a title' : subject
      return {
        subject: agentId,
        summary: `let the harness of ${agentId} make a call of the kind ${tool}: ${words}`,
        consequences: [
          `The harness of ${agentId} makes the call in its container. Equal calls of the same run are not asked about again.`,
          `The harness calls it: ${JSON.stringify(subject)}`,
          ...(input === '' ? [] : [`Input, as the harness states it: ${input}`]),
          `The rule ${rule} of config/policy.yaml asks: ${because}`,
        ],
        price: 'The call itself uses no model.',
      }
    },
    carryOut: async (_person, args) => {
      const { agent_id: agentId, run_id: runId, tool } = argsSchema.parse(args)
      deps.checkEffect.again({ agentId, runId }, { tool })
      return 'A person allowed the call. It is allowed for this run: make it now if it was refused before.'
    },
    ifCutOff: 'again',
    wasDone: () => null,
    policyEffect: (args) => {
      const { tool, rule } = argsSchema.parse(args)
      return { details: { tool }, rule }
    },
    settled: (args) => deps.settled(argsSchema.parse(args).agent_id),
  }
}
