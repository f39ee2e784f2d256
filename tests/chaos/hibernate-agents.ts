import { setTimeout as sleep } from 'node:timers/promises'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { meshCalls } from '../support/mesh-calls.ts'
import type { Chance } from './chance.ts'
import type { Stage } from './stage.ts'
import type { KillCounts } from './kill-repeatedly.ts'
import { workers } from './work-plan.ts'

/** Pause between two requests to hibernate an agent, milliseconds. */
const pauseMs = { least: 500, most: 4000 }
const replyMaxMs = 30_000

/** Hibernates one agent after the other until the signal, as a person would. Agents that are working refuse. */
export async function hibernateAgents(by: {
  readonly stage: Pick<Stage, 'supervisor'>
  readonly chance: Chance
  readonly signal: AbortSignal
  readonly counts: KillCounts
}): Promise<void> {
  const { supervisor } = by.stage
  const { call } = meshCalls(supervisor.url)
  while (!by.signal.aborted) {
    await sleep(by.chance.between(pauseMs.least, pauseMs.most), null, { signal: by.signal }).catch(() => null)
    if (by.signal.aborted) return
    await supervisor.ready()
    const params = { id: by.chance.pick(workers) }
    const asked = call(controlEndpoints.agentHibernate, { params, timeoutMs: replyMaxMs })
    // A mesh that is killed in between does not answer; the checks read the result from the rows.
    const reply = await asked.catch(() => null)
    if (reply && reply.status < 300) by.counts.asleep += 1
  }
}
