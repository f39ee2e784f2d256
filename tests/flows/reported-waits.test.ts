import { spawn } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { headers } from '@flotilla/protocol/headers'
import { chatStreamFrameSchema, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerStream, refuse, startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream, UpstreamCall } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { readEvents } from '../support/sse-reader.ts'
import type { SseReader } from '../support/sse-reader.ts'
import { cliProgram } from '../support/programs.ts'

const price = { input_per_mtok: 1, output_per_mtok: 2 }
const marker = 'sk-the-provider-says-too-much'

let upstream: LlmUpstream
let mesh: MeshProcess
/** Called by a test that has seen enough of the silence. */
let answerHanging: () => void = () => undefined

beforeAll(async () => {
  upstream = await startLlmUpstream()
  upstream.answerWith((call, response) => behave(call, response))
  mesh = await startMesh({
    settings: {
      default_model: 'fake/good',
      providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
      models: Object.fromEntries(
        ['good', 'limited', 'limited-long', 'hangs'].map((name) => [`fake/${name}`, { price }]),
      ),
    },
  })
  for (const name of ['limited', 'limited-long', 'hangs'])
    await mesh.createWorker(name, { model: `fake/${name}` })
})
afterAll(async () => {
  await mesh.stop()
  await upstream.close()
})

const callsOf = (model: string) => upstream.calls.filter((call) => call.body['model'] === model).length

function behave(call: UpstreamCall, response: ServerResponse): void {
  const model = String(call.body['model'])
  if (model === 'limited' && callsOf(model) % 2 === 1) limit(response, 3)
  // Longer than the mesh itself waits, so that the agent waits and repeats the call.
  else if (model === 'limited-long' && callsOf(model) === 1) limit(response, 11)
  else if (model === 'hangs') answerHanging = () => answerStream(call, response)
  else answerStream(call, response)
}

function limit(response: ServerResponse, seconds: number): void {
  refuse(response, 429, { message: marker, headers: { 'retry-after': `${seconds}` } })
}

const ask = (agent: string) =>
  readEvents({
    method: 'POST',
    url: `${mesh.url}${fillPath(meshHumanEndpoints.chat.path, { id: agent })}`,
    headers: { [headers.requestedWith]: 'test', 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'hello', session: 'waits' }),
  })

type Delayed = Extract<FleetEventBody, { type: 'model.delayed' }>

/** Returns the next event with this state of the wait; null if the run ended before. */
async function nextWait(reader: SseReader, state: Delayed['state']): Promise<Delayed | null> {
  for (;;) {
    const frame = chatStreamFrameSchema.parse((await reader.next(60_000)).data)
    if (frame.type === 'ended') return null
    if (frame.type === 'event' && frame.event.type === 'model.delayed' && frame.event.state === state)
      return frame.event
  }
}

describe('a model call that waits', () => {
  it('a wait for a rate limit is reported to the caller, without any text of the provider', async () => {
    const reader = await ask('limited')
    const wait = await nextWait(reader, 'retries')
    expect(wait).toMatchObject({
      state: 'retries',
      agent_id: 'limited',
      model: 'fake/limited',
      provider: 'fake',
      provider_status: 429,
      code: 'rate-limited',
      seconds: 3,
    })
    expect(callsOf('limited')).toBe(1)
    expect(JSON.stringify(await reader.all())).not.toContain(marker)
  })

  it('a wait for a rate limit is reported while the agent itself waits', async () => {
    const reader = await ask('limited-long')
    const wait = await nextWait(reader, 'retries')
    expect(wait).toMatchObject({ state: 'retries', provider: 'fake', provider_status: 429, seconds: 11 })
    expect(callsOf('limited-long')).toBe(1)
    expect((await reader.all()).at(-1)?.data).toMatchObject({ run: { outcome: { text: 'Hello there' } } })
  })

  it('a wait for a silent provider is reported, and its end too', async () => {
    const reader = await ask('hangs')
    const first = await nextWait(reader, 'silent')
    expect(first).toMatchObject({ state: 'silent', model: 'fake/hangs', provider: 'fake', code: null })
    const second = await nextWait(reader, 'silent')
    expect(second?.seconds).toBeGreaterThan(first?.seconds ?? 0)
    answerHanging()
    expect(await nextWait(reader, 'over')).not.toBeNull()
    expect((await reader.all()).at(-1)?.data).toMatchObject({ run: { outcome: { status: 'done' } } })
  })
})

describe('the command line', () => {
  it('the command line says on a line of its own, beside the answer, when it is tried again and why', async () => {
    const child = spawn(process.execPath, [cliProgram, 'chat', 'limited', 'hello', '--url', mesh.url], {
      env: { PATH: process.env['PATH'] ?? '', HOME: mesh.home, FLOTILLA_HOME: mesh.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = { out: '', err: '' }
    child.stdout.on('data', (piece: Buffer) => (said.out += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (said.err += piece.toString()))
    const code = await new Promise((resolve) => child.once('close', resolve))
    expect(code).toBe(0)
    expect(said.out).toBe('Hello there\n')
    expect(said.err).toMatch(/^limited +tries again in 3 s: 429 from fake$/m)
  })
})
