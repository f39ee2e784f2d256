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
/** Runs that are looked through for what waits. */
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
        { words: '@agent text', summary: 'Asks another agent once, and stays with this one' },
        { words: '/quit, /exit', summary: 'Ends the conversation; runs go on' },
      ]
      terminal.print(
        ...usageRows([...rows, ...others], terminal.columns),
        ...wrapWords(
          'What you type while an answer comes is said to the agent at work, as /steer does. Tab completes; text that is pasted keeps its lines.',
          terminal.columns,
        ),
      )
    },
  },
  {
    name: 'use',
    usage: '<agent>',
    summary: 'Talks to another agent from now on',
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
    summary: 'Says something to the agent at work',
    run: async ({ rest, say }) => say(wanted(rest.join(' '), '/steer <text>')),
  },
  {
    name: 'history',
    usage: '[count]',
    summary: 'What was said in this conversation',
    run: async ({ client, terminal, agentId, session, rest }) => {
      const asked = Number(rest[0] ?? historyShown)
      const limit = Number.isInteger(asked) && asked > 0 ? Math.min(asked, historyMessages.max) : historyShown
      const query = { session: session.name(), limit }
      const found = await client.call('chatHistory', { params: { id: agentId }, query })
      terminal.print(...historyLines(found, terminal.color, '/history COUNT'))
    },
  },
  {
    name: 'session',
    usage: '[name]',
    summary: 'Goes to another conversation; alone it lists them',
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
    name: 'queue',
    summary: 'Runs that wait or go on, of all agents',
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
    summary: 'Cancels a run, or something that waits for you',
    run: async ({ run, rest }) => run(['cancel', '--', wanted(rest[0], '/cancel <id>')]),
  },
  {
    name: 'debug',
    usage: '[run]',
    summary: 'How the last answer came about: what the model was told and said, step by step',
    run: async ({ run, rest, lastRun, terminal }) => {
      const id = rest[0] ?? lastRun
      if (id === null) return terminal.print('Nothing was asked yet. /debug <run> looks at an earlier one.')
      return run(['replay', id, '--record'])
    },
  },
]

/** All but `/quit`, which no command can do. */
export const slashCommands: readonly SlashCommand[] = [...talkCommands, ...administrationCommands]
