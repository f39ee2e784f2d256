import { cronAgentEndpoints, cronLimits } from '@flotilla/protocol/cron-api'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { flag, jsonObject, optional, text } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

/** Timeout of `set_cron` in ms: for a tool of another agent, the mesh may have to start that agent first. */
const setTimeoutMs = 90_000

/** Cron tools: the mesh stores the jobs and starts a run of this agent when one is due. */
export function cronTools(): Tool[] {
  return [
    defineTool({
      name: 'set_cron',
      description:
        'Creates a scheduled job that starts a run of yours, or changes one by job_id. Give a message that you will receive, or a tool_name with tool_params that is called without a model. Each run is a new conversation, so write into the message everything that you will need to know. Needs can_manage_cron.',
      parameters: {
        schedule: optional(
          text(
            'Five fields (minute hour day-of-month month day-of-week), as in 0 9 * * MON-FRI, or every 30s, every 15m, every 2h, every 1d',
            { minChars: 1, maxChars: cronLimits.scheduleMaxChars },
          ),
        ),
        message: optional(
          text('The message that you receive when the job is due', {
            minChars: 1,
            maxChars: wireLimits.chatMessageMaxChars,
          }),
        ),
        tool_name: optional(text('One of your tools to call instead', { minChars: 1, maxChars: 128 })),
        tool_params: optional(jsonObject('Its parameters')),
        timezone: optional(
          text('Name of a time zone such as Europe/Berlin; UTC if left out', { maxChars: 64 }),
        ),
        when: optional(
          text('A condition on the due time, such as now.weekend == false', {
            maxChars: cronLimits.whenMaxChars,
          }),
        ),
        enabled: optional(flag('false: the job is kept but does not run')),
        suppress_empty: optional(flag('Answers that say nothing new are not delivered')),
        heartbeat: optional(flag('Your heartbeat instead of a message or tool')),
        agent_id: optional(text('Another agent, if you may edit it', { maxChars: 64 })),
        job_id: optional(text('Changes this job instead of creating one', { maxChars: 64 })),
      },
      effect: 'mesh',
      timeoutMs: setTimeoutMs,
      run: async (values, { mesh, signal, idempotencyKey }) => {
        const { job_id: jobId, agent_id: agent, ...rest } = values
        const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
        if (jobId !== undefined) {
          const endpoint = cronAgentEndpoints.cronChange
          return succeeded(
            await mesh.call({ endpoint, params: { id: jobId }, body: given, signal, idempotencyKey }),
          )
        }
        if (rest.schedule === undefined)
          throw new Problem('bad-request', { detail: '`schedule`: a new job needs one, such as every 1h.' })
        const body = { ...given, ...(agent === undefined ? {} : { agent }) }
        return succeeded(
          await mesh.call({ endpoint: cronAgentEndpoints.cronSet, body, signal, idempotencyKey }),
        )
      },
    }),
    defineTool({
      name: 'list_cron',
      description:
        'Lists the jobs that run you or that you created: schedule, next time, outcomes of the last runs.',
      parameters: {},
      effect: 'none',
      timeoutMs: meshToolTimeoutMs,
      run: async (_values, { mesh, signal }) =>
        succeeded(await mesh.call({ endpoint: cronAgentEndpoints.cronList, signal })),
    }),
    defineTool({
      name: 'remove_cron',
      description: 'Removes a job that you created. Needs can_manage_cron.',
      parameters: { job_id: text('Id of the job', { minChars: 1, maxChars: 64 }) },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async ({ job_id: id }, { mesh, signal, idempotencyKey }) =>
        succeeded(
          await mesh.call({
            endpoint: cronAgentEndpoints.cronDrop,
            params: { id },
            signal,
            idempotencyKey,
          }),
        ),
    }),
  ]
}
