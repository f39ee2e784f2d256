import type { RunView } from '@flotilla/protocol/run'
import { historyMessages, sessionNameMaxChars } from '@flotilla/protocol/chat-history'
import { runRows, titlesOf } from '../commands/fleet-rows.ts'
import { oneLine } from '../terminal/color.ts'
import { administrationCommands } from './administration-commands.ts'
import { broadcast } from './broadcast.ts'
import { historyLines, resetLine, sessionRows } from './history-lines.ts'
import { usageRows, wrapWords } from './usage-rows.ts'
import { wanted } from './slash-command.ts'
import type { SlashCommand } from './slash-command.ts'

const historyShown = 20
/** Number of runs that are searched for waiting ones. */
const runsListed = 200
const unfinished: readonly RunView['state'][] = ['queued', 'running', 'waiting']

const talkCommands: readonly SlashCommand[] = [
  {
    name: 'help',
    summary: 'This list',
    run: async ({ terminal }) => {
      const rows = slashCommands.map(({ name, usage, summary }) => ({
        words: `/${name}${usage === undefined ? '' : ` ${usage}`}`,
        summary,
      }))
      const others = [
        { words: '@agent text', summary: 'Asks another agent once; the conversation stays with this one' },
        { words: '/quit, /exit', summary: 'Ends the conversation; runs continue' },
      ]
      terminal.print(
        ...usageRows([...rows, ...others], terminal.columns),
        ...wrapWords(
          'Text that you type during an answer is sent to the working agent, like /steer. Tab completes; pasted text keeps its lines.',
          terminal.columns,
        ),
      )
    },
  },
  {
    name: 'use',
    usage: '<agent>',
    summary: 'Switches to another agent',
    takes: 'agent',
    run: async ({ rest, use }) => use(wanted(rest[0], '/use <agent>')),
  },
  {
    name: 'broadcast',
    usage: '<text>',
    summary: 'Asks every worker, or those of the project in use, and shows each answer',
    run: async (call) => broadcast(call, wanted(call.rest.join(' '), '/broadcast <text>')),
  },
  {
    name: 'steer',
    usage: '<text>',
    summary: 'Sends a message to the working agent',
    run: async ({ rest, say }) => say(wanted(rest.join(' '), '/steer <text>')),
  },
  {
    name: 'history',
    usage: '[count]',
    summary: 'Shows the messages of this conversation',
    run: async ({ client, terminal, agentId, session, rest }) => {
      const count = Number(rest[0] ?? historyShown)
      const limit = Number.isInteger(count) && count > 0 ? Math.min(count, historyMessages.max) : historyShown
      const query = { session: session.name(), limit }
      const found = await client.call('chatHistory', { params: { id: agentId }, query })
      terminal.print(...historyLines(found, terminal.color, '/history COUNT'))
    },
  },
  {
    name: 'session',
    usage: '[name]',
    summary: 'Switches to another conversation; without a name, lists them',
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
    summary: 'Archives this conversation and starts a new one',
    run: async ({ client, terminal, agentId, session }) => {
      const body = { session: session.name() }
      terminal.print(resetLine(await client.call('chatReset', { params: { id: agentId }, body })))
    },
  },
  {
    name: 'queue',
    summary: 'Shows waiting and active runs of all agents',
    run: async ({ client, terminal }) => {
      const { runs } = await client.call('runs', { query: { limit: runsListed } })
      const open = runs.filter(({ state }) => unfinished.includes(state))
      if (open.length === 0) return terminal.print('Nothing waits.')
      terminal.print(...runRows(open, await titlesOf(client, { runs: open, limit: runsListed })))
    },
  },
  {
    name: 'cancel',
    usage: '<id>',
    summary: 'Cancels a run, or rejects a pending approval',
    run: async ({ run, rest }) => run(['cancel', '--', wanted(rest[0], '/cancel <id>')]),
  },
  {
    name: 'debug',
    usage: '[run]',
    summary: 'Shows the last answer step by step: the input and output of the model',
    run: async ({ run, rest, lastRun, terminal }) => {
      const id = rest[0] ?? lastRun
      if (id === null) return terminal.print('There is no run yet. /debug <run> shows an earlier one.')
      return run(['replay', id, '--record'])
    },
  },
]

/** All commands except `/quit`, which is handled separately. */
export const slashCommands: readonly SlashCommand[] = [...talkCommands, ...administrationCommands]
