import type { CronAgentUseCases } from '../triggers/cron/agent.routes.ts'
import type { CronHumanUseCases } from '../triggers/cron/people.routes.ts'
import { conditionHolds } from '../triggers/conditions/condition.ts'
import { parseCondition } from '../triggers/conditions/parse-condition.ts'
import type { Fleet } from '../agents/fleet.ts'
import type { Notes } from '../collaboration/notes/notes.ts'
import { answering } from '../storage/resumable.ts'
import { createCron } from '../triggers/cron/cron.ts'
import type { Cron } from '../triggers/cron/cron.ts'
import type { CronWorld } from '../triggers/cron/cron-world.ts'

/** A start of its agent and one answer; who makes a job waits for it. */
const toolsDeadlineMs = 60_000

type Given = Omit<CronWorld, 'requireAgent' | 'toolsOf' | 'readCondition' | 'note'>

/** Jobs by the clock. */
export function composeCron(
  parts: Given & {
    readonly fleet: Fleet
    readonly notes: Notes
  },
): Promise<Cron> {
  const { fleet, notes } = parts
  return createCron({
    ...parts,
    requireAgent: fleet.requireWorking,
    toolsOf: async (agentId, signal) => {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(toolsDeadlineMs)])
      return (await fleet.reach(agentId, bounded)).tools(bounded)
    },
    readCondition: (text) => {
      const condition = parseCondition(text)
      return (payload) => conditionHolds(condition, payload)
    },
    note: (agentId, message, idempotencyKey) =>
      void notes.notifyOwner(
        { kind: 'agent', agentId, token: 'door', run: null },
        { message, idempotencyKey },
      ),
  })
}

/** Jobs in the words of the people's door. */
export function cronHumanUseCases({ cron }: { readonly cron: Cron }): CronHumanUseCases {
  return {
    list: cron.list,
    create: cron.create,
    update: cron.update,
    remove: async (caller, id) => {
      await cron.remove(caller, id)
      return { removed: true, id }
    },
    run: cron.runNow,
    history: cron.history,
  }
}

/** Jobs in the words of the agent door. */
export function cronAgentUseCases({ cron }: { readonly cron: Cron }): CronAgentUseCases {
  return {
    list: (caller) => cron.list(caller),
    set: (caller, { agent, ...job }, { signal, step }) =>
      cron.create(caller, { ...job, agent: agent ?? caller.agentId, step }, signal),
    change: (caller, input, { signal, step }) => cron.update(caller, { ...input, step }, signal),
    drop: async (caller, id, step) => {
      const removed = () => ({ removed: true, id })
      await cron.remove(caller, id, answering(step, removed))
      return removed()
    },
  }
}
