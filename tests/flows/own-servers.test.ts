import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setupEndpoints as endpoints } from '@flotilla/protocol/setup-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { refuse, startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const firstKey = 'sk-first-0123456789abcdef'
const secondKey = 'sk-second-0123456789abcdef'

let mesh: MeshProcess
let first: LlmUpstream
let second: LlmUpstream
let keyless: LlmUpstream

beforeAll(async () => {
  ;[mesh, first, second, keyless] = await Promise.all([
    startMesh({
      settings: {
        models: { 'first/m': { fallback: ['second/m', 'keyless/m'] } },
        agents: { asker: { models: ['second/m', 'keyless/m'] } },
      },
    }),
    startLlmUpstream(),
    startLlmUpstream(),
    startLlmUpstream(),
  ])
  for (const [provider, { baseUrl }, key] of [
    ['keyless', keyless, undefined],
    ['second', second, secondKey],
    ['first', first, firstKey],
  ] as const) {
    const body = {
      provider,
      base_url: baseUrl,
      model: 'm',
      costs_nothing: true,
      ...(key === undefined ? {} : { key }),
    }
    const stored = await mesh.call(endpoints.setupProvider, { body })
    if (stored.status !== 200) throw new Error(stored.text)
  }
  await mesh.createWorker('asker', { model: 'first/m' })
})
afterAll(async () => {
  await mesh?.stop()
  await Promise.all([first, second, keyless].map((server) => server?.close()))
})

const keysAt = (server: LlmUpstream) => [
  ...new Set(server.calls.map(({ headers }) => headers.authorization ?? 'none')),
]
/** Everything that a server received, to look for keys of others in any header or body. */
const received = (server: LlmUpstream) =>
  server.calls.map(({ headers, text, path }) => `${path}\n${JSON.stringify(headers)}\n${text}`).join('\n')

function expectNoForeignKey(): void {
  expect(keysAt(first)).toEqual([`Bearer ${firstKey}`])
  for (const key of keysAt(second)) expect(key).toBe(`Bearer ${secondKey}`)
  for (const key of keysAt(keyless)) expect(key).toBe('none')
  expect(received(second) + received(keyless)).not.toContain(firstKey)
  expect(received(first) + received(keyless)).not.toContain(secondKey)
}

it('several servers of the owner answer under their names, each with its own key', async () => {
  const answer = await mesh.ask('Are you there?', { agent: 'asker' })
  expect(answer.outcome).toMatchObject({ status: 'done', text: 'Hello there' })
  expect(keysAt(first)).toEqual([`Bearer ${firstKey}`])
  const settings = await readFile(join(mesh.home, 'config', 'settings.json'), 'utf8')
  expect(settings).not.toContain(firstKey)
  expect(settings).toContain('server_first_api_key')
  expectNoForeignKey()
})

it.each([301, 302, 307, 308])(
  'a server that redirects with %s gets no key sent to the other address',
  async (status) => {
    const [before, beforeFirst] = [keyless.calls.length, first.calls.length]
    const to = keyless.baseUrl.replace('127.0.0.1', 'localhost')
    for (const server of [first, second]) {
      server.answerWith((call, response) => {
        response.writeHead(status, { location: `${to}${call.path.replace('/v1', '')}` })
        response.end()
      })
    }
    await mesh.ask('Follow me.', { agent: 'asker' })
    expect(first.calls.length).toBeGreaterThan(beforeFirst)
    expectNoForeignKey()
    // Without a key, the last fallback may be called; no call comes from the redirect, which names another host.
    const calls = keyless.calls.slice(before)
    for (const { headers } of calls) expect(headers.host).toMatch(/^127\.0\.0\.1:/)
  },
)

it('a server that fails does not pass its key to its fallbacks', async () => {
  first.answerWith((_call, response) => refuse(response, 503, { message: `overloaded ${firstKey}` }))
  second.answerWith((_call, response) => refuse(response, 503, { message: `overloaded ${secondKey}` }))
  const [before, beforeKeyless] = [second.calls.length, keyless.calls.length]
  const answer = await mesh.ask('And now?', { agent: 'asker' })
  expect(answer.outcome).toMatchObject({ status: 'done', text: 'Hello there' })
  expect(second.calls.length).toBeGreaterThan(before)
  expect(keyless.calls.length).toBeGreaterThan(beforeKeyless)
  expectNoForeignKey()
  expect(mesh.log()).not.toContain(firstKey)
})

it('a removed server leaves neither its address nor its key', async () => {
  expect((await mesh.call(endpoints.setupProviderRemove, { params: { name: 'first' } })).status).toBe(200)
  const files = ['.env', 'config/settings.json'].map((name) => readFile(join(mesh.home, name), 'utf8'))
  const text = (await Promise.all(files)).join('\n')
  expect(text).not.toContain(firstKey)
  expect(text).not.toContain(first.baseUrl)
  expect(text).toContain(secondKey)
})
