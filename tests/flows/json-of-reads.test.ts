import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { systemClock } from '@flotilla/client/system-clock'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CliDeps } from '../../packages/cli/src/context.ts'
import { readEnvironment } from '../../packages/cli/src/environment.ts'
import { keepText } from '../../packages/cli/src/fake-terminal.ts'
import { createProgram, createWholeProgram } from '../../packages/cli/src/program.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

let mesh: MeshProcess
let folder: string
/** Ids of objects in the fleet, for command lines that need one. */
const ids: Record<string, string> = {}

/** Every command that only reads, with a valid line; words in capitals are replaced by ids. */
const reads: Readonly<Record<string, string>> = {
  status: '',
  doctor: '',
  open: '',
  proof: '',
  version: '',
  history: 'writer',
  sessions: 'writer',
  messages: '',
  topics: '',
  signals: 'writer',
  agent: '',
  agents: '',
  templates: '',
  'templates list': '',
  'templates show': 'starter',
  export: '',
  'mcp list': 'writer',
  browser: '',
  runs: '',
  trace: 'RUN',
  tasks: '',
  'tasks show': 'TASK',
  projects: '',
  'projects show': 'books',
  artifacts: '',
  blackboard: '',
  'blackboard get': 'notes/first',
  'blackboard watches': '',
  replay: 'RUN --record',
  'cron list': '',
  'cron why': 'JOB',
  'cron history': 'JOB',
  'watchers list': '',
  'watchers check': '',
  'watchers history': '',
  'webhooks list': '',
  'webhooks deliveries': 'HOOK',
  costs: '',
  budget: '',
  models: '',
  'models answers': '',
  'permissions show': 'writer',
  'permissions tools': '',
  'permissions explain': 'writer write-blackboard notes/x',
  'policy show': '',
  'policy check': '',
  'policy test': '',
  'policy suggest': 'writer',
  'policy reach': 'writer github',
  'policy explain': 'writer GET https://example.org/',
  pending: '',
  changes: '',
  'credentials list': '',
  'egress list': '',
  'packages list': '',
  'packages show': 'writer',
  'image list': '',
  'image show': 'writer',
  size: 'writer',
  harness: 'writer',
  'credentials requests': '',
  'wallet status': '',
  'wallet balances': '',
  'wallet addresses': '',
  'wallet history': '',
  'wallet limits': '',
  'people list': '',
  'channels list': '',
  'channels notices': '',
  whoami: '',
  walls: '',
  'journal verify': '',
  service: '',
  'service install': '--print',
  verify: 'BACKUP',
  prune: '--dry-run',
}

/** Commands whose output is no JSON value, each with its reason. */
const otherwise: Readonly<Record<string, string>> = {
  completion: 'a script, which --json does not change',
  'journal export': 'a line of JSON, or a record of CSV, for each row',
  logs: 'a line of JSON for each line of the log',
  events: 'a line of JSON for each event, until it is ended',
}

/** These commands change something; their own tests check the output. */
const changes: readonly string[] = [
  ...named(
    '',
    'demo init start stop chat steer reset-chat create put invoke apply restart hibernate archive',
  ),
  ...named(
    '',
    'unarchive delete heartbeat cancel fork eval record pause resume confirm edit undo backup restore',
  ),
  ...named('', 'image upgrade reset uninstall install-command'),
  ...named('image', 'rebuild set'),
  ...named('packages', 'set'),
  ...named('agent', 'add'),
  ...named('mcp', 'add remove'),
  ...named('models', 'price'),
  ...named('tasks', 'give answer retry reroute cancel accept rework reject'),
  ...named('projects', 'create add remove archive unarchive delete goal write'),
  ...named('artifacts', 'save'),
  ...named('permissions', 'set'),
  ...named('service', 'uninstall'),
  ...named('webhooks', 'add set test remove replay rotate'),
  ...named('watchers', 'add remove'),
  ...named('blackboard', 'set delete watch unwatch'),
  ...named('cron', 'add set remove run'),
  ...named('credentials', 'set bind unbind remove deny'),
  ...named('egress', 'inspect remove tunnel'),
  ...named('wallet', 'init import unlock resume speed-up cancel'),
  ...named('people', 'add change link unlink rotate remove'),
  ...named('channels', 'pair add remove'),
  ...named('journal', 'accept begin-anew'),
]

function named(group: string, names: string): readonly string[] {
  return names.split(' ').map((name) => `${group} ${name}`.trim())
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-json-'))
  mesh = await startMesh({ cassettes: { first: aCassette({ when: '.', turns: [says('Yes.')] }) } })
  await mesh.createWorker('writer')
  ids['RUN'] = (await mesh.ask('Are you there?', { agent: 'writer' })).id
  const made = async (line: string) =>
    JSON.parse((await spoken(`${line} --json`)).out) as Record<string, unknown>
  await made('tasks give writer Count')
  const { tasks } = (await made('tasks')) as { tasks: { id: string }[] }
  ids['TASK'] = tasks[0]?.id ?? 'none'
  await made('wallet init')
  await made('projects create books writer')
  await made('blackboard set notes/first 1')
  const job = await made('cron add writer 0_9_*_*_* --message Hello')
  ids['JOB'] = String(job['id'])
  const { webhook } = (await made('webhooks add writer ci')) as { webhook: { id: string } }
  ids['HOOK'] = webhook.id
  ids['BACKUP'] = join(folder, 'fleet')
  await flotilla({ home: mesh.home }, 'backup', ids['BACKUP'], '--without-secrets')
})
afterAll(async () => {
  await mesh?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** Runs a command line in this process; `_` in a word means a space. */
async function spoken(line: string): Promise<{ readonly out: string; readonly err: string }> {
  const filled = line.split(' ').filter(Boolean)
  const words = filled.map((word) => ids[word] ?? word.replaceAll('_', ' '))
  const [out, err] = [keepText(), keepText()]
  const stopped = new AbortController()
  const deps: CliDeps = {
    environment: readEnvironment({ ...process.env, HOME: folder, FLOTILLA_HOME: mesh.home }),
    clock: systemClock,
    out,
    err,
    input: Readable.from([]),
    newKey: () => crypto.randomUUID(),
    signal: stopped.signal,
    onInterrupt: () => () => undefined,
    setExitCode: () => undefined,
    runLine: () => Promise.resolve(),
    wholeProgram: () => createWholeProgram(deps),
  }
  const program = await createProgram(deps, words)
  await program.parseAsync(words, { from: 'user' })
  return { out: out.text(), err: err.text() }
}

function paths(command: Command, path = ''): readonly string[] {
  return command.commands.flatMap((child) => {
    const own = `${path} ${child.name()}`.trim()
    const acts = Reflect.get(child, '_actionHandler') !== null
    return [...(acts ? [own] : []), ...paths(child, own)]
  })
}

describe('--json', () => {
  it('--json is thought of for every command that there is, and for no other', async () => {
    const whole = await createWholeProgram({
      ...({} as CliDeps),
      out: keepText(),
      err: keepText(),
    })
    const all = [...Object.keys(reads), ...Object.keys(otherwise), ...changes]
    expect(all.toSorted()).toEqual(paths(whole).toSorted())
  })

  it.each(Object.entries(reads))('%s %s prints one value and nothing else', async (path, words) => {
    const { out } = await spoken(`${path} ${words} --json`)
    expect(out.endsWith('\n')).toBe(true)
    expect(JSON.parse(out)).toBeTypeOf('object')
    expect(out.trim().split('\n')).toHaveLength(1)
  })
})
