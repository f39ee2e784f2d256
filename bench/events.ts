import { createServer as createHttpServer } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { WebSocketServer } from 'ws'
import { liveRoutes } from '../packages/operations/src/dashboard/people.routes.ts'
import type { HumanCaller } from '../packages/identity/src/access/caller.ts'
import { createEventBus } from '../packages/foundation/src/events/create-event-bus.ts'
import { answerHeaders } from '../packages/identity/src/http/answer-headers.ts'
import { connectionBounds } from '../packages/identity/src/http/bound-connections.ts'
import { openPeople } from '../packages/identity/src/http/open-surfaces.ts'
import { createDownloadRoom } from '../packages/identity/src/http/download-room.ts'
import { createServer } from '../packages/identity/src/http/server.ts'
import { silentLog } from '../packages/foundation/src/platform/log.ts'
import { systemClock } from '../packages/foundation/src/platform/system-clock.ts'
import { openDatabase } from '../packages/foundation/src/storage/database.ts'
import { migrate } from '../packages/foundation/src/storage/migrate.ts'
import { allMigrations } from '../packages/foundation/src/storage/migrations/all-migrations.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { rotated } from './bench.ts'
import type { ListenOrder } from './event-listeners.ts'
import { chooseCores, nextMessage, startContender } from './processes.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

const listeners = 50
const events = 2000
/** Published in one turn of the event loop, as one step of a busy fleet does. */
const together = 4
const heardMaxMs = 60_000
const names = {
  bare: 'a bare WebSocket fan-out',
  passing: 'pieces of streamed text',
  kept: 'events that are kept, with their rows',
} as const
type Name = (typeof names)[keyof typeof names]

interface Measured {
  readonly perSecond: number
  readonly cpuMs: number
}

export const eventsBench: Bench = {
  name: 'events',
  claim: `${events} events to ${listeners} listeners of the pages' socket, against a bare fan-out`,
  defaultRuns: 7,
  run: async (options) => {
    const all = new Map<Name, Measured[]>(Object.values(names).map((name) => [name, []]))
    const { runs, progress, signal } = options
    for (let round = 0; round < runs && !signal.aborted; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const name of rotated(Object.values(names), round)) {
        all.get(name)?.push(await measure(name, round, options))
      }
    }
    const column = (name: Name, field: keyof Measured) => (all.get(name) ?? []).map((one) => one[field])
    return {
      tables: [
        {
          title: `Events: ${events} to ${listeners} listeners, until each of them has received all`,
          columns: [
            '',
            'events a second',
            'CPU of the sender, ms',
            'speed of the bare one',
            'CPU of the bare one',
          ],
          rows: Object.values(names).map((name) => [
            name,
            figure(median(column(name, 'perSecond')), 0),
            figure(median(column(name, 'cpuMs')), 0),
            ratio(pairedRatio(column(name, 'perSecond'), column(names.bare, 'perSecond'))),
            ratio(pairedRatio(column(name, 'cpuMs'), column(names.bare, 'cpuMs'))),
          ]),
          notes: [
            'The listeners are a process of their own. The bare one writes each event as JSON once and sends it to all; it has no gate, no row, and does not look whether a reader is too slow.',
          ],
        },
      ],
      figures: Object.fromEntries(all),
    }
  },
}

/** A sender of events, and the address where they are received. */
interface Sender {
  readonly url: string
  send(number: number): void
  close(): Promise<void>
}

async function measure(name: Name, round: number, { folder, signal }: BenchOptions): Promise<Measured> {
  const path = join(folder, `events-${round}.db`)
  const sender = name === names.bare ? await bareSender() : await ourSender(path, name === names.kept)
  const cores = chooseCores()
  const script = join(import.meta.dirname, 'event-listeners.ts')
  const contender = startContender({ script, core: cores?.load ?? null })
  try {
    const order: ListenOrder = { url: sender.url, headers: {}, listeners, events }
    const listening = nextMessage(contender, signal, heardMaxMs)
    contender.child.send(order)
    requireField(await listening, 'listening')
    const heard = nextMessage(contender, signal, heardMaxMs)
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    for (let number = 0; number < events; number += 1) {
      sender.send(number)
      if (number % together === together - 1) await new Promise((resolve) => setImmediate(resolve))
    }
    requireField(await heard, 'heard')
    const wallMs = performance.now() - startedAt
    const { user, system } = process.cpuUsage(cpu)
    return { perSecond: (events * 1000) / wallMs, cpuMs: (user + system) / 1000 }
  } finally {
    await contender.stop()
    await sender.close()
  }
}

function requireField(told: unknown, field: string): void {
  if (typeof told === 'object' && told !== null && field in told) return
  throw new Error(`the listeners said ${JSON.stringify(told)}`)
}

function bodyOf(number: number, kept: boolean): FleetEventBody {
  const words = `piece ${number} of an answer that is streamed`
  const told = { agent_id: 'scout', run_id: 'run_0000000000000001' } as const
  return kept
    ? { ...told, type: 'tool.ended', step: number, name: 'read_file', output: words, ok: true }
    : { ...told, type: 'text.streamed', content: words }
}

async function bareSender(): Promise<Sender> {
  const server = createHttpServer()
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `ws://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    send: (number) => {
      const event = { seq: number, at: Date.now(), body: bodyOf(number, false) }
      const text = JSON.stringify({ type: 'event', event })
      for (const socket of sockets.clients) socket.send(text)
    },
    close: async () => {
      for (const socket of sockets.clients) socket.terminate()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function personNumber(number: number): HumanCaller {
  const name = `person-${number}`
  return { kind: 'human', channel: 'cli', role: 'owner', user: name, person: name }
}

async function ourSender(path: string, kept: boolean): Promise<Sender> {
  const database = openDatabase(path)
  migrate(database, allMigrations)
  const bus = createEventBus({ database, clock: systemClock, log: silentLog })
  const server = createServer(silentLog, connectionBounds, answerHeaders)
  const guard = () => {}
  let people = 0
  const runEvents = { of: () => ({ events: [], more: false, forgotten: false }) }
  openPeople(
    server,
    [{ routes: { people: (surface) => liveRoutes(surface, { guard, events: bus, runEvents }) } }],
    {
      // There are more listeners than sockets that one person may open, so each is another person.
      gate: () => personNumber((people += 1)),
      guard,
      people: { onChange: () => {}, isProven: () => true },
      keepAliveMs: 15_000,
      downloads: createDownloadRoom(),
      clock: systemClock,
    },
  )
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  return {
    url: `${url.replace('http', 'ws')}/ws/events?since=0`,
    send: (number) => bus.publish(bodyOf(number, kept)),
    close: async () => {
      await server.close()
      database.close()
    },
  }
}
