import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { flotilla } from '../support/flotilla-command.ts'
import type { CommandResult } from '../support/flotilla-command.ts'
import { eventually } from '../support/eventually.ts'
import { heldPort } from '../support/held-port.ts'
import { startKeyedProvider } from '../support/keyed-provider.ts'
import type { KeyedProvider } from '../support/keyed-provider.ts'
import { cliProgram, userCaches } from '../support/programs.ts'
import { runAtTerminal } from '../support/pty-screen.ts'

const rightKey = 'sk-right-0123456789abcdef'
const wrongKey = 'sk-wrong-0123456789abcdef'

let folder: string
let home: string
let provider: KeyedProvider
let port: number

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-init-'))
  home = join(folder, 'home')
  provider = await startKeyedProvider({ key: rightKey, models: ['hello'] })
  port = await heldPort()
})
afterAll(async () => {
  await typed(['stop'])
  await provider.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** Runs a command as the owner of a new machine; `input` is its standard input. */
function typed(words: readonly string[], input = ''): Promise<CommandResult> {
  const environment = { FLOTILLA_RUNTIME: 'process', FLOTILLA_PORT: String(port) }
  return flotilla({ home, input, environment }, ...words)
}

const agentWords = ['--agent', 'scout', '--role', 'Looks things up.']
const withProvider = () => {
  const place = ['--provider', 'openai', '--model', 'hello', '--base-url', provider.baseUrl]
  return ['init', ...place, ...agentWords]
}
const envFile = () => readFile(join(home, '.env'), 'utf8').catch(() => '')
const settingsText = () => readFile(join(home, 'config', 'settings.json'), 'utf8').catch(() => '')

it('flotilla init without a terminal and options says what to give, and begins nothing', async () => {
  const { code, out, err } = await typed(['init'])
  expect(code).toBe(2)
  expect(out).toBe('')
  expect(err).toContain('--provider NAME and send its key on standard input, or use --demo')
  await expect(readFile(join(home, 'data', 'mesh.json'))).rejects.toMatchObject({ code: 'ENOENT' })
})

it('an address without http:// or https:// is said before anything begins', async () => {
  const { code, err } = await typed(
    ['init', '--provider', 'openai', '--base-url', 'localhost:8000/v1'],
    'sk-x\n',
  )
  expect(code).toBe(2)
  expect(err).toContain('“localhost:8000/v1” is not an address')
  expect(err).toContain('Write the full address: http:// or https://')
  await expect(readFile(join(home, 'data', 'mesh.json'))).rejects.toMatchObject({ code: 'ENOENT' })
})

it('a wrong key is refused in the words of the provider with what to do, and nothing of it is kept', async () => {
  const { code, out, err } = await typed(withProvider(), `${wrongKey}\n`)
  expect(code).not.toBe(0)
  expect(err).toContain('Incorrect API key')
  expect(err).toMatch(/^ +next \S/m)
  expect(out + err).not.toContain(wrongKey)
  expect(await envFile()).not.toMatch(/OPENAI/)
  expect((await typed(['agents', '--json'])).out).not.toContain('scout')
})

it('the right key is kept, its model thinks for the fleet, and the first agent answers', async () => {
  const { code, out, err } = await typed(withProvider(), `${rightKey}\n`)
  expect(err).not.toContain('✗')
  expect(code).toBe(0)
  expect(out).toContain('Agents use the model openai/hello; the test call succeeded.')
  expect(out).toContain('Talk to it: flotilla chat scout')
  expect(out + err).not.toContain(rightKey)
  expect(await envFile()).toContain(rightKey)

  const answer = await typed(['chat', 'scout', 'Are you there?'])
  expect(answer).toMatchObject({ code: 0, out: 'Hello there\n' })
  expect(provider.asked.length).toBeGreaterThan(1)
  expect((await typed(['agents'])).out).toMatch(/scout .*openai\/hello/)
})

it('flotilla init without a terminal replaces a working model by the recording only with --yes', async () => {
  const before = (await typed(['agents'])).out
  const { code, out, err } = await typed(['init', '--demo'])
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(
    'init --demo replaces the model openai/hello with the scripted model, and there is no terminal to confirm it at',
  )
  expect(err).toMatch(/^ +next Add --yes\.$/m)
  expect((await typed(['agents'])).out).toBe(before)
})

it('at a terminal the recording replaces a model only after the answer yes', async () => {
  const screen = newcomer('init', '--demo')
  await screen.shows(/^Replace the model openai\/hello with the scripted model of the demo\? Type yes:$/)
  screen.type('\r')
  expect(await screen.ended).toBe(1)
  expect(screen.rows().join('\n')).toContain('Nothing was changed.')
  expect((await typed(['agents'])).out).toMatch(/scout .*openai\/hello/)
})

it('an agent that is named beside the recording is made too, and a recording that plays is not asked about', async () => {
  const demo = ['init', '--demo', '--agent']
  const { code, out } = await typed([...demo, 'keeper', '--role', 'Keeps notes.', '--yes'])
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('Talk to it: flotilla chat keeper') })
  expect((await typed(['agents'])).out).toMatch(/keeper .*Keeps notes/)
  expect(await typed(['init', '--demo'])).toMatchObject({ code: 0 })
})

