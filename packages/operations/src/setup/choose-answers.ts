import type * as z from 'zod'
import type { setupApi } from '@flotilla/protocol/setup-api'
import type { Caller } from '@flotilla/identity/access'
import { recordSetup } from './setup-context.ts'
import type { SetupContext } from './setup-context.ts'

type Requested = z.output<typeof setupApi.setupAnswersSet.request>

/** Returns how much models think and how long their answers may be, for the fleet and for agents with own values. */
export function readAnswers(context: SetupContext, caller: Caller) {
  context.guard(caller, { do: 'manage-credentials' })
  const { answers, agents } = context.settings()
  const own = Object.entries(agents).flatMap(([id, agent]) =>
    agent.answers === undefined ? [] : [[id, agent.answers] as const],
  )
  return { fleet: answers, agents: Object.fromEntries(own) }
}

/** Sets or removes values of one kind of run; omitted ones stay. */
export async function setAnswers(context: SetupContext, caller: Caller, requested: Requested) {
  context.guard(caller, { do: 'manage-credentials' })
  const { agent, kind, thinking, max_output_tokens: outputTokensMax } = requested
  const { fleet, agents } = readAnswers(context, caller)
  const { [kind]: before = {} } = agent === null ? fleet : (agents[agent] ?? {})
  const after = Object.fromEntries(
    Object.entries({
      thinking: thinking === undefined ? before.thinking : thinking,
      max_output_tokens: outputTokensMax === undefined ? before.max_output_tokens : outputTokensMax,
    }).filter(([, value]) => value !== null && value !== undefined),
  )
  const place = agent === null ? ['answers'] : ['agents', agent, 'answers']
  await context.settingsFile.edit([...place, kind], Object.keys(after).length === 0 ? undefined : after)
  recordSetup(context, caller, {
    action: 'answers.set',
    subject: agent ?? 'all agents',
    detail: { kind, ...after },
  })
  return readAnswers(context, caller)
}
