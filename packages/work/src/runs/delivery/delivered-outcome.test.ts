import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { eventually } from '../../../../../tests/support/eventually.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { aLedgerHarness, person } from '../../../../testing/src/ledger-harness.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createServer } from '../../../../identity/src/http/server.ts'
import { createDownloadRoom } from '../../../../identity/src/http/download-room.ts'
import { openPeople } from '../../../../identity/src/http/open-surfaces.ts'
import { createLookUpRuns } from '../look-up-runs.ts'
import { runPeopleRoutes } from '../people.routes.ts'
import { createRunOutcomes } from './deliver-outcome.ts'
import type { RunView } from '@flotilla/protocol/run'
import type { RunRecord } from '../ledger/run-record.ts'
import { createRunTable } from '../ledger/run-table.ts'

/** Far more than the kernel buffers for a reader that does not read. */
const longAnswer = 'x'.repeat(24 * 1024 * 1024)
/** Interval of the keep-alive blanks of a waiting reply and of a stream's comments, milliseconds. */
const keepAliveMs = 50

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** The people's API with a real ledger, and a raw client that can disconnect at any point. */
async function aServer({ answer }: { readonly answer?: string } = {}) {
  const harness = aLedgerHarness()
  harness.ledger.start()
  const { ledger } = harness
  const server: FastifyInstance = createServer(silentLog)
  const viewOf = (run: RunRecord): RunView => {
    const view = ledger.queries.view(run)
    return answer === undefined || !view.outcome
      ? view
      : { ...view, outcome: { ...view.outcome, text: answer } }
  }
  const guard = () => {}
  const outcomes = createRunOutcomes({
    ...harness,
    guard,
    table: createRunTable(harness.database),
    outbox: ledger.delivery.outbox,
    view: viewOf,
  })
  const queries = { ...ledger.queries, view: viewOf }
  const told = { ...ledger, queries, delivery: { ...ledger.delivery, outcomes } }
  const lookUp = createLookUpRuns({ guard, queries })
  openPeople(
    server,
    [{ routes: { people: (surface) => runPeopleRoutes(surface, { ledger: told, lookUp }) } }],
    {
      gate: () => person,
      guard: () => {},
      people: { onChange: () => {}, isProven: () => false },
      keepAliveMs,
      downloads: createDownloadRoom(),
      clock: systemClock,
    },
  )
  const url = new URL(await server.listen({ port: 0, host: '127.0.0.1' }))
  closing.push(
    () => ledger.close(),
    () => server.close(),
  )

  function send(path: string, more: Record<string, string> = {}, body = '{}'): Socket {
    const socket = connect(Number(url.port), '127.0.0.1')
    closing.push(() => socket.destroy())
    socket.on('error', () => undefined)
    const lines = Object.entries({
      host: url.host,
      'content-length': String(body.length),
      'content-type': 'application/json',
      connection: 'close',
      ...more,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
    return socket
  }

  /** Disconnects, and waits until the API has noticed. */
  async function hangUp(socket: Socket): Promise<void> {
    socket.destroy()
    await eventually('the API has noticed', async () => {
      const count = await new Promise<number>((resolve) => {
        server.server.getConnections((_error, connections) => resolve(connections))
      })
      return count === 0 || null
    })
  }

  const open = () => ledger.delivery.outbox.open(10).map(({ state }) => state)
  return {
    harness,
    hangUp,
    open,
    ask: async (more: Record<string, string> = {}) => {
      const socket = send('/api/agents/operator/chat', more, '{"message":"work"}')
      await eventually('the run works', async () => {
        await harness.clock.settle()
        const state = ledger.queries.list({ limit: 1 })[0]?.state
        return state === 'running' || state === 'done' || null
      })
      return { socket, run: ledger.queries.list({ limit: 1 })[0]?.id ?? '' }
    },
    finish: async (response: string) => {
      harness.agents.finish('operator', { response })
      await harness.clock.settle()
    },
    read: (run: string) => once(send(`/api/runs/${run}/read`), 'data'),
  }
}

/** Reads everything until the server closes the connection. */
async function wholeOf(socket: Socket): Promise<string> {
  const parts: Buffer[] = []
  socket.on('data', (part: Buffer) => parts.push(part))
  await once(socket, 'close')
  return Buffer.concat(parts).toString()
}

/** Reads only part of the answer: it stops at the chunk that exceeds the limit. */
function readSome(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const count = (piece: Buffer) => {
      bytes += piece.length
      if (bytes < 100_000) return
      socket.off('data', count)
      socket.pause()
      resolve()
    }
    socket.on('data', count)
    socket.resume()
  })
}

describe.each([
  ['a reply', { accept: 'application/json' }],
  ['a stream', { accept: 'text/event-stream' }],
] as const)('an outcome in %s', (_what, accept) => {
  test('an outcome is not delivered to a client that disconnected before any data came', async () => {
    const { ask, finish, hangUp, open, harness } = await aServer()
    const { socket } = await ask(accept)
    await hangUp(socket)
    await finish('four')
    await harness.clock.settle()
    expect(open()).toEqual(['pending'])
  })

  test('an outcome is not delivered to a client that disconnects after its reply has begun', async () => {
    const { ask, finish, hangUp, open } = await aServer()
    const { socket } = await ask(accept)
    await once(socket, 'data')
    await hangUp(socket)
    await finish('four')
    expect(open()).toEqual(['pending'])
  })

  test('an outcome is not delivered to a client that disconnects in the middle of it', async () => {
    const { ask, finish, hangUp, open } = await aServer({ answer: longAnswer })
    const { socket } = await ask(accept)
    await finish('four')
    await readSome(socket)
    expect(open()).toEqual(['pending'])
    await hangUp(socket)
    expect(open()).toEqual(['pending'])
  })

  test('an outcome is delivered to a client that read it to the end', async () => {
    const { ask, finish, open } = await aServer()
    const { socket } = await ask(accept)
    const text = wholeOf(socket)
    await finish('the answer is four')
    expect(await text).toContain('the answer is four')
    await eventually('it counts as told', async () => open().length === 0 || null)
  })

  test('an outcome is delivered to a confirming client when it confirms, and not before', async () => {
    const { ask, finish, open, read } = await aServer()
    const { socket, run } = await ask({ ...accept, [headers.confirmsRead]: '1' })
    const text = wholeOf(socket)
    await finish('the answer is four')
    expect(await text).toContain('the answer is four')
    expect(open()).toEqual(['pending'])
    await read(run)
    expect(open()).toEqual([])
    // A repeated confirmation changes nothing.
    expect(String(await read(run))).toContain('200')
  })

  test('an outcome is delivered again, for the same run, to a client that lost it and retries under the same key', async () => {
    const { ask, finish, hangUp, open, harness } = await aServer()
    const key = { [headers.idempotencyKey]: 'k' }
    const { socket, run } = await ask({ ...accept, ...key })
    await hangUp(socket)
    await finish('the answer is four')
    expect(open()).toEqual(['pending'])
    const again = await ask({ ...accept, ...key })
    expect(await wholeOf(again.socket)).toContain(run)
    await eventually('it counts as told', async () => open().length === 0 || null)
    expect(harness.ledger.queries.list({ limit: 10 })).toHaveLength(1)
  })
})