it('a first start that settings end says the field and what to write, and doctor blames no file that it never wrote', async () => {
  const other = join(folder, 'other')
  await mkdir(join(other, 'config'), { recursive: true, mode: 0o700 })
  await writeFile(join(other, 'config', 'settings.json'), '{\n  "default_model": 5\n}\n')
  const at = { home: other, environment: { FLOTILLA_RUNTIME: 'process', FLOTILLA_PORT: String(port) } }
  const words = 'settings.json line 2: default_model: write a text in quotes instead of a number'
  const started = await flotilla(at, 'start', '-d')
  expect(started.code).not.toBe(0)
  expect(started.err).toContain(words)
  const { findings } = JSON.parse((await flotilla(at, 'doctor', '--json')).out) as { findings: object[] }
  expect(findings).toContainEqual(
    expect.objectContaining({
      id: 'settings-file',
      ok: false,
      detail: expect.stringContaining(words) as unknown,
    }),
  )
  expect(findings).toContainEqual(expect.objectContaining({ id: 'cron-file', level: 'ok' }))
})

describe('a question that is ended in place of an answer', () => {
  /** Runs a command at a pseudo-terminal, with the environment of this file's mesh. */
  const atTerminal = (...words: readonly string[]) => {
    const surroundings = ['FLOTILLA_RUNTIME=process', `FLOTILLA_PORT=${port}`, `XDG_CACHE_HOME=${userCaches}`]
    return runAtTerminal(['env', ...surroundings, process.execPath, cliProgram, ...words], {
      columns: 120,
      home,
    })
  }

  const agentNames = async () => (await typed(['agents', '--json'])).out.match(/"id":"[^"]*"/g)

  const endings = { 'Ctrl-C': '\u0003', 'Ctrl-D': '\u0004' } as const

  it.each([
    { key: 'Ctrl-C', words: ['apply', 'support-drafts'], asked: /Type yes:$/ },
    { key: 'Ctrl-D', words: ['apply', 'support-drafts'], asked: /Type yes:$/ },
    { key: 'Ctrl-C', words: ['init'], asked: /Number \[1\]:$/ },
    { key: 'Ctrl-D', words: ['init'], asked: /Number \[1\]:$/ },
    { key: 'Ctrl-D', words: ['credentials', 'set', 'badge'], asked: /Value of badge:$/ },
  ] as const)('$key ends `$words` in a word, and nothing was chosen', async ({ key, words, asked }) => {
    const before = await agentNames()
    const screen = atTerminal(...words)
    await screen.shows(asked)
    screen.type(endings[key])
    expect(await screen.ended).toBe(1)
    const said = screen.rows().join('\n')
    expect(said).toContain('\nInterrupted.')
    expect(said).not.toMatch(/internal-error|unsettled|at .*\.[mt]js|Provider \[/)
    expect(await agentNames()).toEqual(before)
  })

  it('a question that is ended in place of an answer takes the mesh of a start in this terminal with it', async () => {
    await typed(['stop'])
    await rm(join(home, '.env'))
    await rm(join(home, 'config', 'settings.json'), { force: true })
    const screen = atTerminal('start')
    await screen.shows(/Number \[1\]:$/)
    screen.type('\u0003')
    expect(await screen.ended).toBe(1)
    expect(screen.rows().join('\n')).toContain('\nInterrupted.')
    expect((await typed(['status'])).code).toBe(3)
  })
})

/** Runs a command at a new owner's terminal, with the mesh of this file. */
function newcomer(...words: readonly string[]) {
  const surroundings = [`XDG_CACHE_HOME=${userCaches}`, `FLOTILLA_PORT=${port}`, 'FLOTILLA_RUNTIME=process']
  return runAtTerminal(['env', ...surroundings, process.execPath, cliProgram, ...words], {
    columns: 120,
    home,
  })
}

it('a key that is refused is asked for anew, and a name that cannot be is, too', async () => {
  await typed(['stop'])
  await rm(join(home, '.env'), { force: true })
  await typed(['start', '-d'])
  const place = ['--provider', 'openai', '--model', 'hello', '--base-url', provider.baseUrl]
  const screen = newcomer('init', ...place)
  const question = `Key of ${new URL(provider.baseUrl).host} (not shown, Enter for none):`
  await eventually('the key is asked for', () => screen.rows().at(-1) === question || null)
  screen.type(`${wrongKey}\r`)
  await screen.shows(/Incorrect API key/)
  await screen.shows(/next Nothing was saved\. Enter another key of openai\./)
  await eventually('the key is asked for anew', () => screen.rows().at(-1) === question || null)
  expect(await envFile()).not.toMatch(/OPENAI/)
  screen.type(`${rightKey}\r`)
  await screen.shows(/^Name of your first agent \(Enter for none\):$/)
  screen.type('two words\r')
  await screen.shows(/“two words” is not a valid agent name/)
  screen.type('scout\r')
  await screen.shows(/An agent “scout” already exists/)
  screen.type('second\r')
  await screen.shows(/What is second for\?$/)
  screen.type('Reads.\r')
  expect(await screen.ended).toBe(0)
  expect((await typed(['agents'])).out).toMatch(/second .*Reads/)
})

it('an agent that cannot be made is said before a key is tried', async () => {
  const words = withProvider().map((word) => (word === 'scout' ? 'two words' : word))
  const asked = provider.requests()
  const { code, err } = await typed(words, `${rightKey}\n`)
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringContaining('“two words” is not a valid agent name') as unknown,
  })
  expect(provider.requests()).toBe(asked)
})

