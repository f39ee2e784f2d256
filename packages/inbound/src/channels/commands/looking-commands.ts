import { oneLine } from '@flotilla/protocol/one-line'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { Action } from '@flotilla/identity/access'
import type { ChannelCommand } from './channel-command.ts'
import { agentButtons, agentHere, namedAgent, noAgentWords } from './find-agent.ts'
import { whereDecided } from './where-else.ts'

/** The maximum length of one row in a reply. */
const lineMaxChars = 200

/** The maximum number of rows in a reply. Further rows are only counted. */
const rowsMax = 30

const viewFleet = (): readonly Action[] => [{ do: 'view-fleet' }]

export const use: ChannelCommand = {
  name: 'use',
  usage: '[agent]',
  help: 'choose the agent that you talk to here; without a name, list the choices',
  role: 'member',
  when: 'at-once',
  asks: (deps, call) =>
    call.argument === ''
      ? []
      : [{ do: 'submit-run', to: namedAgent(deps, call, call.argument.replace(/^@/, '')) }],
  run: (deps, call) => {
    if (call.argument === '') {
      const here = agentHere(deps, call)
      const buttons = agentButtons(deps, call)
      const now = here === null ? 'You have not chosen an agent here.' : `You talk to ${here} here.`
      if (!call.message.place.isPrivate && buttons.length > 0)
        return { text: `${now} Choose with /use and a name; /agents lists them in a direct conversation.` }
      const names = buttons.map(({ label }) => label).join(', ')
      if (names === '') return { text: `${now} ${noAgentWords}` }
      return { text: `${now} Choose with /use and a name: ${names}`, buttons }
    }
    const agentId = namedAgent(deps, call, call.argument.replace(/^@/, ''))
    deps.talks.choose({ channel: call.channel, person: call.person, place: call.message.place }, agentId)
    return { text: `You talk to ${agentId} here now.` }
  },
}

export const agents: ChannelCommand = {
  name: 'agents',
  usage: '',
  help: 'list the agents and their roles',
  answersAlone: true,
  role: 'viewer',
  when: 'at-once',
  asks: viewFleet,
  run: (deps, call) => {
    const all = deps.agents().filter(({ archived }) => !archived)
    const rows = all
      .slice(0, rowsMax)
      .map((agent) => `- ${agent.id}: ${oneLine(agent.role, lineMaxChars)} (${doing(agent)})`)
    return { text: [...rows, ...rest(all.length)].join('\n'), buttons: agentButtons(deps, call) }
  },
}

export const status: ChannelCommand = {
  name: 'status',
  usage: '[agent]',
  help: 'show the state of the fleet or of one agent',
  answersAlone: true,
  role: 'viewer',
  when: 'at-once',
  asks: viewFleet,
  run: (deps, call) => {
    const all = deps.agents().filter(({ archived }) => !archived)
    if (call.argument !== '') {
      const agentId = namedAgent(deps, call, call.argument.replace(/^@/, ''))
      const agent = all.find(({ id }) => id === agentId)
      return { text: agent ? agentText(agent) : `${agentId} is archived.` }
    }
    const busy = all.filter((agent) => agent.busy).length
    const queued = all.reduce((sum, agent) => sum + agent.queued, 0)
    const troubled = all.filter((agent) => agent.last_error !== null)
    const own = deps.places.openOf(call.channel, call.person).length
    return {
      text: [
        `${all.length} agents, ${busy} working, ${queued} messages waiting; ${own} of yours not answered yet.`,
        ...troubled
          .slice(0, rowsMax)
          .map((agent) => `- ${agent.id}: ${oneLine(agent.last_error ?? '', lineMaxChars)}`),
      ].join('\n'),
    }
  },
}

export const costs: ChannelCommand = {
  name: 'costs',
  usage: '',
  help: 'show the cost of today and of the last 30 days',
  answersAlone: true,
  role: 'viewer',
  when: 'at-once',
  asks: viewFleet,
  run: (deps, call) => {
    const today = deps.report(call.caller, { by: 'agent', days: 1 })
    const month = deps.report(call.caller, { by: 'agent', days: 30 })
    const rows = today.rows.slice(0, rowsMax).map(({ key, usd }) => `- ${key}: ${dollars(usd)}`)
    return {
      text: [
        `Today ${dollars(today.total.usd)}, in 30 days ${dollars(month.total.usd)}.`,
        ...rows,
        ...rest(today.rows.length),
      ].join('\n'),
    }
  },
}

export const pending: ChannelCommand = {
  name: 'pending',
  usage: '',
  help: 'list the open approvals and where to decide them',
  answersAlone: true,
  role: 'owner',
  when: 'at-once',
  run: (deps, call) => {
    const waiting = deps.approvals.list(call.caller, { open: true, limit: rowsMax })
    if (waiting.length === 0) return { text: 'There are no open approvals.' }
    const rows = waiting.map(
      ({ id, summary, state }) =>
        `- ${id}${state === 'confirmed' ? ' (approved, in progress)' : ''}: ${oneLine(summary, lineMaxChars)}`,
    )
    const mayDecide = waiting.some(({ state }) => state === 'pending')
    return { text: [...rows, ...(mayDecide ? [whereDecided] : [])].join('\n') }
  },
}

function agentText(agent: AgentView): string {
  const {
    id,
    role,
    model,
    queued,
    cost_today_usd: cost,
    paused,
    last_error: trouble,
    waits_for: waits,
  } = agent
  return [
    `${id}: ${oneLine(role, lineMaxChars)}`,
    `${doing(agent)}; ${queued} waiting; ${dollars(cost)} today; ${model}`,
    ...(paused === null ? [] : [`Held: ${oneLine(paused, lineMaxChars)}`]),
    ...(waits === null ? [] : [oneLine(waits, lineMaxChars)]),
    ...(trouble === null ? [] : [`Trouble: ${oneLine(trouble, lineMaxChars)}`]),
  ].join('\n')
}

function doing({ state, busy, queued }: AgentView): string {
  return busy ? `at work${queued > 0 ? `, ${queued} waiting` : ''}` : state
}

function rest(all: number): readonly string[] {
  return all > rowsMax ? [`and ${all - rowsMax} more`] : []
}

function dollars(usd: number): string {
  return `USD ${usd.toFixed(usd !== 0 && usd < 0.01 ? 4 : 2)}`
}
