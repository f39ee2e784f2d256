import { isDeepStrictEqual } from 'node:util'
import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import type { Problem } from '@flotilla/protocol/problem'
import { badField, checkToolCall } from './check-tool.ts'
import type { CronDeps } from './cron-deps.ts'
import { cronJobSchema, faultsOf } from './cron-job.ts'
import type { CronJob, ReadCondition } from './cron-job.ts'
import { isOperatorHeartbeat, lockFault } from './operator-heartbeat.ts'

/**
 * Validates a job and returns it in the form of the file. Throws the Problem `bad-request` with the field. Starts the
 * agent if the job calls a new tool.
 */
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
  // An unchanged tool call is not checked again: an agent knows the tools of its skills only after
  // its first run since it started.
  const isNewCall =
    job.tool_name !== before?.tool_name || !isDeepStrictEqual(job.tool_params, before?.tool_params)
  if (job.tool_name !== undefined && isNewCall) {
    const tools = await deps.agents.toolsOf(job.agent, signal)
    checkToolCall(tools, { tool: job.tool_name, params: job.tool_params ?? {}, agentId: job.agent })
  }
  const parsed = cronJobSchema.safeParse(job)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw badField(issue?.path.join('.') ?? 'job', issue?.message ?? 'the job does not have the expected form')
}

/** Throws Problem `bad-request` for a change of the operator's heartbeat that is not allowed. */
function refuseLocked(job: CronJob, before: CronJob | null): void {
  if (!isOperatorHeartbeat(job)) return
  const fault = lockFault([job], { held: before, required: true })
  if (fault) throw badField(fault.field, fault.reason)
}

export function lockedHeartbeat(field: string, detail: string): Problem {
  return badField(
    field,
    `the heartbeat of the operator always runs ${defaultHeartbeatSchedule}: ${detail}; to hold it use flotilla pause operator`,
  )
}

function checkCondition(readCondition: ReadCondition, when: string): void {
  try {
    readCondition(when)
  } catch (error) {
    throw badField('when', error instanceof Error ? error.message : 'it cannot be parsed')
  }
}
