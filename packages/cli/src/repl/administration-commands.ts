import { oneLine, printable } from '../terminal/color.ts'
import { wanted } from './slash-command.ts'
import type { SlashCall, SlashCommand } from './slash-command.ts'

const runsShown = 10
const logLinesShown = 20
const nameColumnsMax = 64

/** The command line for each verb of a command; `{}` is replaced by the following words. */
type Verbs = Readonly<Record<string, (rest: readonly string[]) => readonly string[]>>

/** A command whose verbs run command lines; without a verb it runs the first of them. */
function verbCommand(command: {
  readonly name: string
  readonly summary: string
  readonly usage: string
  readonly verbs: Verbs
}): SlashCommand {
  const { verbs, ...rest } = command
  const [usual = ''] = Object.keys(verbs)
  return {
    ...rest,
    verbs: Object.keys(verbs),
    run: async (call) => {
      const [verb = usual, ...words] = call.rest
      const lineOf = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
      const isWhole = words.length >= operandsOf(command.usage, verb)
      return call.run(
        (isWhole ? lineOf?.(words) : undefined) ?? [wanted(undefined, `/${command.name} ${command.usage}`)],
      )
    },
  }
}

/** How many words a verb requires: those that its usage has in angle brackets. Pure. */
function operandsOf(usage: string, verb: string): number {
  const own = usage.split(' | ').find((one) => one === verb || one.startsWith(`${verb} `)) ?? ''
  return own.match(/<[^>]+>/g)?.length ?? 0
}

const costGroups = ['agent', 'model', 'project', 'day']

/** Administrative commands of owners: command lines that can be typed at the prompt. */
export const administrationCommands: readonly SlashCommand[] = [
  { name: 'status', summary: 'Shows the mesh and its agents', run: plain('status') },
  { name: 'agents', summary: 'The agents of the fleet', run: plain('agents') },
  {
    name: 'agent',
    usage: '[agent]',
    summary: 'Shows one agent: role, model, work',
    takes: 'agent',
    run: async ({ run, rest, agentId }) => run(['agents', rest[0] ?? agentId]),
  },
  {
    name: 'add',
    usage: '<agent> <role>',
    summary: 'Creates a worker',
    run: async ({ run, rest: [id, ...role] }) => {
      const usage = '/add <agent> <role>'
      return run(['agent', 'add', wanted(id, usage), '--role', wanted(role.join(' '), usage)])
    },
  },
  {
    name: 'edit',
    usage: '<agent> <field> <value>',
    summary: 'Changes the role, model or a file of an agent; can be undone',
    takes: 'agent',
    run: async ({ run, rest: [id, field, ...value] }) => {
      const usage = '/edit <agent> <field> <value>'
      return run(['edit', '--', wanted(id, usage), wanted(field, usage), wanted(value.join(' '), usage)])
    },
  },
  {
    name: 'remove',
    usage: '<agent>',
    summary: 'Deletes an agent and its data, after you type its name again',
    takes: 'agent',
    run: async ({ run, rest, ask, terminal, requireAgent }) => {
      const id = wanted(rest[0], '/remove <agent>')
      // The name is checked before the person has to type it.
      await requireAgent(id)
      const typed = await ask(
        `Delete ${oneLine(id, nameColumnsMax)} and its data permanently? Type its name: `,
        false,
      )
      if (typed.trim() !== id) return terminal.print('Nothing was changed.')
      return run(['delete', '--yes', '--', id])
    },
  },
  {
    name: 'restart',
    usage: '[agent]',
    summary: 'Recreates the container of an agent',
    takes: 'agent',
    run: async ({ run, rest, agentId, requireAgent }) => {
      const id = rest[0] ?? agentId
      await requireAgent(id)
      return run(['restart', '--', id])
    },
  },
  verbCommand({
    name: 'blackboard',
    usage: 'list [prefix] | get <key> | set <key> <value> | del <key>',
    summary: 'Shows and changes the blackboard',
    verbs: {
      list: (rest) => ['blackboard', ...rest],
      get: (rest) => ['blackboard', 'get', '--', ...rest],
      set: ([key = '', ...value]) => ['blackboard', 'set', '--', key, value.join(' ')],
      del: (rest) => ['blackboard', 'delete', '--', ...rest],
    },
  }),
  {
    name: 'costs',
    usage: '[agent|model|project|day]',
    summary: 'Shows the cost of model calls',
    verbs: costGroups,
    run: async ({ run, rest: [by = 'agent'] }) =>
      run([
        'costs',
        '--by',
        costGroups.includes(by) ? by : wanted(undefined, '/costs [agent|model|project|day]'),
      ]),
  },
  {
    name: 'traces',
    usage: '[run]',
    summary: 'Lists the last runs, or shows one as a waterfall of time and cost',
    run: async ({ run, rest }) =>
      run(rest[0] === undefined ? ['runs', '--limit', `${runsShown}`] : ['trace', '--', rest[0]]),
  },
  { name: 'runs', summary: 'Lists the last runs', run: plain('runs', '--limit', `${runsShown}`) },
  verbCommand({
    name: 'cron',
    usage: 'list | run <job> | why <job> | pause <job> | resume <job> | del <job>',
    summary: 'Scheduled jobs',
    verbs: {
      list: () => ['cron', 'list'],
      run: (rest) => ['cron', 'run', '--', ...rest],
      why: (rest) => ['cron', 'why', '--', ...rest],
      pause: (rest) => ['cron', 'set', '--off', '--', ...rest],
      resume: (rest) => ['cron', 'set', '--on', '--', ...rest],
      del: (rest) => ['cron', 'remove', '--', ...rest],
    },
  }),
  {
    name: 'credential',
    usage: 'list | add <name> [host...] | remove <name>',
    summary: 'Secrets that agents use without seeing them; the value is asked for and not shown',
    verbs: ['list', 'add', 'remove'],
    run: credential,
  },
  {
    name: 'addkey',
    usage: '<provider> [model]',
    summary: 'Sets the key of a model provider; it is tested first and not shown',
    run: async ({ client, terminal, rest: [provider, model], ask }) => {
      const name = wanted(provider, '/addkey <provider> [model]')
      const key = (await ask(`Key of ${oneLine(name, nameColumnsMax)}: `, true)).trim()
      const named = {
        provider: name,
        ...(key === '' ? {} : { key }),
        ...(model === undefined ? {} : { model }),
      }
      const { default_model: current } = await client.call('setup', {})
      const body = { ...named, make_default: current === null }
      const kept = await client.call('setupProvider', { body })
      terminal.print(`${kept.model} has answered; the key of ${kept.provider} is saved.`)
    },
  },
  {
    name: 'removekey',
    usage: '<provider>',
    summary: 'Forgets the key of a provider',
    run: async ({ client, terminal, rest }) => {
      const params = { name: wanted(rest[0], '/removekey <provider>') }
      terminal.print(`The key of ${(await client.call('setupProviderRemove', { params })).removed} is gone.`)
    },
  },
  {
    name: 'pending',
    usage: '[id]',
    summary: 'Actions and questions that wait for you',
    run: async ({ run, rest }) => run(['pending', '--', ...rest.slice(0, 1)]),
  },
  {
    name: 'confirm',
    usage: '<id>',
    summary: 'Approves an action that waits for you, after showing its effect; /cancel rejects it',
    run: confirm,
  },
  {
    name: 'undo',
    usage: '<token>',
    summary: 'Undoes a change of an agent',
    run: async ({ run, rest }) => run(['undo', '--', wanted(rest[0], '/undo <token>')]),
  },
  {
    name: 'logs',
    usage: '[agent]',
    summary: 'The last lines of the log, or what one agent does and prints',
    takes: 'agent',
    run: async ({ run, rest }) => run(['logs', '--lines', `${logLinesShown}`, ...rest.slice(0, 1)]),
  },
  {
    name: 'project',
    usage: 'list | use [name] | info [name]',
    summary: 'Projects of agents; /broadcast asks the members of the project in use',
    verbs: ['list', 'use', 'info'],
    takes: 'project',
    run: project,
  },
]

