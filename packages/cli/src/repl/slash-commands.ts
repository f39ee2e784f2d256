import type { MeshClient } from '@flotilla/client/mesh-client'
import { historyMessages, sessionNameMaxChars } from '@flotilla/protocol/chat-history'
import { agentRows, runRows } from '../commands/fleet-rows.ts'
import { oneLine } from '../terminal/color.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { historyLines, resetLine, sessionRows } from './history-lines.ts'

export interface SlashCall {
  readonly client: MeshClient
  readonly terminal: Terminal
  readonly agentId: string
  /** The conversation at the prompt. */
  readonly session: { readonly name: () => string; readonly change: (name: string) => void }
  readonly rest: readonly string[]
  /** Says something to what the agent works on. */
  readonly say: (text: string) => Promise<void>
}

/** A command at the prompt of a conversation. */
export interface SlashCommand {
  readonly name: string
  readonly summary: string
  readonly run: (call: SlashCall) => Promise<void>
}

const runsShown = 10
const historyShown = 20
const cronUsage = 'Which? /cron list, /cron run <job>, /cron why <job>'

export const slashCommands: readonly SlashCommand[] = [
  {
    name: 'help',
    summary: 'This list',
    run: async ({ terminal }) => {
      terminal.print(
        ...slashCommands.map((command) => `/${command.name.padEnd(10)} ${command.summary}`),
        '/quit       Ends the conversation; runs go on',
        'What you type while an answer comes is said to the agent at work, as /steer does.',
      )
    },
  },
  {
    name: 'status',
    summary: 'Whether the mesh can run agents, and what they do',
    run: async ({ client, terminal }) => {
      const status = await client.call('status')
      terminal.print(
        status.ready.ready ? 'The mesh is ready.' : 'The mesh cannot run agents:',
        ...status.ready.problems.map((problem) => `  ${problem.id}: ${problem.detail}`),
        ...agentRows(status.agents),
      )
    },
  },
  {
    name: 'agents',
    summary: 'The agents of the fleet',
    run: async ({ client, terminal }) => {
      const status = await client.call('status')
      terminal.print(...status.agents.map((agent) => `${agent.id}: ${agent.role} (${agent.model})`))
    },
  },
  {
    name: 'runs',
    summary: 'The last runs',
    run: async ({ client, terminal }) => {
      const { runs } = await client.call('runs', { query: { limit: runsShown } })
      terminal.print(...runRows(runs))
    },
  },
  {
    name: 'cron',
    summary: 'Jobs by the clock: /cron list, /cron run <job>, /cron why <job>',
    run: async ({ client, terminal, rest }) => {
      const [verb = 'list', id = ''] = rest
      if (verb === 'list') {
        const { jobs } = await client.call('cronJobs', { query: {} })
        return terminal.print(
          ...jobs.map((job) => `${job.id}: ${job.agent}, ${job.schedule}, fired ${job.run_count} times`),
          ...(jobs.length === 0 ? ['No jobs yet.'] : []),
        )
      }
      if (id === '') return terminal.print(cronUsage)
      const params = { id }
      if (verb === 'run') return terminal.print((await client.call('cronRun', { params })).words)
      if (verb === 'why') return terminal.print(...(await client.call('cronHistory', { params })).why)
      return terminal.print(cronUsage)
    },
  },
  {
    name: 'steer',
    summary: 'Says something to the agent at work: /steer <text>',
    run: async ({ terminal, rest, say }) => {
      if (rest.length === 0) return terminal.print('Say what? /steer <text>')
      return say(rest.join(' '))
    },
  },
  {
    name: 'history',
    summary: 'What was said in this conversation: /history [count]',
    run: async ({ client, terminal, agentId, session, rest }) => {
      const asked = Number(rest[0] ?? historyShown)
      const limit = Number.isInteger(asked) && asked > 0 ? Math.min(asked, historyMessages.max) : historyShown
      const query = { session: session.name(), limit }
      const found = await client.call('chatHistory', { params: { id: agentId }, query })
      terminal.print(...historyLines(found, terminal.color))
    },
  },
  {
    name: 'session',
    summary: 'Goes to another conversation: /session <name>; alone it lists them',
    run: async ({ client, terminal, agentId, session, rest }) => {
      const name = rest.join(' ')
      if (name !== '') {
        session.change(name.slice(0, sessionNameMaxChars))
        return terminal.print(`In the conversation ${oneLine(session.name(), sessionNameMaxChars)}.`)
      }
      const found = await client.call('chatSessions', { params: { id: agentId } })
      terminal.print(
        `In the conversation ${oneLine(session.name(), sessionNameMaxChars)}.`,
        ...sessionRows(found),
      )
    },
  },
  {
    name: 'reset',
    summary: 'Archives this conversation and begins it anew',
    run: async ({ client, terminal, agentId, session }) => {
      const body = { session: session.name() }
      terminal.print(resetLine(await client.call('chatReset', { params: { id: agentId }, body })))
    },
  },
  {
    name: 'cancel',
    summary: 'Cancels a run: /cancel <run>',
    run: async ({ client, terminal, rest }) => {
      const id = rest[0]
      if (id === undefined) return terminal.print('Which run? /runs lists them.')
      const run = await client.call('runCancel', { params: { id } })
      terminal.print(`${run.id} is ${run.state}`)
    },
  },
]
