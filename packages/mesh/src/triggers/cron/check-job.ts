import { isDeepStrictEqual } from 'node:util'
import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import type { Problem } from '@flotilla/protocol/problem'
import { badField, checkToolCall } from './check-tool.ts'
import type { CronDeps } from './cron-deps.ts'
import { cronJobSchema, faultsOf } from './cron-job.ts'
import type { CronJob, ReadCondition } from './cron-job.ts'
import { isOperatorHeartbeat, lockFault } from './operator-heartbeat.ts'

/** The job as the file takes it, or the Problem `bad-request` with the field. Starts its agent where a new tool is called. */
export async function checkJob(
  deps: { readonly agents: Pick<CronDeps['agents'], 'toolsOf'>; readonly readCondition: ReadCondition },
  {
    job,
    before,
    signal,
  }: { readonly job: CronJob; readonly before: CronJob | null; readonly signal: AbortSignal },
): Promise<CronJob> {
  const fault = faultsOf(job)[0]
  if (fault) throw badField(fault.field, fault.reason)
  refuseLocked(job, before)
  if (job.when !== undefined) checkCondition(deps.readCondition, job.when)
  // What was checked already is not asked for again: an agent that just started knows its skills only with its first run.
  const isNewCall =
    job.tool_name !== before?.tool_name || !isDeepStrictEqual(job.tool_params, before?.tool_params)
  if (job.tool_name !== undefined && isNewCall) {
    const tools = await deps.agents.toolsOf(job.agent, signal)
    checkToolCall(tools, { tool: job.tool_name, params: job.tool_params ?? {}, agentId: job.agent })
  }
  const parsed = cronJobSchema.safeParse(job)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw badField(issue?.path.join('.') ?? 'job', issue?.message ?? 'it is not of the agreed form')
}

/** What is said of the operator's heartbeat changes nothing of it, or is refused. Problem `bad-request`. */
function refuseLocked(job: CronJob, before: CronJob | null): void {
  if (!isOperatorHeartbeat(job)) return
  const fault = lockFault([job], { held: before, required: true })
  if (fault) throw badField(fault.field, fault.reason)
}

export function lockedHeartbeat(field: string, detail: string): Problem {
  return badField(
    field,
    `the operator's heartbeat is locked to ${defaultHeartbeatSchedule}: ${detail}; flotilla pause operator holds it`,
  )
}

function checkCondition(readCondition: ReadCondition, when: string): void {
  try {
    readCondition(when)
  } catch (error) {
    throw badField('when', error instanceof Error ? error.message : 'it cannot be understood')
  }
}
