import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { flotilla } from '../support/flotilla-command.ts'
import type { CommandResult } from '../support/flotilla-command.ts'
import { heldPort } from '../support/held-port.ts'
import { startKeyedProvider } from '../support/keyed-provider.ts'
import type { KeyedProvider } from '../support/keyed-provider.ts'

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

/** What a person types who has a new machine; `input` is what the command reads. */
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

it('without a terminal and without options it says what to give, and begins nothing', async () => {
  const { code, out, err } = await typed(['init'])
  expect(code).toBe(2)
  expect(out).toBe('')
  expect(err).toContain('--provider NAME with the key on standard input, or --demo')
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
  expect(out).toContain('Agents think with openai/hello; it has answered.')
  expect(out).toContain('Talk to it: flotilla chat scout')
  expect(out + err).not.toContain(rightKey)
  expect(await envFile()).toContain(rightKey)

  const answer = await typed(['chat', 'scout', 'Are you there?'])
  expect(answer).toMatchObject({ code: 0, out: 'Hello there\n' })
  expect(provider.asked.length).toBeGreaterThan(1)
  expect((await typed(['agents'])).out).toMatch(/scout .*openai\/hello/)
})

it('an agent that is named beside the recording is made too', async () => {
  const { code, out } = await typed(['init', '--demo', '--agent', 'keeper', '--role', 'Keeps notes.'])
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('Talk to it: flotilla chat keeper') })
  expect((await typed(['agents'])).out).toMatch(/keeper .*Keeps notes/)
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