it('a provider that is not there is said before its model is asked for', async () => {
  await typed(['stop'])
  // A key for the provider itself, at its usual address only.
  await writeFile(join(home, '.env'), "FLOTILLA_SYSTEM_OPENAI_API_KEY='sk-kept'\n", { mode: 0o600 })
  await typed(['start', '-d'])
  const screen = runAtTerminal(
    ['env', `XDG_CACHE_HOME=${userCaches}`, `FLOTILLA_PORT=${port}`, process.execPath, cliProgram, 'init'],
    { columns: 120, home },
  )
  await screen.shows(/Number \[1\]:$/)
  // The menu first lists the model servers that run on this machine.
  const number = /(\d+) {2}A provider, with your key/.exec(screen.rows().join('\n'))?.[1]
  screen.type(`${number}\r`)
  await screen.shows(/Provider \[openai\]:$/)
  screen.type('opnai\r')
  await screen.shows(/There is no provider “opnai”/)
  // The name of a known provider is not that of an own server, which would get its key.
  await eventually('it asks again', () => screen.rows().at(-1) === 'Number [1]:' || null)
  screen.type(`${/(\d+) {2}Your own server/.exec(screen.rows().join('\n'))?.[1]}\r`)
  await screen.shows(/^Name of the server \[my-server\]:$/)
  screen.type('openai\r')
  await screen.shows(/openai is the name of a known provider/)
  // The program repeats the question before, and does not go on to the model.
  await eventually('it asks again', () => screen.rows().at(-1) === 'Number [1]:' || null)
  screen.type('\u0003')
  await screen.ended
  expect(screen.rows().join('\n')).not.toMatch(/^Model/m)
})

