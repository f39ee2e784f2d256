import { wireLimits } from '@flotilla/protocol/limits'
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fillPath } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { chatStreamFrameSchema, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { fleetEventSchema, isPassing } from '@flotilla/protocol/fleet-event'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, operatorHandsOff, runs, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { readEvents } from '../support/sse-reader.ts'
import type { SseFrame, SseReader } from '../support/sse-reader.ts'
import { heedsLesson, verifies } from '../verifies.ts'

const cassette = aCassette(
  ...operatorHandsOff({
    when: '^delegate$',
    to: 'helper',
    title: 'Count',
    capture: { n: 'found (\\d+)' },
    answer: 'There are {{n}}.',
  }),
  {
    agents: ['helper'],
    when: 'Count',
    turns: [
      runs('echo $((6 * 7))'),
      calls('complete_task', { summary: 'I found {{n}} things.' }, { capture: { n: '\\n(\\d+)\\n' } }),
    ],
  },
  { when: '^slow$', turns: [runs('sleep 1; echo done > slow.txt'), says('Slow and sure.')] },
  { turns: [says('One two three.')] },
)
const chatPath = fillPath(meshHumanEndpoints.chat.path, { id: 'operator' })
const json = { [headers.requestedWith]: 'test', 'content-type': 'application/json' }

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { streams: cassette } })
  await mesh.createWorker('helper')
})
afterAll(() => mesh.stop())
beforeEach(() => mesh.restartIfStopped())

const chat = (message: string, session = message) =>
  readEvents({
    method: 'POST',
    url: `${mesh.url}${chatPath}`,
    headers: json,
    body: JSON.stringify({ message, session }),
  })
const events = (query = '', more: Record<string, string> = {}) =>
  readEvents({ method: 'GET', url: `${mesh.url}${meshHumanEndpoints.events.path}${query}`, headers: more })

describe('a streamed chat', () => {
  it('a streamed chat says who works on it as it happens, children too, and ends with the outcome of the ledger', async () => {
    const frames = (await (await chat('delegate')).all()).map(({ data }) => chatStreamFrameSchema.parse(data))
    expect(frames[0]).toMatchObject({ type: 'accepted' })
    const last = frames.at(-1)
    expect(last).toMatchObject({ type: 'ended', run: { state: 'done', outcome: { text: 'There are 42.' } } })
    expect(frames.filter((frame) => frame.type === 'ended')).toHaveLength(1)
    const heard = frames.flatMap((frame) => (frame.type === 'event' ? [frame.event] : []))
    const tools = heard
      .filter((event) => event.type === 'tool.started')
      .map((event) => `${event.agent_id} ${event.name}`)
    expect(tools).toEqual(['operator hand_off', 'helper run_command', 'helper complete_task'])
    const words = heard.flatMap((event) =>
      event.type === 'text.streamed' && event.agent_id === 'operator' ? [event.content] : [],
    )
    expect(words.join('')).toContain('There are 42.')
    if (last?.type !== 'ended') return
    expect(await mesh.run(last.run.id)).toEqual(last.run)
  })

  it('a streamed chat is plain enough for curl', async () => {
    const child = spawn('curl', [
      '-sSN',
      `${mesh.url}${chatPath}`,
      '-H',
      'X-Requested-With: curl',
      '-H',
      'Content-Type: application/json',
      '-H',
      'Accept: text/event-stream',
      '-d',
      '{"message":"hello","session":"curl"}',
    ])
    let said = ''
    for await (const piece of child.stdout) said += String(piece)
    const data = said.split('\n').filter((line) => line.startsWith('data: '))
    expect(JSON.parse(data[0]?.slice(6) ?? '')).toMatchObject({ type: 'accepted' })
    expect(JSON.parse(data.at(-1)?.slice(6) ?? '')).toMatchObject({
      type: 'ended',
      run: { outcome: { text: 'One two three.' } },
    })
  })

  it('a streamed chat goes on when its reader goes away, streamed or waiting', async () => {
    heedsLesson(69)
    const reader = await chat('slow')
    const { data } = await reader.next()
    reader.leave()
    const run = await mesh.ended(String(data['run_id']))
    expect(run.outcome).toMatchObject({ status: 'done', text: 'Slow and sure.' })

    const gone = AbortSignal.timeout(300)
    const body = JSON.stringify({ message: 'slow', session: 'waiting' })
    const key = { [headers.idempotencyKey]: 'left-waiting' }
    const call = { method: 'POST', headers: { ...json, ...key }, body }
    await expect(fetch(`${mesh.url}${chatPath}`, { ...call, signal: gone })).rejects.toThrow(/timeout|abort/i)
    const again = await mesh.ask('slow', { session: 'waiting', key: 'left-waiting' })
    expect(again.outcome?.text).toBe('Slow and sure.')
    expect(
      (await mesh.runs()).filter((one) => one.input.kind === 'chat' && one.input.session === 'waiting'),
    ).toHaveLength(1)
    expect(mesh.log()).not.toContain('"level":50')
  })
})