async function confirm({ client, terminal, run, rest, ask }: SlashCall): Promise<void> {
  const params = { id: wanted(rest[0], '/confirm <id>') }
  // The digest is read before the action is shown, so the mesh rejects an action that changed after that.
  const { digest, state } = await client.call('pendingOne', { params })
  await run(['pending', '--', params.id])
  if (state !== 'pending') return
  const typed = await ask('Approve this action? Type yes: ', false)
  if (typed.trim() !== 'yes') return terminal.print('Nothing was changed.')
  const done = await client.call('pendingConfirm', { params, body: { digest } })
  // The command follows an action that the mesh still carries out.
  if (done.state === 'confirmed') return run(['confirm', '--', params.id])
  terminal.print(`${done.id} is ${done.state}: ${printable(done.detail)}`)
}

function plain(...words: readonly string[]): SlashCommand['run'] {
  return async ({ run }) => run(words)
}

async function credential({ run, rest: [verb = 'list', name, ...hosts], ask }: SlashCall): Promise<void> {
  if (verb === 'list') return run(['credentials', 'list'])
  const usage = '/credential list, /credential add <name> [host...], /credential remove <name>'
  const id = wanted(name, usage)
  if (verb === 'remove') return run(['credentials', 'remove', '--', id])
  if (verb !== 'add') wanted(undefined, usage)
  const value = await ask(`Value of ${oneLine(id, nameColumnsMax)}: `, true)
  return run(['credentials', 'set', ...hosts.flatMap((host) => ['--host', host]), '--', id], value)
}

async function project(call: SlashCall): Promise<void> {
  const { client, terminal, run, rest } = call
  const [verb = 'list', name] = rest
  if (verb === 'list') return run(['projects'])
  if (verb === 'info')
    return run(['projects', 'show', '--', wanted(name ?? call.project.name() ?? '', '/project info <name>')])
  if (verb !== 'use') wanted(undefined, '/project list, /project use [name], /project info [name]')
  if (name === undefined) {
    call.project.change(null)
    return terminal.print('No project is in use: /broadcast asks every worker.')
  }
  const found = await client.call('project', { params: { name } })
  call.project.change(found.name)
  const members = found.members.map((member) => oneLine(member, nameColumnsMax)).join(', ')
  terminal.print(`${found.name} is in use. Its members: ${members === '' ? 'none yet' : members}.`)
}