describe('a server of one’s own', () => {
  const question = (screen: ReturnType<typeof newcomer>, asked: RegExp) =>
    eventually(`${asked.source} is asked`, () => asked.test(screen.rows().at(-1) ?? '') || null)

  /** Starts without a model, and accepts the offer. */
  async function takeOffer() {
    await typed(['stop'])
    await rm(join(home, '.env'), { force: true })
    await rm(join(home, 'config', 'settings.json'), { force: true })
    await typed(['start', '-d'])
    const screen = newcomer('init', '--agent', 'helper', '--role', 'Helps.')
    await question(screen, /^Number \[1\]:$/)
    const number = /(\d+) {2}Your own server/.exec(screen.rows().join('\n'))?.[1]
    screen.type(`${number}\r`)
    await question(screen, /^Name of the server \[my-server\]:$/)
    screen.type('gpu-box\r')
    await question(screen, /^Address, such as/)
    return screen
  }

  it('a server of one’s own is asked for its address, its model and a key where it wants one, has to answer, and thinks for the fleet then', async () => {
    const own = await startKeyedProvider({ models: ['vendor/own'] })
    try {
      const screen = await takeOffer()
      screen.type('localhost:8000/v1\r')
      await screen.shows(/“localhost:8000\/v1” is not an address/)
      await screen.shows(/Write the full address: http:\/\/ or https:\/\//)
      await question(screen, /^Number \[1\]:$/)
      screen.type(`${/(\d+) {2}Your own server/.exec(screen.rows().join('\n'))?.[1]}\r`)
      await question(screen, /^Name of the server/)
      screen.type('gpu-box\r')
      await question(screen, /^Address, such as/)
      screen.type(`${own.baseUrl}\r`)
      await question(screen, /^Model \[vendor\/own\]:$/)
      expect(screen.rows().join('\n')).toContain('Models of gpu-box: vendor/own')
      screen.type('\r')
      await question(screen, /^Key of .*Enter for none\):$/)
      screen.type('\r')
      expect(await screen.ended).toBe(0)
      expect(screen.rows().join('\n')).toContain(
        'Agents use the model gpu-box/vendor/own; the test call succeeded.',
      )
      expect(await settingsText()).toContain(own.baseUrl)
      expect(await typed(['chat', 'helper', 'Are you there?'])).toMatchObject({
        code: 0,
        out: 'Hello there\n',
      })
      // A home that has no limit because a person removed it does not get one.
      const words = ['--provider', 'gpu-box', '--base-url', own.baseUrl, '--model', 'vendor/own']
      expect(await typed(['init', ...words])).toMatchObject({ code: 0 })
    } finally {
      await own.close()
    }
  })

  it('a server of one’s own is a model that works: the recording takes its place only with --yes', async () => {
    const before = await chosenModel()
    const { code, err } = await typed(['init', '--demo'])
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining(
        'replaces the model gpu-box/vendor/own with the scripted model, and there is no terminal',
      ) as unknown,
    })
    expect(before).toMatchObject({ name: 'gpu-box/vendor/own' })
    expect(await chosenModel()).toEqual(before)
  })

  /** The default model, which agents without their own model use. */
  async function chosenModel(): Promise<unknown> {
    const status: Record<string, unknown> = JSON.parse((await typed(['status', '--json'])).out)
    return status['default_model']
  }

  /** Selects the menu line that contains these words. */
  async function choose(screen: ReturnType<typeof newcomer>, words: string) {
    await question(screen, /^Number \[1\]:$/)
    screen.type(`${new RegExp(`(\\d+) {2}${words}`).exec(screen.rows().join('\n'))?.[1]}\r`)
  }

  it('a server of one’s own gets no key of OpenAI’s, which is asked for with the host that it goes to, and so is the way back', async () => {
    const screen = newcomer('init')
    await choose(screen, 'A provider, with your key')
    await question(screen, /^Provider \[openai\]:$/)
    screen.type('\r')
    await question(screen, /^Model \[.*\]:$/)
    screen.type('\r')
    await question(screen, /^Key of api\.openai\.com \(not shown\):$/)
    screen.type('\u0003')
    expect(await screen.ended).toBe(1)
  })

  it('a server of one’s own with a key is offered another key, another address and its own once more', async () => {
    const own = await startKeyedProvider({ key: rightKey, models: ['keyed'] })
    const moved = await startKeyedProvider({ key: 'sk-moved', models: ['keyed'] })
    try {
      await typed(['delete', 'helper', '--yes'])
      const screen = await takeOffer()
      const host = new URL(own.baseUrl).host
      screen.type(`${own.baseUrl}\r`)
      await question(screen, /^Model name on/)
      screen.type('keyed\r')
      await question(screen, /^Key of .*Enter for none\):$/)
      screen.type(`${rightKey}\r`)
      expect(await screen.ended).toBe(0)

      const again = newcomer('init', '--agent', 'again', '--role', 'Helps.')
      await choose(again, 'Your own server')
      await question(again, /^Name of the server \[gpu-box\]:$/)
      again.type('\r')
      await question(again, new RegExp(`^Address \\[http://${host}/v1\\]:$`))
      again.type('\r')
      // With the stored key the server lists its models.
      await question(again, /^Model \[keyed\]:$/)
      again.type('\r')
      await question(again, new RegExp(`^Key of ${host} \\(not shown, Enter for the stored key\\):$`))
      again.type('\r')
      expect(await again.ended).toBe(0)
      expect(await envFile()).toContain(rightKey)

      const elsewhere = newcomer('init', '--agent', 'elsewhere', '--role', 'Helps.')
      await choose(elsewhere, 'Your own server')
      await question(elsewhere, /^Name of the server \[gpu-box\]:$/)
      elsewhere.type('\r')
      await question(elsewhere, /^Address \[/)
      elsewhere.type(`${moved.baseUrl}\r`)
      await question(elsewhere, /^Model name on/)
      elsewhere.type('keyed\r')
      await question(elsewhere, /^Key of .*Enter for none\):$/)
      elsewhere.type('sk-moved\r')
      expect(await elsewhere.ended).toBe(0)
      expect(await envFile()).toMatch(/sk-moved/)
      expect(await settingsText()).toContain(moved.baseUrl)
      expect(await envFile()).not.toContain(rightKey)
    } finally {
      await Promise.all([own.close(), moved.close()])
      for (const name of ['helper', 'again', 'elsewhere']) await typed(['delete', name, '--yes'])
    }
  })

  it('a server of one’s own gives its place to the recording without a question where --yes says so', async () => {
    const screen = newcomer('init', '--yes')
    await choose(screen, 'A recorded demo')
    expect(await screen.ended).toBe(0)
    const said = screen.rows().join('\n')
    expect(said).toContain('Agents use the scripted model')
    expect(said).not.toContain('Type yes')
  })

  it('a server without a stated price is saved, and the price setting is named before a call is rejected', async () => {
    const own = await startKeyedProvider({ models: ['own-unpriced'] })
    try {
      const screen = await takeOffer()
      // The address `0.0.0.0` does not belong to this machine, but connects to it.
      screen.type(`${own.baseUrl.replace('127.0.0.1', '0.0.0.0')}\r`)
      await question(screen, /^Model/)
      screen.type('own-unpriced\r')
      await question(screen, /^Are calls to gpu-box free/)
      screen.type('n\r')
      await question(screen, /^Key of/)
      screen.type('\r')
      expect(await screen.ended).toBe(0)
      const said = screen.rows().join('')
      expect(said).toContain(
        'gpu-box/own-unpriced cannot be called yet: the price of gpu-box/own-unpriced is unknown',
      )
      expect(said).toContain('models price gpu-box/own-unpriced --input')
    } finally {
      await own.close()
    }
  })

  it('an unreachable server is reported, and nothing of it is saved', async () => {
    await typed(['delete', 'helper', '--yes'])
    const gone = await startKeyedProvider({ models: ['own'] })
    await gone.close()
    const screen = await takeOffer()
    screen.type(`${gone.baseUrl}\r`)
    await question(screen, /^Model/)
    screen.type('own\r')
    await question(screen, /^Key of/)
    screen.type('\r')
    await question(screen, /^Number \[1\]:$/)
    expect(screen.rows().join('\n')).toContain('Nothing was saved.')
    expect(await settingsText()).not.toContain('gpu-box')
    expect(await envFile()).not.toMatch(/SERVER/)
    screen.type('\u0003')
    expect(await screen.ended).toBe(1)
  })
})