describe('the stream of events', () => {
  it('the stream of events comes again from any number on, by query or by Last-Event-ID, without gap or double', async () => {
    heedsLesson(114)
    verifies('events:outbound')
    const live = await events()
    const marker = await mesh.ask('hello', { session: 'events' })
    const seen = await untilRunEnds(live, marker.id)
    live.leave()
    for (const frame of seen) expect(fleetEventSchema.parse(frame.data).seq).toBe(Number(frame.id))
    const kept = keptNumbers(seen)
    const at = Math.floor(kept.length / 2)
    for (const reader of [
      await events(`?since=${kept[at]}`),
      await events('', { 'last-event-id': String(kept[at]) }),
    ]) {
      const again = await untilRunEnds(reader, marker.id)
      reader.leave()
      expect(again.map(({ id }) => Number(id))).toEqual(kept.slice(at + 1))
      expect(again[0]?.data).toEqual(seen.find(({ id }) => Number(id) === kept[at + 1])?.data)
    }
  })

  it('the stream of events is the same to those who listen and to those who come later while many happen', async () => {
    const listener = await events()
    const asked = Array.from({ length: 12 }, (_, n) =>
      mesh.ask('hello', { session: `burst ${n}`, agent: n % 2 ? 'helper' : 'operator' }),
    )
    const late = await Promise.all([0, 150, 300].map((ms) => sleep(ms).then(() => events('?since=0'))))
    await Promise.all(asked)
    const marker = await mesh.ask('hello', { session: 'marker' })
    const heard = keptNumbers(await untilRunEnds(listener, marker.id))
    listener.leave()
    for (const reader of late) {
      const seen = await untilRunEnds(reader, marker.id)
      reader.leave()
      expect(keptNumbers(seen)).toEqual(heard)
      const numbers = seen.map(({ id }) => Number(id))
      expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
    }
  })

  it('the stream of events continues over a restart, also for a reader without a last event number', async () => {
    const marker = await mesh.ask('hello', { session: 'before the restart' })
    const reader = await events()
    const newest = Number((await untilRunEnds(reader, marker.id)).at(-1)?.id)
    reader.leave()
    await mesh.kill9()
    await mesh.restart()
    const began = Date.now()
    const after = await events('', { 'last-event-id': String(newest) })
    const stranger = await events('?since=900000000')
    // A reader gets its headers although no event has happened yet.
    expect(Date.now() - began).toBeLessThan(wireLimits.keepAliveMs)
    const next = await mesh.ask('hello', { session: 'after the restart' })
    const numbers = (await untilRunEnds(after, next.id)).map(({ id }) => Number(id))
    expect(Math.min(...numbers)).toBeGreaterThan(newest)
    expect((await untilRunEnds(stranger, next.id)).length).toBeGreaterThan(0)
    after.leave()
    stranger.leave()
  })
})

/** Streamed text is numbered and not stored, so a replay skips its numbers. */
function keptNumbers(frames: readonly SseFrame[]): number[] {
  return frames
    .filter(({ data }) => !isPassing(fleetEventSchema.parse(data).body))
    .map(({ id }) => Number(id))
}

/** Returns the frames up to the end of the run. */
async function untilRunEnds(reader: SseReader, runId: string): Promise<SseFrame[]> {
  const seen: SseFrame[] = []
  for (;;) {
    const frame = await reader.next()
    seen.push(frame)
    const { body } = fleetEventSchema.parse(frame.data)
    if (body.type === 'run.changed' && body.state === 'done' && runId === body.run_id) return seen
  }
}
