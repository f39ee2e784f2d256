import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readSettingsFile } from '../../packages/mesh/src/config/settings-file.ts'
import { commandLineNames, environmentNames } from '../../packages/mesh/src/config/environment.ts'
import { commandProgram } from '../support/command-program.ts'
import { httpCall } from '../support/http-call.ts'
import { startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { pinnedNode, repositoryRoot } from '../support/mesh-process.ts'
import { readmeSteps } from '../support/readme-steps.ts'
import type { ReadmeStep } from '../support/readme-steps.ts'
import { patient } from '../support/patience.ts'
import { heldPort } from '../support/held-port.ts'

const commandMaxMs = patient(120_000)

/** How a command of the README is given: what is typed into it. One that is not here fails the test. */
const typed: Readonly<Record<string, string>> = {
  'npx flotilla start -d': '',
  'npx flotilla apply starter --yes': '',
  'npx flotilla templates': '',
  'npx flotilla templates show site-monitor': '',
  'npx flotilla apply research-desk --plan': '',
  'npx flotilla export worker-1 -o fleet.yaml': '',
  'npx flotilla replay RUN --record': '',
  'npx flotilla replay RUN': '',
  'npx flotilla fork RUN --model openai/gpt-5-mini --step 1': '',
  'npx flotilla eval cases.yaml': '',
  'npx flotilla chat': 'Hello\n/quit\n',
  'npx flotilla status': '',
  'npx flotilla budget fleet --daily 50': '',
  'npx flotilla credentials set github_token --host api.github.com': 'a value of this test\n',
  'npx flotilla permissions set worker-1 allowed_credentials+=github_token': '',
  'npx flotilla costs': '',
  'flotilla costs': '',
  'npx flotilla pending': '',
  'npx flotilla permissions explain operator message-agent worker-1': '',
  'npx flotilla doctor': '',
  'flotilla doctor': '',
  'npx flotilla stop': '',
  'npx flotilla --help': '',
  'npx flotilla <command> --help': '',
  'npx flotilla record hello.json "Say hello"': '',
  'flotilla models': '',
  'flotilla people add ann --role member --agents scout': '',
  'npx flotilla restart worker-1': '',
  'npx flotilla create auditor "Reads contracts."': '',
  'npx flotilla hibernate auditor': '',
  'npx flotilla archive auditor': '',
  'npx flotilla unarchive auditor': '',
  'npx flotilla restart auditor': '',
  'npx flotilla trace RUN': '',
  'npx flotilla backup /srv/backups/monday --passphrase-file ~/.backup-passphrase': '',
  'npx flotilla cron add worker-1 "0 9 * * MON-FRI" --message "Sum up the news of the night"': '',
  'npx flotilla cron why JOB': '',
  'npx flotilla heartbeat worker-1 --every 2h': '',
  'npx flotilla watchers check': '',
  'npx flotilla pause --reason "holidays"': '',
  'npx flotilla resume': '',
  'flotilla webhooks --help': '',
  'flotilla webhooks deliveries HOOK': '',
}

/** What the owner of this test writes where the README leaves it to the reader. */
const keysBeside = ['GROQ', 'BRAVE', 'ANTHROPIC'].map((name) => `FLOTILLA_SYSTEM_${name}_API_KEY=sk-${name}`)

let folder = ''
let upstream: LlmUpstream
let port = 0
const met = new Set<string>()
let lastOut = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-readme-'))
  upstream = await startLlmUpstream()
  port = await heldPort()
  // Where the reader stands: `npx` finds the programs of the repository, and what commands write is not left there.
  await symlink(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"private": true}')
})
afterAll(async () => {
  await run('npx flotilla stop')
  await upstream.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

const home = () => join(folder, '.flotilla')

it('npx finds the program where the README is read', async () => {
  expect(await run('npx flotilla version')).toMatchObject({ code: 0 })
})

it(
  'every command of the README does what it says on a clean home, in the order of the page, and doctor finds nothing at its end',
  async () => {
    for (const step of readmeSteps(await readFile(join(repositoryRoot, 'README.md'), 'utf8')))
      await take(step)
    expect([...met].toSorted(), 'a command that the README no longer has').toEqual(
      Object.keys(typed).toSorted(),
    )

    await run('npx flotilla stop')
    await run('npx flotilla start -d')
    const status = JSON.parse((await run('npx flotilla status --json')).out) as Record<string, unknown>
    expect(status['default_model']).toEqual({
      name: 'openai/gpt-5-mini',
      from: 'FLOTILLA_DEFAULT_MODEL in .env',
    })
    expect(await run('npx flotilla chat operator "Hello"')).toMatchObject({ code: 0, out: 'Hello there\n' })
    const doctor = await run('npx flotilla doctor --json')
    const { findings } = JSON.parse(doctor.out) as { findings: { id: string; level: string }[] }
    expect(findings.filter(({ level }) => level === 'error')).toEqual([])
  },
  patient(300_000),
)

async function take(step: ReadmeStep): Promise<void> {
  if (step.kind === 'command') return command(step.line)
  if (step.kind === 'script') return script(step.name)
  if (step.kind === 'env') return writeEnv(step.text)
  if (step.kind === 'settings') return writeSettings(step.text)
  const names = [...environmentNames, ...Object.keys(commandLineNames)]
  const known = names.includes(step.name) || /^FLOTILLA_(?:SYSTEM|CRED)_/.test(step.name)
  expect(known, `${step.name} is a setting`).toBe(true)
}

async function command(line: string): Promise<void> {
  const input = typed[line]
  expect(input, `the README has a command that nobody tries: ${line}`).toBeDefined()
  met.add(line)
  if (line.includes('<command>')) return everyHelp(line)
  const ended = await run(await filled(line), input)
  lastOut = ended.out
  expect(ended, line).toMatchObject({ code: 0 })
  if (line === 'npx flotilla chat' && upstream.calls.length > 0) expect(ended.out).toContain('Hello there')
}

/** Placeholders are what the command before told, or what the reader has made where the page sends there. */
async function filled(line: string): Promise<string> {
  if (line.includes('cron add')) return `${line} --json`
  if (line.includes('JOB')) return line.replace('JOB', (JSON.parse(lastOut) as { id: string }).id)
  if (line.includes('RUN')) return line.replace('RUN', await endedRun())
  if (line.includes('backup')) return backUpHere(line)
  if (line.includes('cases.yaml')) await writeFile(join(folder, 'cases.yaml'), cases)
  return line.includes('HOOK') ? line.replace('HOOK', await madeHook()) : line
}

/** Where the reader has a disk for backups and a passphrase, this test has its folder. */
async function backUpHere(line: string): Promise<string> {
  const passphrase = join(folder, '.backup-passphrase')
  await writeFile(passphrase, 'correct horse battery staple\n', { mode: 0o600 })
  return line.replace('/srv/backups/', `${folder}/`).replace('~/.backup-passphrase', passphrase)
}

/** As `flotilla eval --help` tells the reader to write them. */
const cases =
  'name: greets\nagent: worker-1\ncases: [{ name: hello, ask: Say hello, checks: [{ contains: Hello }] }]\n'

/** One that a model answered: the conversation that the page has recorded. */
async function endedRun(): Promise<string> {
  const { runs } = JSON.parse((await run('npx flotilla runs --json')).out) as {
    runs: { id: string; kind: string; state: string; input: { message?: string } }[]
  }
  const found = runs.find((one) => one.state === 'done' && one.input.message === 'Say hello')
  expect(found).toBeDefined()
  return found?.id ?? ''
}

async function madeHook(): Promise<string> {
  const { method, path } = webhookEndpoints.webhookCreate
  const reply = await httpCall({
    method,
    url: `http://127.0.0.1:${port}${path}`,
    headers: { 'content-type': 'application/json', 'x-requested-with': 'curl' },
    body: JSON.stringify({ name: 'deploys', agent_id: 'worker-1' }),
  })
  const id = /"(hook_[a-z0-9]+)"/.exec(reply.text)?.[1]
  expect(id, reply.text).toBeDefined()
  return id ?? ''
}

/** One in a process of its own; what the others would print, this process can tell. */
async function everyHelp(line: string): Promise<void> {
  expect(await run(line.replace('<command>', 'status'))).toMatchObject({ code: 0 })
  const { commands } = await commandProgram()
  expect(commands.length).toBeGreaterThan(30)
  for (const command of commands)
    expect(command.helpInformation()).toContain(`Usage: flotilla ${command.name()}`)
}

async function script(name: string): Promise<void> {
  const { scripts } = JSON.parse(await readFile(join(repositoryRoot, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  expect(Object.keys(scripts)).toContain(name)
}

async function writeEnv(snippet: string): Promise<void> {
  const own = snippet
    .replace('FLOTILLA_SYSTEM_OPENAI_API_KEY=...', 'FLOTILLA_SYSTEM_OPENAI_API_KEY=sk-of-this-test')
    .replace('FLOTILLA_SYSTEM_OPENAI_BASE_URL=...', `FLOTILLA_SYSTEM_OPENAI_BASE_URL=${upstream.baseUrl}`)
  expect(own).not.toContain('=...')
  const path = join(home(), '.env')
  const before = await readFile(path, 'utf8').catch(() => '')
  await writeFile(path, [before.trimEnd(), own.trimEnd(), ...keysBeside, ''].join('\n'), { mode: 0o600 })
}

/** Each beside those before it, as an owner would write them; a mesh that runs takes them up by itself. */
async function writeSettings(snippet: string): Promise<void> {
  const path = join(home(), 'config', 'settings.json')
  const before = JSON.parse(await readFile(path, 'utf8').catch(() => '{}')) as object
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, JSON.stringify(merged(before, JSON.parse(snippet)), null, 2))
  await readSettingsFile(path)
}

function merged(left: unknown, right: unknown): unknown {
  if (!isObject(left) || !isObject(right)) return right
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])]
  return Object.fromEntries(
    names.map((name) => [name, name in right ? merged(left[name], right[name]) : left[name]]),
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A line in a shell of its own, as somebody types it. One that does not end is ended, and that shows in its code. */
async function run(line: string, input = ''): Promise<{ code: number; out: string; err: string }> {
  const bins = [dirname(pinnedNode), join(repositoryRoot, 'node_modules', '.bin')]
  // npx finds the program, which a test of its own says, and takes as long as the command itself.
  const found = line === 'npx flotilla version' ? line : line.replace(/^npx /, '')
  const child = spawn('sh', ['-c', found], {
    cwd: folder,
    env: {
      PATH: [...bins, process.env['PATH'] ?? '/usr/bin:/bin'].join(':'),
      HOME: folder,
      FLOTILLA_PORT: String(port),
      FLOTILLA_RUNTIME: 'process',
      npm_config_update_notifier: 'false',
      npm_config_offline: 'true',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: commandMaxMs,
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)))
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, out, err }
}
